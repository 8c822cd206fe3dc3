"""Noise on every cell of a table ([HMD14] Thm 5.1), with known totals."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias, assert_never

import numpy as np

from tetraodon.domain import Domain
from tetraodon.exact.arrays import Bools, Floats, Ints
from tetraodon.inference.consistency import Margin, common_coarsening
from tetraodon.mechanism.direct import free_totals
from tetraodon.mechanism.strategy import Ends, Measured, OneScale, Scaled, Strategy, lengths, reading_of
from tetraodon.policy.policy import Policy
from tetraodon.query.contribution import One
from tetraodon.query.linear import LinearQuery, Split
from tetraodon.query.query import Cells, EveryRange, EveryRectangle, ListedRanges, Query, RunningCounts

# -- known share ------------------------------------------------------------------------------------
# How much of the noise on single cells falls away because totals of some cells are known exactly.
#
# Least squares takes from the noise what shows in the known totals: its projection onto their margins. For questions
# that are products of one question for each attribute, every projection is a product too.

Groups: TypeAlias = Ints
"""For every value of an attribute of a table, the group of values that it is known together with."""
Asked: TypeAlias = Callable[[Groups], Fraction]
"""The mean, over the questions about one attribute, of what is left of them in a table of such groups: the sum over
groups of (values asked about)^2 / (values)."""


def known_share(table: Sequence[Split], exact: Iterable[LinearQuery], asked: Sequence[Asked], domain: Domain) -> float:
    """The mean variance that known totals take from the answers, in multiples of the variance of one cell.

    Pre   `exact` are tables of counts, coarser than `table`; `asked` has one entry for each split of it.
    Post  exact where the projections onto the margins commute; else less, and the error told is too large.
    Why   projections that commute take together 1 - (1 - P)(1 - Q)... = P + Q - PQ ..., and PQ is the projection onto
          what both margins have in common.
    """
    signed: dict[Margin, int] = {}
    for margin in _commuting([Margin.of(query.by) for query in exact], table, domain):
        change = {margin: 1}
        for before, times in signed.items():
            both = before.meet(margin)
            change[both] = change.get(both, 0) - times
        signed = {one: signed.get(one, 0) + change.get(one, 0) for one in signed | change}
    taken = Fraction(0)
    for margin, times in signed.items():
        if times:
            parts = zip(asked, groups_of(margin, table, domain), strict=True)
            taken += times * math.prod((of(groups) for of, groups in parts), start=Fraction(1))
    return float(taken)


def groups_of(margin: Margin, table: Sequence[Split], domain: Domain) -> list[Groups]:
    """A margin as groups of the values of each attribute of a table."""
    return [_labels(dict(margin.groups), split, domain) for split in table]


def _labels(groups: dict[str, tuple[int, ...] | None], split: Split, domain: Domain) -> Groups:
    size = split.size(domain)
    if split.name not in groups:
        return np.zeros(size, np.int64)
    label = np.arange(size)
    if (coarse := groups[split.name]) is not None:
        label[split.of(np.arange(domain[split.name].size))] = coarse
    return label


def _commuting(margins: Sequence[Margin], table: Sequence[Split], domain: Domain) -> list[Margin]:
    """The finest margins, each only if its projection commutes with those before it."""
    kept: list[tuple[Margin, list[Groups]]] = []
    for margin in sorted(dict.fromkeys(margins), key=lambda one: -one.cells(domain)):
        here = groups_of(margin, table, domain)
        if not any(one.meet(margin) == margin for one, _ in kept) and all(
            _independent(a, b) for _, other in kept for a, b in zip(here, other, strict=True)
        ):
            kept.append((margin, here))
    return [margin for margin, _ in kept]


def _independent(a: Groups, b: Groups) -> bool:
    """Whether averaging over groups of a, and then over those of b, is averaging over what they have in common.

    Why   the mean over b of a mean over a weighs value y with |A of y and B of x| / (|A| |B|); it is 1 / |C| on the
          common group C for all y exactly if |A and B| |C| = |A| |B| for all A and B inside C. If that holds wherever
          A meets B, then A meets every B inside C, since the parts of A add up to A.
    """
    if a.max() == 0 or b.max() == 0 or a.max() == len(a) - 1 or b.max() == len(b) - 1:
        return True  # one group, or every value by itself
    c = np.array(common_coarsening(a.tolist(), b.tolist()))
    sizes = [np.bincount(groups)[groups] for groups in (a, b, c)]
    _, place, both = np.unique(a * (int(b.max()) + 1) + b, return_inverse=True, return_counts=True)
    return np.array_equal(both[place] * sizes[2], sizes[0] * sizes[1])


# -- what is asked of one attribute ------------------------------------------------------------


def each_value(groups: Groups) -> Fraction:
    """Every value by itself."""
    return Fraction(int(groups.max()) + 1, len(groups))


def each_prefix(groups: Groups) -> Fraction:
    """Every running count.

    Why   in one group of N values the mean of k^2 / N over k up to N has a closed form, which needs no room.
    """
    size = len(groups)
    if not groups.any():
        return Fraction((size + 1) * (2 * size + 1), 6 * size)
    members = np.bincount(groups)[groups]
    return Fraction(float(np.mean(np.cumsum((2 * _rank_within(groups) + 1) / members))))


def each_range(groups: Groups) -> Fraction:
    """Every range.

    Why   with S(p) the number of members below p, the sum over ranges of (S(h) - S(l))^2 is
          (N + 1) sum S^2 - (sum S)^2 over the N + 1 points between values. In one group that has a closed form.
    """
    size = len(groups)
    if not groups.any():
        return Fraction((size + 1) * (size + 2), 6 * size)
    after = size - np.arange(size)
    members = np.bincount(groups).astype(float)
    squares = np.bincount(groups, weights=(2.0 * _rank_within(groups) + 1) * after)
    sums = np.bincount(groups, weights=after.astype(float))
    return Fraction(float(np.sum(((size + 1) * squares - sums**2) / members)) / (size * (size + 1) / 2))


def named_ranges(ends: Sequence[tuple[int, int]]) -> Asked:
    """Some ranges, given by their codes."""

    def asked(groups: Groups) -> Fraction:
        members = np.bincount(groups)
        return sum((_one_range(groups[low : high + 1], members) for low, high in ends), Fraction(0)) / len(ends)

    return asked


def _one_range(inside: Groups, members: Groups) -> Fraction:
    taken = np.bincount(inside, minlength=len(members))
    by_size = {int(m): int((taken[members == m] ** 2).sum()) for m in np.unique(members)}
    return sum((Fraction(squares, m) for m, squares in by_size.items()), Fraction(0))


def _rank_within(groups: Groups) -> Groups:
    order = np.argsort(groups, kind="stable")
    starts = np.searchsorted(groups[order], groups[order])
    rank = np.empty(len(groups), np.int64)
    rank[order] = np.arange(len(groups)) - starts
    return rank


# -- identity ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Identity(OneScale):
    """Sums add up cells. Where a group's total is known, the noise of the cells outside a sum may be used instead of
    that inside, whichever is less.
    """

    name = "identity"
    words = "noise on each count"
    each_cell = True

    def propose(self, query: Query, policy: Policy) -> Iterator[Strategy]:
        table = query.table(policy.domain)
        if table:
            yield Strategy(self, (LinearQuery(One(), table),), free_totals(table, policy), table)

    def variance_factor(self, query: Query, strategy: Strategy, domain: Domain) -> float:
        """Answers add up cells, less what totals that are known exactly take from the noise in them."""
        sizes = [split.size(domain) for split in strategy.table]
        others = [each_value] * (len(sizes) - 1)
        asked: list[Asked]
        match reading_of(query, domain):
            case Cells():
                whole, asked = 1.0, [*others, each_value]
            case EveryRectangle():
                whole, asked = math.prod((size + 2) / 3 for size in sizes), [each_range] * len(sizes)
            case RunningCounts():
                whole, asked = (sizes[-1] + 1) / 2, [*others, each_prefix]
            case ListedRanges(ends):
                whole, asked = sum(high - low + 1 for low, high in ends) / len(ends), [*others, named_ranges(ends)]
            case EveryRange():
                whole, asked = (sizes[-1] + 2) / 3, [*others, each_range]
            case _ as never:
                assert_never(never)
        return whole - known_share(strategy.table, strategy.exact, asked, domain)

    def most_terms(self, query: Query, at: Scaled) -> int:
        whole = any(not one.by for one in at.strategy.exact)
        match query.reading(at.domain):
            case EveryRectangle():
                cells = math.prod(at.shape)
                return max(1, cells // 2 if whole else cells)
            case RunningCounts() | EveryRange() | ListedRanges():
                size = at.shape[-1]
                return max(1, size // 2 if whole and len(at.shape) == 1 else size)
            case _:
                return 1

    def fit(self, at: Scaled, measured: Measured) -> Floats:
        return measured[0][..., 0].astype(np.float64)

    def parts(self, at: Scaled, weights: Floats) -> tuple[Floats, ...]:
        return (weights,)

    def terms(self, at: Scaled, mask: Bools) -> int:
        known = _known_groups(at)
        if known is None:
            return int(mask.sum())
        taken = known.taken(mask)
        return int(np.minimum(taken, known.members - taken).sum())

    def sum_over(self, at: Scaled, measured: Measured, table: Floats, mask: Bools) -> float:
        known = _known_groups(at)
        if known is None:
            return super().sum_over(at, measured, table, mask)
        inside, cells, groups = mask.ravel(), table.ravel(), len(known.members)
        direct = np.bincount(known.places[inside], weights=cells[inside], minlength=groups)
        whole = np.bincount(known.places, weights=cells, minlength=groups)
        taken = known.taken(mask)
        by_rest = known.totals(measured) - (whole - direct)
        return float(np.where(taken > known.members - taken, by_rest, direct).sum())

    def box_terms(self, at: Scaled, low: Ends, high: Ends) -> Ints:
        known, cells = _known_groups(at), np.asarray(math.prod(lengths(low, high)))
        if known is not None and len(known.members) == 1:
            return np.asarray(np.minimum(cells, known.members[0] - cells))
        if known is not None and (cells == 1).all():
            return np.where(known.is_alone(at, low), 0, 1)
        return cells

    def box_sums(self, at: Scaled, measured: Measured, low: Ends, high: Ends, sums: Floats) -> Floats:
        known, cells = _known_groups(at), math.prod(lengths(low, high))
        if known is not None and len(known.members) == 1:
            missing = float(known.totals(measured)[0]) - float(measured[0].sum())
            return np.where(known.members[0] - cells < cells, sums + missing, sums)
        if known is not None and np.all(cells == 1):
            total = known.totals(measured)[known.places[_numbers(at, low)]]
            return np.where(known.is_alone(at, low), total, sums)
        return sums


IDENTITY = Identity()


@dataclass(frozen=True, eq=False)
class _KnownGroups:
    """For every cell the group whose total is known exactly, and how many cells each has."""

    place: int
    """Which measurement tells the totals."""
    places: Ints
    members: Ints
    order: Ints

    def taken(self, mask: Bools) -> Ints:
        """How many cells of every group are in a mask."""
        return np.bincount(self.places[mask.ravel()], minlength=len(self.members))

    def totals(self, measured: Measured) -> Floats:
        totals = np.zeros(len(self.members))
        totals[self.order] = measured[self.place][..., 0].ravel()
        return totals

    def is_alone(self, at: Scaled, codes: Ends) -> Bools:
        """Whether cells are the only ones of their groups, so that they are known."""
        return np.asarray((self.members[self.places] == 1)[_numbers(at, codes)])


def _numbers(at: Scaled, codes: Ends) -> Ints:
    return np.ravel_multi_index(np.broadcast_arrays(*codes), at.shape)


@lru_cache(maxsize=8)
def _known_groups(at: Scaled) -> _KnownGroups | None:
    strategy = at.strategy
    for place, query in enumerate(strategy.exact, start=len(strategy.noisy)):
        if isinstance(query.contribution, One):
            margin = Margin.of(query.by)
            places = margin.places(strategy.table, at.domain)
            order = margin.places(query.by, at.domain)
            return _KnownGroups(place, places, np.bincount(places, minlength=order.size), order)
    return None
