"""How much of the noise on single cells falls away because totals of some cells are known exactly.

Least squares takes from the noise what shows in the known totals: its projection onto their margins. For questions
that are products of one question for each attribute, every projection is a product too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from tetraodon.arrays import Ints
from tetraodon.domain import Domain
from tetraodon.inference.consistency import Margin, common_coarsening
from tetraodon.workload.linear import LinearQuery, Split

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
