"""What views of a plan expose on made-up tables of the stated size, before any data is seen.

How much a view exposes depends on its table, so the policy alone does not say. Views are drawn of tables of two kinds:
with independent attributes, and with half of the records repeating another. The first value of an attribute is k times
as common as the k-th.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np

from tetraodon.domain import Domain
from tetraodon.noise.dice import Dice
from tetraodon.publishing.channel import SourceChannel
from tetraodon.publishing.columns import cells_of
from tetraodon.publishing.distinct_tuples import shown
from tetraodon.publishing.exposure import MOST_EXPOSED, exposure
from tetraodon.publishing.plan import ViewPlan
from tetraodon.publishing.sampling import Cells, view_cells

PLAYS: Final = 20
"""Tables of each kind."""
MOST_ROWS: Final = 200_000
"""Longer views are not played: a plan would take long."""


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """The shares of all records that views of tables of one kind newly expose, in rising order."""

    repeated: Fraction
    shares: tuple[float, ...]

    @property
    def held_back(self) -> int:
        """How many of the views `publish` would hold back."""
        return sum(share > MOST_EXPOSED for share in self.shares)


def rehearse(plan: ViewPlan) -> tuple[Rehearsal, ...]:
    """Views of tables of each kind; none for a series, noise from a source, or where it would take long."""
    records = round(plan.most_records)
    if plan.series is not None or isinstance(plan.channel, SourceChannel) or records < 1:
        return ()
    if records + plan.noise_tuples > MOST_ROWS:
        return ()
    kinds = [Fraction(0)] if plan.adversary.rows == "distinct" else [Fraction(0), Fraction(1, 2)]
    return tuple(
        Rehearsal(kind, tuple(sorted(_played(plan, records, kind, Dice(n)) for n in range(PLAYS)))) for kind in kinds
    )


def _played(plan: ViewPlan, records: int, repeated: Fraction, dice: Dice) -> float:
    """The share of the records that one view of one table newly exposes."""
    domain = plan.policy.domain
    cells, counts = np.unique(_table(domain, records, repeated, dice), return_counts=True)
    if plan.adversary.rows == "distinct":
        counts = np.ones_like(counts)
    seen = shown(view_cells(plan.channel, plan.tuples, cells, counts, coins=dice))
    return exposure(domain, plan.channel, seen, records=plan.records and int(counts.sum())).new_records


def _table(domain: Domain, records: int, repeated: Fraction, dice: Dice) -> Cells:
    columns = []
    for attribute in domain:
        common = np.cumsum(1 / np.arange(1.0, attribute.size + 1))
        columns.append(np.searchsorted(common, dice.random.random(records) * common[-1]))
    cells = cells_of(domain, np.stack(columns, axis=1))
    copies = int(repeated * records)
    cells[:copies] = cells[copies:][dice.random.integers(0, records - copies, copies)]
    return cells
