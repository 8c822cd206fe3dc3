"""Margins in the order in which they are made whole: which tell which, and which whole numbers always fit together."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import TypeAlias

from tetraodon.domain import Domain
from tetraodon.inference.consistency import Margin, common_coarsening
from tetraodon.workload.linear import Split

Groups: TypeAlias = tuple[int, ...] | None
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
    """The finest margin that both can be added up to."""
    theirs = dict(other.groups)
    shared = [(name, _joined(mine, theirs[name])) for name, mine in one.groups if name in theirs]
    return Margin(tuple((name, groups) for name, groups in shared if groups is None or max(groups) > 0))


@lru_cache(maxsize=4096)
def _joined(first: Groups, second: Groups) -> Groups:
    if first == second:
        return _renamed(first)
    return _renamed(tuple(common_coarsening(first, second)))


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
