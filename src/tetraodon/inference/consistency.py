"""Tables that share a margin agree on it: averages weighted by precision, from the coarsest margin to the finest."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tetraodon.domain import Domain
from tetraodon.inference.margin import Margin
from tetraodon.workload.linear import Split


@dataclass
class Table:
    """An estimated table of counts. `variance` is that of one cell; 0 means that the table is exact."""

    splits: tuple[Split, ...]
    values: NDArray[np.float64]
    variance: float

    def add_up(self, margin: Margin, domain: Domain) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Where each cell goes in the margin, and the margin's totals."""
        places = margin.places(self.splits, domain)
        size = math.prod(margin.shape(domain))
        totals = np.bincount(places, weights=self.values.ravel(), minlength=size)
        return places, totals.astype(np.float64)

    def shift(self, places: NDArray[np.int64], change: NDArray[np.float64]) -> None:
        """Spread a change of the margin evenly over the cells behind it."""
        cells = np.bincount(places, minlength=len(change))
        self.values += (change / cells)[places].reshape(self.values.shape)


def shared_margins(tables: Sequence[Table], domain: Domain) -> list[Margin]:
    """Every margin that two or more tables share, closed under meeting, coarsest first."""
    whole = [Margin.of(table.splits) for table in tables]
    found = {a.meet(b) for i, a in enumerate(whole) for b in whole[:i]}
    while True:
        more = {a.meet(b) for a in found for b in found} - found
        if not more:
            break
        found |= more
    return sorted(found, key=lambda margin: (math.prod(margin.shape(domain)), margin.groups.__repr__()))


def agree(tables: Sequence[Table], domain: Domain) -> None:
    """Change the tables, as little as their precision allows, so that they agree on every shared margin.

    Why   a change at one margin is spread evenly behind it, so it adds up to nothing on any other margin whose
          common part already agrees; going from coarse to fine, one pass is enough.
    """
    for margin in shared_margins(tables, domain):
        members = [t for t in tables if Margin.of(t.splits).meet(margin) == margin]
        if len(members) < 2:
            continue
        sums = [table.add_up(margin, domain) for table in members]
        size = math.prod(margin.shape(domain))
        spread = [table.variance * table.values.size / size for table in members]
        exact = [i for i, variance in enumerate(spread) if variance == 0]
        if exact:
            target = sums[exact[0]][1]
        else:
            target = np.average([total for _, total in sums], axis=0, weights=[1 / v for v in spread])
        for table, (places, total) in zip(members, sums, strict=True):
            if table.variance > 0:
                table.shift(places, target - total)


def follow(table: Table, leaders: Sequence[Table], domain: Domain) -> None:
    """Change one table so that it agrees with tables that agree with each other already."""
    for margin in shared_margins([table, *leaders], domain):
        whole = Margin.of(table.splits).meet(margin)
        leader = next((t for t in leaders if Margin.of(t.splits).meet(margin) == margin), None)
        if leader is not None and whole == margin:
            places, total = table.add_up(margin, domain)
            table.shift(places, leader.add_up(margin, domain)[1] - total)
