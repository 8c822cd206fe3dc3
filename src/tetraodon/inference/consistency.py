"""Consistent tables: shared margins agree, by precision weights or alternating projections."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TypeAlias

import numpy as np

from tetraodon.domain import Domain
from tetraodon.exact.arrays import Floats, Ints, components
from tetraodon.query.linear import Split

# -- meeting ----------------------------------------------------------------------------------------
# Projections taken in turn until tables agree, and faster where that is slow: it always ends.

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
Groups: TypeAlias = tuple[int, ...] | None
"""For every value of an attribute the group that it belongs to; None where every value stands apart."""
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


# -- consistency ------------------------------------------------------------------------------------


def common_coarsening(first: Sequence[int] | None, second: Sequence[int] | None) -> list[int]:
    """Labels of the finest grouping that is coarser than both; None stands for every value apart.

    >>> common_coarsening([0, 0, 1, 2], [0, 1, 1, 2])
    [0, 0, 0, 1]
    """
    if first is None or second is None:
        known = second if first is None else first
        assert known is not None
        return list(np.unique(np.asarray(known), return_inverse=True)[1].tolist())
    firsts: tuple[dict[int, int], dict[int, int]] = ({}, {})
    links = [
        (value, seen.setdefault(group, value))
        for groups, seen in zip((first, second), firsts, strict=True)
        for value, group in enumerate(groups)
    ]
    order: dict[int, int] = {}
    return [order.setdefault(part, len(order)) for part in components(len(first), links)]


@dataclass(frozen=True)
class Margin:
    """Attributes, each with a grouping of its values (None: every value apart)."""

    groups: tuple[tuple[str, Groups], ...]

    @classmethod
    def of(cls, table: Sequence[Split]) -> Margin:
        """The whole of a table."""
        return cls(tuple(sorted(((s.name, s.bins) for s in table), key=lambda group: group[0])))

    def meet(self, other: Margin) -> Margin:
        """The finest margin that both can be added up to."""
        theirs = dict(other.groups)
        shared = [(name, _joined(mine, theirs[name])) for name, mine in self.groups if name in theirs]
        return Margin(tuple((name, groups) for name, groups in shared if groups is None or max(groups) > 0))

    def shape(self, domain: Domain) -> tuple[int, ...]:
        return tuple(domain[name].size if groups is None else max(groups) + 1 for name, groups in self.groups)

    def cells(self, domain: Domain) -> int:
        """How many cells it has."""
        return math.prod(self.shape(domain))

    def labels(self, split: Split, domain: Domain) -> Ints:
        """For every value, or bin, of a split the group that it belongs to here: one where it is not split by."""
        groups, size = dict(self.groups).get(split.name, ()), split.size(domain)
        if groups is None:
            return np.arange(size)
        label = np.zeros(size, np.int64)
        if groups:
            label[split.of(np.arange(domain[split.name].size))] = groups
        return label

    def places(self, table: Sequence[Split], domain: Domain) -> Ints:
        """For every cell of a table, row by row, the cell of this margin it adds up into.

        Pre  the margin is not finer than the table.
        """
        names, shape = [name for name, _ in self.groups], self.shape(domain)
        place = np.zeros([1] * len(table), np.int64)
        for axis, split in enumerate(table):
            if split.name in names:
                stride = math.prod(shape[names.index(split.name) + 1 :])
                label = self.labels(split, domain)
                place = place + stride * label.reshape([-1 if a == axis else 1 for a in range(len(table))])
        full = tuple(split.size(domain) for split in table)
        return np.asarray(np.broadcast_to(place, full).ravel())


def shared_margins(tables: Sequence[EstimatedTable], domain: Domain) -> list[Margin]:
    """Every margin that two or more tables share, closed under meeting, coarsest first."""
    return list(_shared(tuple(Margin.of(table.splits) for table in tables), domain))


@lru_cache(maxsize=64)
def _shared(whole: tuple[Margin, ...], domain: Domain) -> tuple[Margin, ...]:
    """As `shared_margins`, once for every plan: a release of many tables asks again and again."""
    found = {a.meet(b) for i, a in enumerate(whole) for b in whole[:i]}
    while True:
        more = {a.meet(b) for a in found for b in found} - found
        if not more:
            break
        found |= more
    return tuple(sorted(found, key=lambda margin: (margin.cells(domain), repr(margin.groups))))


def agree(tables: Sequence[EstimatedTable], domain: Domain) -> None:
    """Change the tables, as little as their precision allows, so that they agree on every shared margin.

    Pre   exact tables are of the same data; all have as many numbers in a cell.
    Why   agreeing on one margin is an orthogonal projection in the metric of the precisions: a weighted average,
          spread evenly behind each of its cells. For splits by value, going from coarse to fine, one round does
          it: a change at one margin adds up to nothing on another whose common part agrees already. Bins that
          overlap crosswise need more rounds, and projections taken in turn converge.
    """
    settle(meetings(tables, domain))


def meetings(tables: Sequence[EstimatedTable], domain: Domain) -> list[Meeting]:
    """Where tables meet, from the coarsest margin to the finest."""
    found = []
    for margin in shared_margins(tables, domain):
        members = [t for t in tables if Margin.of(t.splits).meet(margin) == margin]
        if len(members) > 1 and any(t.variance > 0 for t in members):
            rows = members[0].rows
            places = [margin.places(t.splits, domain)[:, None] * rows + np.arange(rows) for t in members]
            found.append(Meeting(members, [place.ravel() for place in places], margin.cells(domain) * rows))
    return found


def follow(table: EstimatedTable, leaders: Sequence[EstimatedTable], domain: Domain) -> bool:
    """Change one table so that it agrees with others; whether it could, since no table may agree with all of them."""
    return settle(_to_follow(table, leaders, domain))


def agrees(table: EstimatedTable, leaders: Sequence[EstimatedTable], domain: Domain) -> bool:
    """Whether a table agrees with others as it is."""
    copy = EstimatedTable(table.splits, table.values, table.variance)
    return all(meeting.project() < CLOSE for meeting in _to_follow(copy, leaders, domain))


def _to_follow(table: EstimatedTable, leaders: Sequence[EstimatedTable], domain: Domain) -> list[Meeting]:
    """Where one table meets the first of the others that know a margin, which stay as they are."""
    meetings = []
    for margin in shared_margins([table, *leaders], domain):
        leader = next((t for t in leaders if Margin.of(t.splits).meet(margin) == margin), None)
        if leader is not None and Margin.of(table.splits).meet(margin) == margin:
            cells = margin.cells(domain)
            fixed = EstimatedTable((), leader.totals(margin.places(leader.splits, domain), cells), 0.0)
            meetings.append(Meeting([fixed, table], [np.arange(cells), margin.places(table.splits, domain)], cells))
    return meetings


# -- margin lattice ---------------------------------------------------------------------------------
# Margins in the order in which they are made whole: which tell which, and which whole numbers always fit together.

LONGEST = 4096
"""Values of an attribute whose counts are made whole by blocks first: enough for a map, and quick to go through."""
FACTOR = 4
"""How many blocks, or values, become one block of the next level."""


def margins_of(tables: Sequence[Sequence[Split]], domain: Domain) -> list[Margin]:
    """The total, the tables, blocks of ordered attributes, and what these share: every margin after the coarser ones.

    Why   a table that is made whole at once keeps its total alone: with many empty cells, large blocks of it would
          gain or lose far more than their noise. Blocks of blocks, from the largest to the smallest, keep theirs.
    """
    found = {Margin(())}
    binned = {split.name for table in tables for split in table if split.bins is not None}
    long = {a.name for a in domain if a.ordered and FACTOR < a.size <= LONGEST} - binned
    for table in tables:
        found |= {normal(Margin.of(splits)) for splits in _levels(table, long, domain)}
    while True:
        more = {meet(a, b) for a in found for b in found} - found
        if not more:
            break
        found |= more
    return sorted(found, key=lambda margin: (margin.cells(domain), len(margin.groups), repr(margin.groups)))


def _levels(table: Sequence[Split], long: Collection[str], domain: Domain) -> list[tuple[Split, ...]]:
    """A table, and the same in blocks of its long attributes, larger and larger; of three ways and more it alone.

    Why   blocks of three ways would form cycles with those of their pairs, which need not fit in whole numbers.
    """
    levels = [tuple(table)]
    if len(table) > 2:
        return levels
    width, sizes = FACTOR, [domain[split.name].size for split in table if split.name in long]
    while sizes and width < max(sizes):
        levels.append(tuple(Split(s.name, _bins(domain[s.name].size, width)) if s.name in long else s for s in table))
        width *= FACTOR
    return levels


@lru_cache(maxsize=256)
def _bins(size: int, width: int) -> tuple[int, ...]:
    return tuple(code // width for code in range(size))


def normal(margin: Margin) -> Margin:
    """The same margin with groups in the order of their first values, and none that are everything."""
    renamed = [(name, _renamed(groups)) for name, groups in margin.groups]
    return Margin(tuple((name, groups) for name, groups in renamed if groups is None or max(groups) > 0))


@lru_cache(maxsize=1024)
def _renamed(groups: Groups) -> Groups:
    order: dict[int, int] = {}
    return None if groups is None else tuple(order.setdefault(group, len(order)) for group in groups)


def meet(one: Margin, other: Margin) -> Margin:
    """The finest margin that both can be added up to, in normal form."""
    return normal(one.meet(other))


@lru_cache(maxsize=4096)
def _joined(first: Groups, second: Groups) -> Groups:
    return None if first is None and second is None else tuple(common_coarsening(first, second))


def is_in(coarse: Margin, fine: Margin) -> bool:
    """Whether a margin can be had by adding up another."""
    return len(coarse.groups) <= len(fine.groups) and meet(fine, coarse) == coarse


def finest(margins: Sequence[Margin]) -> list[Margin]:
    """Those that no other of them tells, the finest first."""
    return [m for m in reversed(margins) if not any(m != other and is_in(m, other) for other in margins)]


def fitting(margins: Sequence[Margin]) -> tuple[list[Margin], list[Margin]]:
    """Margins that whole numbers always fit together, each joined to one before it, and those that they may not fit.

    Why   margins without a cycle of attributes have a table whenever they agree, in whole numbers too (Vorob'ev 1962).
          Of margins that form a cycle, or have bins that overlap crosswise, that need not be so.
    """
    fit: list[Margin] = []
    left = list(margins)
    while left:
        left.sort(key=lambda one: -max((len(meet(one, other).groups) for other in fit), default=0))
        able = [one for one in left if not any(_crosses(one, other) for other in fit) and _is_acyclic([*fit, one])]
        if not able:
            break
        fit.append(able[0])
        left.remove(able[0])
    return fit, left


def _crosses(one: Margin, other: Margin) -> bool:
    mine, theirs, shared = dict(one.groups), dict(other.groups), dict(meet(one, other).groups)
    both = [(mine[name], theirs[name], shared.get(name)) for name in mine if name in theirs]
    return any(joined not in (first, second) for first, second, joined in both)


def _is_acyclic(margins: Sequence[Margin]) -> bool:
    """Whether leaving out attributes that one margin has alone, and margins that are within others, leaves nothing.

    A grouping of values counts as an attribute, which margins with finer groups have as well.
    """
    known = {group for margin in margins for group in margin.groups}
    sets = [{(n, g) for n, g in known if is_in(Margin(((n, g),)), margin)} for margin in margins]
    while len(sets) > 1:
        kept: list[set[tuple[str, Groups]]] = []
        for one in sorted(({x for x in s if sum(x in other for other in sets) > 1} for s in sets), key=len)[::-1]:
            if not any(one <= other for other in kept):
                kept.append(one)
        if len(kept) == len(sets) and all(one in sets for one in kept):
            return False
        sets = kept
    return True


def splits_of(margin: Margin) -> tuple[Split, ...]:
    """The splits of a margin."""
    return tuple(Split(name, groups) for name, groups in margin.groups)


# -- monotone ---------------------------------------------------------------------------------------
# Running counts that never fall ([HMD14] section 7.1: constrained inference).


def monotone_counts(counts: Floats, starts: Sequence[int] = (0,)) -> Floats:
    """Counts along the last axis whose running sums are the nearest non-decreasing ones between 0 and the total.

    With `starts`, the axis falls into parts that begin there, and each keeps its own total.

    Post  each row keeps its total, and no count of it is negative. A row whose total is negative, which only noise on
          a small group can bring about, has no such running sums: it is left as it is.
    Why   least squares under order and bounds is the isotonic fit, clipped to the bounds.
    """
    if len(starts) > 1:
        parts = np.split(counts, list(starts)[1:], axis=-1)
        return np.concatenate([monotone_counts(part) for part in parts], axis=-1)
    rows = counts.reshape(-1, counts.shape[-1])
    out = np.empty_like(rows)
    for row, running in enumerate(np.cumsum(rows, axis=1)):
        total = running[-1]
        if total < 0:
            out[row] = rows[row]
            continue
        clipped = np.clip(np.append(_isotonic(running[:-1]), total), 0.0, total)
        out[row] = np.diff(clipped, prepend=0.0)
    return out.reshape(counts.shape)


def _isotonic(values: Floats) -> Floats:
    """The nearest values that never fall."""
    if (values[1:] >= values[:-1]).all():
        return values
    from scipy.optimize import isotonic_regression  # slow to import

    fitted: Floats = isotonic_regression(values).x
    return fitted
