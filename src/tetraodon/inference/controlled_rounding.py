"""Controlled rounding: tables of non-negative whole counts that keep their totals and agree.

Each margin is made whole while it keeps the totals of the coarser ones, as TopDown does for the census of 2020
(Abowd et al. 2022). So sums of many cells stay as good as they were, and small cells bear the bias.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tetraodon.domain import Domain
from tetraodon.errors import QueryError
from tetraodon.exact.arrays import Bools, Floats, Ints
from tetraodon.inference.consistency import (
    EstimatedTable,
    Margin,
    finest,
    fitting,
    is_in,
    margins_of,
    meet,
    normal,
    shared_margins,
    splits_of,
)

# -- whole cells ------------------------------------------------------------------------------------
# One table made whole: counts that are not negative and keep whole totals; and swaps that mend a third margin.

HALF = 0.5001
"""Just off one half: where averages leave exactly half a record, every machine rounds to the same side."""
ROUNDS = 200
"""Rounds of filling up. Totals of one kind need one; where several are not met by then, rounding meets them."""
CLOSE = 1e-7
"""Cells that keep their totals up to this are near enough to be rounded."""
GOLDEN = (5**0.5 - 1) / 2


@dataclass(frozen=True, eq=False)
class Totals:
    """Whole totals of groups of cells; `places` says in which group each cell is.

    Pre   every group has a cell.
    """

    places: Ints
    counts: Ints

    def __post_init__(self) -> None:
        if (self.counts < 0).any():
            raise QueryError("a total of counts is negative", fix="make coarser tables whole first")

    def of(self, cells: Ints) -> Ints:
        """What cells add up to."""
        return np.rint(np.bincount(self.places, weights=cells, minlength=len(self.counts))).astype(np.int64)

    def missing(self, cells: Ints) -> Ints:
        """What cells lack of each total."""
        return self.counts - self.of(cells)


def whole_cells(estimates: Floats, totals: Sequence[Totals], shared: Sequence[Sequence[Ints]] = ()) -> Ints:
    """Whole numbers near the estimates, none negative, that add up to given totals.

    `shared[j][i]` says for every cell its group in what totals j and i have in common, i < j.

    Post  one kind of totals is met, and so are two that agree on what they share, if every two groups of theirs that
          can meet do so in a cell. Of more than two the first two are met, and the others as far as it goes: three
          two-way margins may have no table of whole numbers at all.
    """
    if not totals:
        return np.maximum(np.floor(estimates + HALF), 0).astype(np.int64)
    nearest = nearest_cells(estimates, totals)
    if len(totals) == 1:
        return _rounded_in_turn(nearest, totals[0])
    return _filled(nearest, totals, shared)


def nearest_cells(estimates: Floats, totals: Sequence[Totals]) -> Floats:
    """The nearest counts that are not negative and have the totals.

    Why   each total takes one number from all of its cells, and what falls below 0 becomes 0. Totals of several kinds
          take turns, which is ascent in the dual and converges to the nearest point (Hildreth 1957). Where totals are
          true the true counts are among those that have them, and the nearest point of a convex set is no farther from
          any point of it: the sum of squared errors cannot grow.
    """
    empty = np.zeros(len(estimates), np.bool_)
    for total in totals:
        empty |= total.counts[total.places] == 0
    levels = np.where(empty, -np.inf, estimates)
    for _ in range(ROUNDS):
        for total in totals:
            levels = levels + _level(levels, total)[total.places]
        cells = np.maximum(levels, 0.0)
        sums = [np.bincount(t.places, weights=cells, minlength=len(t.counts)) - t.counts for t in totals[:-1]]
        if all(float(np.abs(off).max()) < CLOSE for off in sums):
            break
    return np.maximum(levels, 0.0)


def _level(levels: Floats, total: Totals) -> Floats:
    """What is added to the cells of each group so that those above 0 have its total.

    Why   take all cells of a group as above 0, and leave out those that are not, until none is left out (Michelot
          1986): all groups at once, in a few steps.
    """
    above = np.isfinite(levels)
    while True:
        places, kept = total.places[above], levels[above]
        members = np.bincount(places, minlength=len(total.counts))
        sums = np.bincount(places, weights=kept, minlength=len(total.counts))
        added = np.where(members > 0, (total.counts - sums) / np.maximum(members, 1), 0.0)
        out = kept + added[places] <= 0
        if not out.any():
            return np.asarray(added)
        above[np.flatnonzero(above)[out]] = False


def _rounded_in_turn(cells: Floats, total: Totals) -> Ints:
    """Whole numbers whose running sums within every group are those of the cells, rounded.

    Why   so every range of neighbouring cells moves by less than one record, however long it is. Each count is one of
          the two whole numbers beside its cell.
    """
    order = np.argsort(total.places, kind="stable")
    groups, running = total.places[order], np.cumsum(cells[order])
    first = np.searchsorted(groups, np.arange(len(total.counts)))
    before = np.append(0.0, running)[first]
    running = np.minimum(np.floor(running - before[groups] + HALF), total.counts[groups])
    running[np.append(first[1:], len(groups)) - 1] = total.counts
    steps = np.diff(running, prepend=0.0)
    steps[first] = running[first]
    whole = np.empty(len(cells), np.int64)
    whole[order] = steps
    return whole


def _filled(cells: Floats, totals: Sequence[Totals], shared: Sequence[Sequence[Ints]]) -> Ints:
    """Rounded down, then one more in cells with the largest remainders, then whatever totals still lack."""
    whole = np.floor(cells + CLOSE).astype(np.int64)
    rest = np.round(cells - whole, 6)  # ties fall the same way on every machine
    for total in totals:
        whole = whole - _too_much(whole, rest, total)
    _add_largest_remainders(whole, rest, totals)
    for number in range(len(totals), 0, -1):
        lacking = [total.missing(whole) for total in totals[:number]]
        np.add.at(whole, _where_all_lack(lacking, totals[:number], shared, rest), 1)
    return _third_met(whole, totals, shared) if len(totals) == 3 else whole


def _third_met(whole: Ints, totals: Sequence[Totals], shared: Sequence[Sequence[Ints]]) -> Ints:
    """The third totals met by swaps, where the table is one of three ways and they are those of its pairs."""
    missing = totals[2].missing(whole)
    ways = shared[2][0], shared[1][0], shared[2][1]
    shape = tuple(int(way.max()) + 1 for way in ways)
    if (
        not missing.any()
        or len(np.unique(np.ravel_multi_index(ways, shape))) != len(whole)
        or len(whole) != math.prod(shape)
    ):
        return whole
    cells, lacks = np.zeros(shape, np.int64), np.zeros((shape[0], shape[2]), np.int64)
    cells[ways] = whole
    lacks[ways[0], ways[2]] = missing[totals[2].places]
    met = not lacks.sum(axis=0).any() and not lacks.sum(axis=1).any()
    return np.asarray(with_swaps(cells, lacks)[ways]) if met else whole


def _too_much(whole: Ints, rest: Floats, total: Totals) -> Ints:
    """What to take from cells so that no group exceeds its total: least remainders first."""
    excess = np.maximum(-total.missing(whole), 0)
    if not excess.any():
        return np.zeros_like(whole)
    order = np.lexsort((rest, total.places))
    groups, there = total.places[order], whole[order]
    before = np.cumsum(there) - there
    first = np.searchsorted(groups, np.arange(len(total.counts)))
    taken = np.empty_like(whole)
    taken[order] = np.clip(excess[groups] - (before - before[first][groups]), 0, there)
    return taken


def _add_largest_remainders(whole: Ints, rest: Floats, totals: Sequence[Totals]) -> None:
    """One more in every cell all of whose totals lack one, the largest remainders first."""
    lacking = [total.missing(whole) for total in totals]
    asked = rest > 0
    for total, lack in zip(totals, lacking, strict=True):
        asked &= lack[total.places] > 0
    able = np.flatnonzero(asked)
    able = able[np.lexsort((able * GOLDEN % 1, -rest[able]))]
    left = [lack.tolist() for lack in lacking]
    for cell, *groups in zip(able.tolist(), *(total.places[able].tolist() for total in totals), strict=True):
        if all(lack[group] > 0 for lack, group in zip(left, groups, strict=True)):
            whole[cell] += 1
            for lack, group in zip(left, groups, strict=True):
                lack[group] -= 1


def _where_all_lack(
    lacking: Sequence[Ints], totals: Sequence[Totals], shared: Sequence[Sequence[Ints]], rest: Floats
) -> Ints:
    """Cells to which the records go that all totals lack: what one lacks is paired with what the next one lacks.

    Why   totals that agree on what they share lack as much there, so that two kinds can always be paired: the corner
          rule of transport problems.
    """
    units = [np.repeat(np.arange(len(lacking[0])), lacking[0])]
    for number in range(1, len(totals)):
        joins = [_group_labels(shared[number][i], totals[i], totals[number]) for i in range(number)]
        ours = np.stack([mine[unit] for (mine, _), unit in zip(joins, units, strict=True)])
        unit = np.repeat(np.arange(len(lacking[number])), np.maximum(lacking[number], 0))
        theirs = np.stack([their[unit] for _, their in joins])
        mine, their = _paired(ours, theirs)
        units = [*(one[mine] for one in units), unit[their]]
    if not len(units[0]):
        return np.zeros(0, np.int64)
    able = np.flatnonzero(_all(lack[total.places] > 0 for lack, total in zip(lacking, totals, strict=True)))
    able = able[np.argsort(-rest[able], kind="stable")]
    there = np.stack([total.places[able] for total in totals])
    labels = np.unique(np.concatenate([there, np.stack(units)], axis=1), axis=1, return_inverse=True)[1].ravel()
    best = np.full(int(labels.max()) + 1, -1, np.int64)
    best[labels[: len(able)][::-1]] = able[::-1]  # the last to be written is the one with the largest remainder
    found = best[labels[len(able) :]]
    return np.asarray(found[found >= 0])


def _all(conditions: object) -> Bools:
    return np.logical_and.reduce(list(conditions))  # type: ignore[call-overload, no-any-return]


def _group_labels(shared: Ints, first: Totals, second: Totals) -> tuple[Ints, Ints]:
    """For every group of two kinds of totals, the group it belongs to in what they share."""
    labels = [np.zeros(len(total.counts), np.int64) for total in (first, second)]
    for label, total in zip(labels, (first, second), strict=True):
        label[total.places] = shared
    return labels[0], labels[1]


def _paired(ours: Ints, theirs: Ints) -> tuple[Ints, Ints]:
    """Pairs of columns that are equal, each used once.

    >>> [pair.tolist() for pair in _paired(np.array([[1, 1, 2]]), np.array([[2, 1, 3]]))]
    [[0, 2], [1, 0]]
    """
    labels = np.unique(np.concatenate([ours, theirs], axis=1), axis=1, return_inverse=True)[1].ravel()
    keys = []
    for label in (labels[: ours.shape[1]], labels[ours.shape[1] :]):
        order = np.argsort(label, kind="stable")
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order)) - np.searchsorted(label[order], label[order])
        keys.append(label * (len(labels) + 1) + rank)
    _, mine, their = np.intersect1d(keys[0], keys[1], assume_unique=True, return_indices=True)
    return mine, their


def with_swaps(cells: Ints, missing: Ints) -> Ints:
    """A three-way table of counts, records of which change places until its rows and columns have what they miss.

    Pre   `missing[a, c]` says what is missing of the sum over b of `cells[a, b, c]`; it adds up to 0 along both sides.
    Post  sums over a, and sums over c, are the same. So are those over b as they should be, or no swap of two records
          brings them nearer: whole numbers may not fit all three.
    Why   two records of one b that swap their c move four sums by one. Where one sum lacks a record, another of its row
          and another of its column have one too many: their swap puts three of the four right, at least.
    """
    cells, missing = cells.copy(), missing.copy()
    stuck = np.zeros(missing.shape, np.bool_)
    while True:
        lacking = np.argwhere((missing > 0) & ~stuck)
        if not len(lacking):
            return cells
        a, c = lacking[0]
        others, columns = np.flatnonzero(missing[:, c] < 0), np.flatnonzero(missing[a] < 0)
        able = np.minimum(cells[others, :, c][:, None], cells[a][:, columns].T[None])  # other a, other c, b
        other, column, b = np.unravel_index(int(able.argmax()), able.shape)
        if able[other, column, b] == 0:
            stuck[a, c] = True
            continue
        square = np.ix_([a, others[other]], [c, columns[column]])
        change = np.array([[1, -1], [-1, 1]])
        cells[:, b][square] += change
        missing[square] -= change
        stuck[:] = False


# -- whole tables -----------------------------------------------------------------------------------


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
