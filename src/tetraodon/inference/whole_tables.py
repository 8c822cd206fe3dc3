"""Tables that agree become tables of whole counts, none below zero, that agree: from the coarsest margin to the finest.

Each margin is made whole while it keeps the totals of the coarser ones, as TopDown does for the census of 2020
(Abowd et al. 2022). So sums of many cells stay as good as they were, and small cells bear the bias.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tetraodon.arrays import Floats, Ints
from tetraodon.domain import Domain
from tetraodon.inference.consistency import Margin, shared_margins
from tetraodon.inference.margin_lattice import finest, fitting, is_in, margins_of, meet, normal, splits_of
from tetraodon.inference.meeting import EstimatedTable
from tetraodon.inference.whole_cells import Totals, whole_cells


def whole_tables(tables: Sequence[EstimatedTable], domain: Domain) -> list[Floats]:
    """Whole tables near the given ones.

    Pre   the tables agree; those without variance are exact, and whole.
    Post  no count is negative, a cell of an exact zero is zero, and tables agree on every margin but those that
          `differing` tells, where more than two margins of a table cannot be had together.
    """
    made = _Making(tables, domain)
    for margin in made.coarser:
        made.make(margin)
    margins = [_own(table) for table in tables]
    return [
        made.done[margin][margin.places(table.splits, domain)].reshape(table.values.shape).astype(np.float64)
        for margin, table in zip(margins, tables, strict=True)
    ]


class _Making:
    """The margins that are whole already, and how the others become so."""

    def __init__(self, tables: Sequence[EstimatedTable], domain: Domain) -> None:
        self.tables, self.domain = tables, domain
        self.done: dict[Margin, Ints] = {}
        margins = margins_of([table.splits for table in tables], domain)
        self.coarser = {m: [one for one in margins[:place] if is_in(one, m)] for place, m in enumerate(margins)}
        self.parts: dict[Margin, Margin] = {}
        """Margins that are added up from a finer one, because they need not fit its other margins."""
        for margin in margins:
            for part in fitting(sorted(finest(self.coarser[margin]), key=lambda one: self._exact(one) is None))[1]:
                if self._exact(part) is None and not self._is_elsewhere(part, margin):
                    self.parts.setdefault(part, margin)
        self._begun: set[Margin] = set()

    def _is_elsewhere(self, part: Margin, margin: Margin) -> bool:
        """Whether other tables have a part of a margin too, so that it is not for this one to tell."""
        finer = [one for one, coarser in self.coarser.items() if part in coarser]
        return not all(is_in(one, margin) or is_in(margin, one) for one in finer)

    def _exact(self, margin: Margin) -> EstimatedTable | None:
        """An exact table that tells a margin."""
        return next((t for t in self.tables if t.variance == 0 and is_in(margin, _own(t))), None)

    def make(self, margin: Margin) -> None:
        """Make a margin whole, and before it what it depends on."""
        if margin in self.done:
            return
        whole = self.parts.get(margin)
        if whole is not None and whole not in self._begun:
            self.make(whole)
            self.done[margin] = np.bincount(
                margin.places(splits_of(whole), self.domain),
                weights=self.done[whole],
                minlength=margin.cells(self.domain),
            ).astype(np.int64)
            return
        self._begun.add(margin)
        totals = finest([one for one in self.coarser[margin] if self.parts.get(one) != margin])
        for one in totals:
            self.make(one)
        fit, rest = fitting(totals)
        self.done[margin] = self._counts(margin, [*fit, *rest])

    def _counts(self, margin: Margin, coarser: Sequence[Margin]) -> Ints:
        domain = self.domain
        exact = self._exact(margin)
        known = exact or next(t for t in self.tables if is_in(margin, _own(t)))
        sums = known.totals(margin.places(known.splits, domain), margin.cells(domain))
        if exact is not None:
            return np.maximum(np.rint(sums), 0).astype(np.int64)
        splits = splits_of(margin)
        totals = [Totals(one.places(splits, domain), self.done[one]) for one in coarser]
        shared = [[meet(m, o).places(splits, domain) for o in coarser[:place]] for place, m in enumerate(coarser)]
        return whole_cells(sums, totals, shared)


def differing(tables: Sequence[EstimatedTable], domain: Domain) -> list[Margin]:
    """The margins on which whole tables that share them differ."""
    found = []
    for margin in shared_margins(tables, domain):
        members = [table for table in tables if is_in(normal(margin), _own(table))]
        sums = [table.totals(margin.places(table.splits, domain), margin.cells(domain)) for table in members]
        if not all(np.array_equal(sums[0], other) for other in sums[1:]):
            found.append(margin)
    return found


def _own(table: EstimatedTable) -> Margin:
    return normal(Margin.of(table.splits))
