"""Projections taken in turn until tables agree, and faster where that is slow: it always ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tetraodon.arrays import Floats, Ints
from tetraodon.workload.linear import Split

ROUNDS = 12
"""Rounds of plain projections. Splits by value need one; bins that overlap crosswise may need thousands."""
FASTER = 200
"""Rounds of conjugate gradients after that."""
ROUNDING = 1e-14
"""What floats leave of a change that is none, and of a table."""
STILL = 1e-9
"""A direction of which a round changes less than this is one in which the tables agree already."""
ATTEMPTS = 4
"""Times that both are tried; conjugate gradients lose their way in floats, and start anew."""
TOLERANCE = 1e-11
CLOSE = 1e-6
"""Tables that agree up to this part of their counts, and not any better after all rounds, are taken to agree."""


@dataclass
class EstimatedTable:
    """An estimated table of counts, or of other sums. `variance` is that of one cell; 0 means that the table is exact.

    Each cell holds `rows` numbers. The values may be several tables of that shape, one after the other.
    """

    splits: tuple[Split, ...]
    values: Floats
    variance: float
    rows: int = 1

    def totals(self, places: Ints, cells: int) -> Floats:
        """The table added up into the cells of a margin; a row for each, where there are several tables."""
        return added_up(self.values, places, cells)


def added_up(values: Floats, places: Ints, cells: int) -> Floats:
    """Numbers added up into cells, given the cell of each; row by row, where there are several rows of them."""
    several = values.size // len(places)
    if several <= 1:
        return np.bincount(places, weights=values.ravel(), minlength=cells).astype(np.float64)
    every = (places + cells * np.arange(several)[:, None]).ravel()
    found = np.bincount(every, weights=values.ravel(), minlength=several * cells).astype(np.float64)
    return found.reshape(several, cells)


@dataclass(frozen=True, eq=False)
class Meeting:
    """Tables that are to agree on a margin of `cells` cells; `places` says where each cell of each table goes."""

    tables: Sequence[EstimatedTable]
    places: Sequence[Ints]
    cells: int

    @cached_property
    def _members(self) -> list[Ints]:
        return [np.bincount(place, minlength=self.cells) for place in self.places]

    @cached_property
    def _roots(self) -> list[float]:
        return [float(members.max()) ** 0.5 for members in self._members]

    @cached_property
    def _precisions(self) -> list[Floats]:
        return [1 / (table.variance * members) for table, members in zip(self.tables, self._members, strict=True)]

    def project(self) -> float:
        """Make the tables agree here, as little as possible changed; how much was missing, of what floats can tell."""
        totals = [table.totals(place, self.cells) for table, place in zip(self.tables, self.places, strict=True)]
        exact = [total for table, total in zip(self.tables, totals, strict=True) if table.variance == 0]
        target = exact[0] if exact else self._average(totals)
        worst = 0.0
        largest = 1.0 + float(np.abs(target).max())
        each = zip(self.tables, self.places, totals, self._members, self._roots, strict=True)
        for table, place, total, members, root in each:
            if table.variance > 0:
                missing = target - total
                size = float(np.abs(table.values).max()) * root
                worst = max(worst, float(np.abs(missing).max()) / (largest + size))
                table.values = table.values + (missing / members)[..., place].reshape(table.values.shape)
        return worst

    def _average(self, totals: Sequence[Floats]) -> Floats:
        weighted = sum(total * precision for total, precision in zip(totals, self._precisions, strict=True))
        return np.asarray(weighted / np.sum(self._precisions, axis=0))


def settle(meetings: Sequence[Meeting]) -> bool:
    """Make tables agree at all meetings at once; whether they do in the end, for targets may contradict each other.

    Post  the nearest tables, in the metric of the precisions, that agree everywhere, where there are any.
    """
    missing = 0.0
    for attempt in range(ATTEMPTS):
        if attempt:
            _faster(meetings)
        for _ in range(ROUNDS):
            missing = max((meeting.project() for meeting in meetings), default=0.0)
            if missing < TOLERANCE:
                return True
    return missing < CLOSE


def _faster(meetings: Sequence[Meeting]) -> None:
    """Conjugate gradients on what a round there and back changes.

    Why   projections there and back are symmetric in the metric of the precisions. So where a round takes x to
          Qx + c, the tables that agree solve (I - Q) x = c, and conjugate gradients find the solution nearest to where
          they start (Bjoerck and Elfving 1979) in far fewer rounds.
    """
    tables = list({id(t): t for meeting in meetings for t in meeting.tables if t.variance > 0}.values())
    exact = list({id(t): t for meeting in meetings for t in meeting.tables if t.variance == 0}.values())
    told = [table.values for table in exact]

    def set_to(vector: Sequence[Floats]) -> None:
        for table, values in zip(tables, vector, strict=True):
            table.values = values

    def round_of(vector: Sequence[Floats]) -> list[Floats]:
        set_to(vector)
        for meeting in (*meetings, *reversed(meetings[:-1])):
            meeting.project()
        return [table.values for table in tables]

    def product(one: Sequence[Floats], other: Sequence[Floats]) -> float:
        parts = zip(tables, one, other, strict=True)
        return sum(float(np.vdot(a, b)) / table.variance for table, a, b in parts)

    here = [table.values for table in tables]
    left = [b - a for a, b in zip(here, round_of(here), strict=True)]
    step, length = left, product(left, left)
    enough = max(length * TOLERANCE**2, product(here, here) * ROUNDING**2)
    for table in exact:  # from here on only what a round does to changes matters
        table.values = np.zeros_like(table.values)
    for _ in range(FASTER):
        if length <= enough:
            break
        moved = [a - b for a, b in zip(step, round_of(step), strict=True)]
        along = product(step, moved)
        if along <= product(step, step) * STILL:
            break
        here = [a + length / along * b for a, b in zip(here, step, strict=True)]
        left = [a - length / along * b for a, b in zip(left, moved, strict=True)]
        before, length = length, product(left, left)
        step = [a + length / before * b for a, b in zip(left, step, strict=True)]
    for table, values in zip(exact, told, strict=True):
        table.values = values
    set_to(here)
