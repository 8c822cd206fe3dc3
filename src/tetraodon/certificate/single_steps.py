"""The worst edge where queries are about parts of the records, and a step changes one factor: each by itself.

While one factor changes, all others stay. So what a step moves is a sum of two kinds: what queries about the factor's
own attributes move, which its two values say; and what a record adds to queries that it leaves, enters, or moves
within, because a condition or a split looks at the factor. How often each of these counts is told by the two values
too, and how much by the rest of the record.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from tetraodon.arrays import Bools, Ints
from tetraodon.certificate.axis import EDGE_LIMIT, Term, weighted
from tetraodon.certificate.edge_loss import Loss, Weighted
from tetraodon.certificate.part_steps import NOTHING, Search, inner_of, is_product, worse
from tetraodon.certificate.product_bounds import only_presence
from tetraodon.policy.attribute_graph import Public
from tetraodon.policy.secret_graph import MATRIX_LIMIT, Factor, SecretGraph
from tetraodon.workload.among import Among
from tetraodon.workload.linear import LinearQuery
from tetraodon.workload.squared import squared

MANY = 1 << 20
"""Steps that are looked at together."""


def with_one_factor(graph: SecretGraph, factor: Factor) -> SecretGraph:
    """The same secrets, but for those of all other attributes, and for who is there."""
    still = [
        Factor((name,), Public(graph.domain[name].size)) for name in graph.domain.names if name not in factor.names
    ]
    return SecretGraph(graph.domain, (factor, *still), 1)


def over_one_factor(
    graph: SecretGraph, queries: Sequence[Weighted], given: Mapping[str, int], search: Search, *, squares: bool
) -> Loss:
    """The worst step along the only factor of a graph that changes.

    Pre   conditions look at attributes of the factor, or at those that their queries add up. `search` is the worst
          edge for queries of which conditions look at nothing that the queries do not look at otherwise, or for steps
          that change nothing.
    """
    [factor] = [one for one in graph.factors if not isinstance(one.graph, Public)]
    inside = set(factor.names)
    asked = [(query, weight) for query, weight in queries if inside & set(query.names)]
    gated = [one for one in asked if isinstance(one[0].contribution, Among) and _is_elsewhere(one[0], inside)]
    if not gated:
        return search(graph, asked, given)
    own = [one for one in asked if one not in gated]
    tied = [query for query, _ in own if inside & set(inner_of(query).names) and set(inner_of(query).names) - inside]
    if tied or factor.graph.edge_count > EDGE_LIMIT or not all(is_product(q, factor.names) for q, _ in gated):
        if graph.part({name for query, _ in asked for name in query.names}).domain.size <= MATRIX_LIMIT:
            return search(graph, asked, given)
        return _bound(graph, own, gated, given, search)
    return _Steps(graph, factor, tuple(asked), given, search, squares).worst()


def _bound(
    graph: SecretGraph, own: Sequence[Weighted], gated: Sequence[Weighted], given: Mapping[str, int], search: Search
) -> Loss:
    """The most that queries about the factor move, and all that a record adds to the others, twice where they split."""
    [factor] = [one for one in graph.factors if not isinstance(one.graph, Public)]
    first = search(graph, own, given) if own else NOTHING
    twice = [1 + any(split.name in factor.names for split in query.by) for query, _ in gated]
    added = [(_of_rest(query, factor), weight * times) for (query, weight), times in zip(gated, twice, strict=True)]
    rest = search(only_presence(graph), added, given)
    return Loss(first.value + rest.value, None, False, "over edges, for each part by itself")


def _is_elsewhere(query: LinearQuery, inside: set[str]) -> bool:
    """Whether what a record adds to a query is told by the rest of it."""
    names = set(inner_of(query).names)
    return bool(names) and names.isdisjoint(inside)


def _of_rest(query: LinearQuery, factor: Factor) -> LinearQuery:
    """A query as the rest of a record sees it, wherever its condition may hold."""
    by, part = tuple(split for split in query.by if split.name not in factor.names), query.contribution
    if not isinstance(part, Among):
        return LinearQuery(part, by)
    left = part.about(part.inner, [name for name in part.names if name not in factor.names])
    assert left is not None
    return LinearQuery(left, by)


@dataclass(frozen=True)
class _Steps:
    """Steps along one factor, looked at edge by edge."""

    graph: SecretGraph
    factor: Factor
    queries: tuple[Weighted, ...]
    given: Mapping[str, int]
    search: Search
    squares: bool

    @cached_property
    def _codes(self) -> dict[str, Ints]:
        """The codes of the factor's attributes at each of its values."""
        names = self.factor.names
        shape = self.graph.domain.project(names).shape
        return dict(zip(names, np.unravel_index(np.arange(self.factor.graph.size), shape), strict=True))

    @cached_property
    def _weights(self) -> tuple[list[int], int]:
        common = math.lcm(*(weight.denominator for _, weight in self.queries))
        return [int(weight * common) for _, weight in self.queries], common

    @cached_property
    def _elsewhere(self) -> list[int]:
        """The queries to which a record adds what the rest of it says."""
        return [n for n, (query, _) in enumerate(self.queries) if _is_elsewhere(query, set(self.factor.names))]

    def worst(self) -> Loss:
        best = NOTHING
        found: dict[tuple[int, ...], tuple[int, int, int]] = {}
        for x, y in self._edges():
            times = self._times(x, y)
            kinds, kind = np.unique(times, axis=0, return_inverse=True)
            moved = self._moved(x, y)
            for number, row in enumerate(kinds):
                there = np.flatnonzero(kind.ravel() == number)
                top = int(there[np.argmax(moved[there])])
                key = tuple(row.tolist())
                if key not in found or int(moved[top]) > found[key][0]:
                    found[key] = int(moved[top]), int(x[top]), int(y[top])
        alone = only_presence(self.graph)
        for key, (value, a, b) in found.items():
            asked = [
                (_of_rest(self.queries[n][0], self.factor), self.queries[n][1] * count)
                for n, count in zip(self._elsewhere, key, strict=True)
                if count
            ]
            rest = self.search(alone, asked, self.given) if asked else NOTHING
            total = Fraction(value, self._weights[1]) + rest.value
            best = worse(best, Loss(total, self._pair(rest.witness, a, b), rest.exact))
        return best if best.value else NOTHING

    def _edges(self) -> Iterator[tuple[Ints, Ints]]:
        waiting: list[tuple[Ints, Ints]] = []
        for x, y in self.factor.graph.edges():
            waiting.append((x, y))
            if sum(len(one) for one, _ in waiting) > MANY:
                yield np.concatenate([a for a, _ in waiting]), np.concatenate([b for _, b in waiting])
                waiting = []
        if waiting:
            yield np.concatenate([a for a, _ in waiting]), np.concatenate([b for _, b in waiting])

    def _sides(self, query: LinearQuery, x: Ints, y: Ints) -> tuple[Bools, Bools, Bools]:
        """Whether the condition of a query holds before a step, and after it, and whether that crosses its splits."""
        part = query.contribution
        here = there = np.ones(len(x), np.bool_)
        if isinstance(part, Among):
            held = [name for name in part.held if name in self._codes]
            table = np.asarray(
                part.table.any(axis=tuple(axis for axis, name in enumerate(part.held) if name not in held))
            )
            here, there = (table[tuple(self._codes[name][end] for name in held)] for end in (x, y))
        crossed = np.zeros(len(x), np.bool_)
        for split in query.by:
            if split.name in self._codes:
                codes = self._codes[split.name]
                crossed |= split.of(codes[x]) != split.of(codes[y])
        return here, there, crossed

    def _times(self, x: Ints, y: Ints) -> Ints:
        """How often what a record adds elsewhere counts: for each of its two places in the part, if it moves."""
        columns = []
        for number in self._elsewhere:
            here, there, crossed = self._sides(self.queries[number][0], x, y)
            columns.append(np.where(crossed | (here != there), here.astype(np.int64) + there, 0))
        return np.stack(columns, axis=1) if columns else np.zeros((len(x), 0), np.int64)

    def _moved(self, x: Ints, y: Ints) -> Ints:
        """What the other queries move, in whole numbers."""
        terms, arrays = [], []
        for number, (query, _) in enumerate(self.queries):
            if number in self._elsewhere:
                continue
            term = Term(
                number, squared(query.contribution) if self.squares else query.contribution, self._weights[0][number]
            )
            names = term.contribution.names
            cells = np.zeros(self.factor.graph.size, np.int64)
            if names:
                shape = self.graph.domain.project(names).shape
                cells = np.ravel_multi_index([self._codes[name] for name in names], shape)
            alone, apart = term.contribution.alone, term.contribution.apart(cells[x], cells[y])
            crossed = self._sides(query, x, y)[2]
            terms.append(term)
            arrays.append(np.where(crossed, alone(cells[x]) + alone(cells[y]), apart))
        return weighted(terms, arrays, len(x))

    def _pair(self, found: tuple[Any, Any] | None, x: int, y: int) -> tuple[Any, Any]:
        """Two records that differ in the factor alone."""
        domain = self.graph.domain
        rest = domain.codes(found[0]) if found is not None else (0,) * len(domain.names)
        codes = {**dict(zip(domain.names, rest, strict=True)), **self.given}
        ends = [{**codes, **{name: int(at[cell]) for name, at in self._codes.items()}} for cell in (x, y)]
        return domain.value_of(tuple(ends[0].values())), domain.value_of(tuple(ends[1].values()))
