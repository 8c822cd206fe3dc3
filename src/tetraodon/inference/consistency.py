"""Tables that share a margin agree on it: averages weighted by precision, from the coarsest margin to the finest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from tetraodon.domain import Domain
from tetraodon.errors import Refused
from tetraodon.inference.margin import Margin
from tetraodon.workload.linear import Split

ROUNDS = 2000
TOLERANCE = 1e-11


@dataclass
class Table:
    """An estimated table of counts. `variance` is that of one cell; 0 means that the table is exact."""

    splits: tuple[Split, ...]
    values: NDArray[np.float64]
    variance: float

    def totals(self, places: NDArray[np.int64], cells: int) -> NDArray[np.float64]:
        """The table added up into the cells of a margin."""
        return np.bincount(places, weights=self.values.ravel(), minlength=cells).astype(np.float64)


def shared_margins(tables: Sequence[Table], domain: Domain) -> list[Margin]:
    """Every margin that two or more tables share, closed under meeting, coarsest first."""
    whole = [Margin.of(table.splits) for table in tables]
    found = {a.meet(b) for i, a in enumerate(whole) for b in whole[:i]}
    while True:
        more = {a.meet(b) for a in found for b in found} - found
        if not more:
            break
        found |= more
    return sorted(found, key=lambda margin: (margin.cells(domain), repr(margin.groups)))


def agree(tables: Sequence[Table], domain: Domain) -> None:
    """Change the tables, as little as their precision allows, so that they agree on every shared margin.

    Why   agreeing on one margin is an orthogonal projection in the metric of the precisions: a weighted average,
          spread evenly behind each of its cells. For splits by value, going from coarse to fine, one round does
          it: a change at one margin adds up to nothing on another whose common part agrees already. Bins that
          overlap crosswise need more rounds, and projections taken in turn converge.
    """
    steps = []
    for margin in shared_margins(tables, domain):
        members = [t for t in tables if Margin.of(t.splits).meet(margin) == margin]
        if len(members) > 1:
            steps.append((members, [margin.places(t.splits, domain) for t in members], margin.cells(domain)))
    _in_turn([partial(_average, *step) for step in steps])


def follow(table: Table, leaders: Sequence[Table], domain: Domain) -> None:
    """Change one table so that it agrees with tables that agree with each other already."""
    steps = []
    for margin in shared_margins([table, *leaders], domain):
        leader = next((t for t in leaders if Margin.of(t.splits).meet(margin) == margin), None)
        if leader is not None and Margin.of(table.splits).meet(margin) == margin:
            target = leader.totals(margin.places(leader.splits, domain), margin.cells(domain))
            steps.append((table, margin.places(table.splits, domain), target))
    _in_turn([partial(_match, *step) for step in steps])


def _in_turn(steps: Sequence[Callable[[], float]]) -> None:
    """Take every step until none changes anything any more."""
    for _ in range(ROUNDS):
        if max((step() for step in steps), default=0.0) < TOLERANCE:
            return
    raise Refused("the tables of this release cannot be made to agree", fix="use the same bins in every item")


def _average(tables: Sequence[Table], places: Sequence[NDArray[np.int64]], cells: int) -> float:
    totals = [table.totals(place, cells) for table, place in zip(tables, places, strict=True)]
    spread = [table.variance * table.values.size / cells for table in tables]
    exact = [total for total, variance in zip(totals, spread, strict=True) if variance == 0]
    target = exact[0] if exact else np.average(totals, axis=0, weights=[1 / v for v in spread])
    return max(
        (_match(t, p, target) for t, p in zip(tables, places, strict=True) if t.variance > 0),
        default=0.0,
    )


def _match(table: Table, places: NDArray[np.int64], target: NDArray[np.float64]) -> float:
    """Spread the missing part of every margin cell evenly over the cells behind it; how much was missing at most."""
    missing = target - table.totals(places, len(target))
    members = np.bincount(places, minlength=len(target))
    table.values = table.values + (missing / members)[places].reshape(table.values.shape)
    return float(np.abs(missing).max()) / (1.0 + float(np.abs(target).max()))
