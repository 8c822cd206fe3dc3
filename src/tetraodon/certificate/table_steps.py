"""The worst edge for tables of counts, weighed with their margins or not: only which attributes change matters.

Such tables treat the values of an attribute alike. So what a step moves is a function of the set of attributes that it
changes, a sum of one function for each table; and that is a small search, however many values there are.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import chain, combinations
from operator import itemgetter
from typing import Any

import numpy as np

from tetraodon.certificate.edge_loss import Loss, Weighted
from tetraodon.policy.secret_graph import ABSENT, SecretGraph
from tetraodon.query.contribution import One
from tetraodon.query.linear import LinearQuery
from tetraodon.query.weighted_margins import WeighedMargins

MOST_SETS, MOST_BRANCHES, LISTED = 2000, 20, 16
"""Sets of attributes that are looked at one by one; branches of a search after which all sets are listed instead, if
there are so few attributes. Beyond these a bound is told."""
NEAR = 1 - 1e-9
"""Sums in floats that may be the largest: they are off by far less."""


def weighs_margins(queries: Sequence[Weighted]) -> bool:
    """Whether any query weighs a table with its margins."""
    return any(isinstance(query.contribution, WeighedMargins) for query, _ in queries)


def is_table(query: LinearQuery) -> bool:
    """Whether a query is a table of counts by value, or weighs one with its margins."""
    by_value = all(split.bins is None and split.ends is None for split in query.by)
    return (isinstance(query.contribution, One) and by_value) or (
        isinstance(query.contribution, WeighedMargins) and not query.by
    )


def over_tables(graph: SecretGraph, queries: Sequence[Weighted], given: Mapping[str, int], *, squares: bool) -> Loss:
    """max over edges of the sum of weight * (what the query moves by, in units, or the square of it).

    Pre   every query is `is_table`; nothing is known, and secrets are the same for everybody.
    Post  not exact where attributes share a metric, and some of them may not change without others, or where there are
          too many sets of attributes to look at.
    """
    names = dict.fromkeys(name for query, _ in queries for name in query.names)
    moving = [factor for factor in graph.factors if names.keys() & {*factor.names} and factor.graph.has_edges]
    able = [name for factor in moving for name in factor.names if name in names]
    alone = all(len(factor.names) == 1 for factor in moving)
    common = math.lcm(*(weight.denominator for _, weight in queries))
    tables = [_MovedTable.of(query, int(weight * common), 2 if squares else 1) for query, weight in queries]
    most = graph.at_most if alone else len(able)
    worst = _worst_set(tables, able) if most >= len(able) else _worst_of_few(tables, able, most)
    best = sum(max(table.moved) if worst is None else table.at(worst) for table in tables)
    presence = sum(table.added for table in tables) if graph.absent else 0
    value = Fraction(max(best, presence), common)
    if presence and presence >= best:
        return Loss(value, (_pair(graph, (), given)[0], ABSENT), True)
    if worst is None or not alone or not best:
        return Loss(value, None, not best)
    return Loss(value, _pair(graph, worst, given), True)


@dataclass(frozen=True)
class _MovedTable:
    """What a table moves by for every set of its attributes that changes, and what a record adds to it, weighted."""

    names: tuple[str, ...]
    moved: tuple[int, ...]
    added: int
    kept: dict[tuple[int, int, tuple[int, ...]], tuple[int, int]] = field(default_factory=dict)

    @classmethod
    def of(cls, query: LinearQuery, weight: int, power: int) -> _MovedTable:
        match query.contribution:
            case WeighedMargins() as margins:
                sets = range(len(margins.times))
                moved = tuple(weight * margins.moved(changed, power) for changed in sets)
                return cls(query.names, moved, weight * margins.added(power))
            case _:
                names = query.names
                return cls(names, (0, *([2 * weight] * (2 ** len(names) - 1))), weight)

    @cached_property
    def places(self) -> dict[str, int]:
        return {name: 1 << place for place, name in enumerate(self.names)}

    def at(self, changed: Collection[str]) -> int:
        return self.moved[sum(place for name, place in self.places.items() if name in changed)]

    def gains(self, name: str, changed: frozenset[str], free: frozenset[str]) -> tuple[int, int]:
        """The least and the most that one more attribute adds, whichever of the free ones change as well."""
        bit, first = self.places[name], sum(place for other, place in self.places.items() if other in changed)
        more = tuple(place for other, place in self.places.items() if other in free and other != name)
        if (bit, first, more) not in self.kept:
            sets = [first + sum(some) for size in range(len(more) + 1) for some in combinations(more, size)]
            gains = [self.moved[s | bit] - self.moved[s] for s in sets]
            self.kept[bit, first, more] = min(gains), max(gains)
        return self.kept[bit, first, more]


def _worst_set(tables: Sequence[_MovedTable], able: Sequence[str]) -> frozenset[str] | None:
    """Attributes that move the most if they change, where all of them may; None where that is too long a search.

    Why   an attribute that adds something whatever else changes may as well change, and one that never adds anything
          may as well not. Where neither is sure, both are tried, and decide about others; unless all that is left could
          not add as much as was found elsewhere.
    """
    about = {name: [table for table in tables if name in table.places] for name in able}
    best: tuple[int, frozenset[str]] = (0, frozenset())
    waiting, tried = [(frozenset[str](), frozenset(able))], 0
    while waiting:
        tried += 1
        if tried > MOST_BRANCHES and len(able) <= LISTED:
            return _worst_of_all(tables, able)
        if tried > MOST_SETS:
            return None
        changed, free = waiting.pop()
        while True:
            gains = {
                n: [sum(g) for g in zip(*(t.gains(n, changed, free) for t in about[n]), strict=True)] for n in free
            }
            sure = frozenset(name for name, (least, _) in gains.items() if least >= 0)
            never = frozenset(name for name, (_, most) in gains.items() if most <= 0) - sure
            if not sure and not never:
                break
            changed, free = changed | sure, free - sure - never
        here = sum(table.at(changed) for table in tables)
        best = max(best, (here, changed), key=itemgetter(0))
        if here + sum(most for _, most in gains.values()) <= best[0]:
            continue
        name = min(sorted(free), key=lambda one: gains[one][0])
        waiting += [(changed | {name}, free - {name}), (changed, free - {name})]
    return best[1]


def _worst_of_all(tables: Sequence[_MovedTable], able: Sequence[str]) -> frozenset[str]:
    """The same by listing all sets: those that floats find among the largest are compared exactly."""
    sets, number = np.arange(2 ** len(able)), {name: place for place, name in enumerate(able)}
    most = max(max(table.moved) for table in tables)
    total = np.zeros(len(sets))
    for table in tables:
        place = np.zeros(len(sets), np.int64)
        for name, bit in table.places.items():
            if name in number:
                place += (sets >> number[name] & 1) * bit
        total += np.array([moved / most for moved in table.moved])[place]
    near = [
        frozenset(name for name, place in number.items() if one >> place & 1)
        for one in np.flatnonzero(total >= NEAR * total.max()).tolist()
    ]
    return max(near, key=lambda changed: sum(table.at(changed) for table in tables))


def _worst_of_few(tables: Sequence[_MovedTable], able: Sequence[str], at_most: int) -> tuple[str, ...] | None:
    """The same where only so many may change."""
    sizes = range(1, at_most + 1)
    if sum(math.comb(len(able), size) for size in sizes) > MOST_SETS:
        return None
    sets = chain.from_iterable(combinations(able, size) for size in sizes)
    return max(sets, key=lambda changed: sum(table.at(changed) for table in tables), default=())


def _pair(graph: SecretGraph, changed: Collection[str], given: Mapping[str, int]) -> tuple[Any, Any]:
    """Two records that differ along an edge of each of some attributes, and nowhere else."""
    x = {**dict.fromkeys(graph.domain.names, 0), **given}
    y = dict(x)
    for name in changed:
        first, second = next(graph.factor_of(name).graph.edges())
        x[name], y[name] = int(first[0]), int(second[0])
    return graph.domain.value_of(tuple(x.values())), graph.domain.value_of(tuple(y.values()))
