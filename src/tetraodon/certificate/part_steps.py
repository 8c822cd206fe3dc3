"""The worst edge where some queries are about a part of the records only: those for which a condition holds.

A step inside a part moves a query about it as if it were about everybody; a step out of the part moves all that the
record adds; a step elsewhere moves nothing. So two parts that no secret joins do not add up ([HMD14] Thm 4.2), and of
two parts that a secret joins, a step between them moves what one record adds to each.

* Attributes of conditions that no step changes are looked at value by value: each condition holds there or it does not.
* Of other attributes, those that nothing else looks at are looked at apart from the rest: which conditions a step along
  them changes, and what the rest moves given that.
* What is left over is looked at cell by cell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from tetraodon.arrays import Bools, Ints
from tetraodon.certificate.axis import EDGE_LIMIT
from tetraodon.certificate.edge_loss import Loss, Weighted
from tetraodon.certificate.product_bounds import only_presence
from tetraodon.errors import Refused
from tetraodon.policy.attribute_graph import Everything, Public
from tetraodon.policy.secret_graph import ABSENT, MATRIX_LIMIT, Factor, SecretGraph
from tetraodon.workload.among import Among
from tetraodon.workload.linear import LinearQuery

NOTHING = Loss(Fraction(0), None, True)
Search: TypeAlias = Callable[[SecretGraph, Sequence[Weighted], Mapping[str, int]], Loss]
"""The worst edge of a graph for weighted queries, all records having some codes."""


def about_parts(queries: Sequence[Weighted]) -> bool:
    """Whether some query is about a part of the records."""
    return any(isinstance(query.contribution, Among) for query, _ in queries)


def public_condition(graph: SecretGraph, queries: Sequence[Weighted]) -> str | None:
    """An attribute that no step changes and by which the condition of a query tells what the query does not add up."""
    held = {
        name
        for query, _ in queries
        if isinstance(query.contribution, Among)
        for name in query.contribution.held
        if name not in inner_of(query).names
    }
    added = {name for query, _ in queries for name in inner_of(query).names}
    able = [name for name in graph.domain.names if name in held and _public(graph, name)]
    return min(able, key=lambda name: name in added, default=None)  # those that are not added up split nothing else


def public_classes(name: str, size: int, queries: Sequence[Weighted]) -> Iterator[Ints]:
    """Codes of a public attribute that these conditions do not tell apart."""
    parts = [q.contribution for q, _ in queries if isinstance(q.contribution, Among) and name in q.contribution.held]
    rows = [
        np.moveaxis(part.table, part.held.index(name), 0).reshape(size, -1)
        for part in parts
        if name not in part.inner.names
    ]
    kinds = np.unique(np.concatenate(rows, axis=1), axis=0, return_inverse=True)[1].ravel()
    for kind in range(int(kinds.max()) + 1):
        yield np.flatnonzero(kinds == kind)


def over_steps_of_conditions(
    graph: SecretGraph, queries: Sequence[Weighted], given: Mapping[str, int], search: Search
) -> Loss:
    """The worst edge where the attributes of all conditions may change.

    `search` looks at queries that are about all records, or about values of their own attributes.
    """
    split = _Split(graph, tuple(queries), given, search)
    if not split.names:
        return search(graph, queries, given)
    bound = split.worst() if split.fits else None
    if bound is not None and bound.exact:
        return bound
    if graph.part({name for query, _ in queries for name in query.names}).domain.size <= MATRIX_LIMIT:
        return search(graph, queries, given)
    if bound is not None:
        return bound
    return _added_up(graph, queries, given, search)


def _added_up(graph: SecretGraph, queries: Sequence[Weighted], given: Mapping[str, int], search: Search) -> Loss:
    """A bound: the most that some move, and the most that others move, whatever step it is."""
    plain, tied = ([one for one in queries if bool(_others(one[0])) == others] for others in (False, True))
    together = bool(plain) and _Split(graph, tuple(tied), given, search).fits
    groups = [group for group in (plain, *([tied] if together else [[one] for one in tied])) if group]
    if len(groups) == 1:
        raise Refused(
            "a condition ties attributes that are asked about to others that are a secret, and has too many values",
            fix="write a condition on one attribute, or join such conditions by `and`; or use coarser attributes",
        )
    found = [over_steps_of_conditions(graph, group, given, search) for group in groups]
    return Loss(sum((one.value for one in found), Fraction(0)), None, False, "over edges, for each part by itself")


@dataclass(frozen=True)
class _Split:
    """Queries, of which conditions look at attributes that no query looks at otherwise: `names`."""

    graph: SecretGraph
    queries: tuple[Weighted, ...]
    given: Mapping[str, int]
    search: Search

    @cached_property
    def names(self) -> tuple[str, ...]:
        others = {name for query, _ in self.queries for name in _others(query)}
        whole = {name for f in self.graph.factors if others & set(f.names) for name in f.names}
        return tuple(name for name in self.graph.domain.names if name in whole)

    @property
    def fits(self) -> bool:
        """Whether the attributes can be looked at apart: conditions are `own and other`, and nothing else looks."""
        own = {name for query, _ in self.queries for name in _own(query)}
        return own.isdisjoint(self.names) and all(is_product(query, _others(query)) for query, _ in self.queries)

    @cached_property
    def _rest(self) -> SecretGraph:
        """The same secrets, but for these attributes."""
        still = [Factor((name,), Public(self.graph.domain[name].size)) for name in self.names]
        factors = [f for f in self.graph.factors if not set(f.names) & set(self.names)]
        return replace(self.graph, factors=(*factors, *still))

    @cached_property
    def _inside(self) -> list[Weighted]:
        """The queries, given that what their conditions say of these attributes holds."""
        return [(_without(query), weight) for query, weight in self.queries]

    @cached_property
    def _states(self) -> tuple[Ints, Bools]:
        """For every cell of these attributes which conditions hold there, by number, and the conditions of each."""
        shape = [self.graph.domain[name].size for name in self.names]
        columns = []
        for query, _ in self.queries:
            there = np.ones([1] * len(shape), np.bool_)
            if others := _others(query):
                part = query.contribution
                assert isinstance(part, Among)
                axes = tuple(axis for axis, name in enumerate(part.held) if name not in others)
                kept = [name for name in part.held if name in others]
                order = [kept.index(name) for name in self.names if name in kept]
                table = np.asarray(part.table.any(axis=axes)).transpose(order)
                there = table.reshape(
                    [size if name in kept else 1 for name, size in zip(self.names, shape, strict=True)]
                )
            columns.append(np.broadcast_to(there, shape).ravel())
        rows, state = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)
        return state.ravel(), rows

    def worst(self) -> Loss:
        state, holds = self._states
        best = NOTHING
        for number, here in enumerate(holds):  # nothing of these attributes changes
            codes = self._codes(int(np.argmax(state == number)))
            best = worse(best, self.search(self._rest, self._those(here), {**self.given, **codes}))
        for cost, x, y in self._steps(state):
            best = worse(best, self._moved(cost, x, y, holds[state[x]], holds[state[y]]))
        return best

    def _moved(self, cost: int, x: int, y: int, here: Bools, there: Bools) -> Loss:
        """The most that a step moves which changes these attributes from cell x to cell y."""
        left = self.graph.at_most - cost
        alone = only_presence(self._rest)
        if left == 0:
            found = self.search(alone, self._those(here ^ there), self.given)
            return replace(found, witness=self._pair(found.witness, x, y))
        moving = replace(self._rest, at_most=left, absent=False)
        parts = [
            self.search(moving, self._those(here & there), self.given),
            self.search(alone, self._those(here & ~there), self.given),
            self.search(alone, self._those(there & ~here), self.given),
        ]
        telling = [part for part in parts if part.value]
        if len(telling) == 1:
            return replace(telling[0], witness=self._pair(telling[0].witness, x, y))
        return Loss(sum((part.value for part in parts), Fraction(0)), None, not telling)

    def _steps(self, state: Ints) -> Iterator[tuple[int, int, int]]:
        """Steps along these attributes, one of each kind that conditions tell apart: what they cost, and two cells."""
        factors = [f for f in self.graph.factors if set(f.names) & set(self.names)]
        first = factors[0].graph
        kinds: dict[tuple[int, int, int], tuple[int, int]] = {}

        def note(cost: Ints | int, x: Ints, y: Ints) -> None:
            size = int(state.max()) + 1
            number = (np.broadcast_to(cost, x.shape) * size + state[x]) * size + state[y]
            for place in np.unique(number, return_index=True)[1].tolist():
                key = int(np.broadcast_to(cost, x.shape)[place]), int(state[x[place]]), int(state[y[place]])
                kinds.setdefault(key, (int(x[place]), int(y[place])))

        if len(factors) == 1 and isinstance(first, Everything):
            ends = [np.flatnonzero(state == number)[:2] for number in range(int(state.max()) + 1)]
            cells = np.concatenate(ends)
            x, y = (cells[side] for side in np.triu_indices(len(cells), k=1))
            note(1, x, y)
        elif len(factors) == 1 and first.edge_count <= EDGE_LIMIT and factors[0].names == self.names:
            for x, y in first.edges():
                note(1, x, y)
        else:
            part = replace(self.graph.part(self.names), absent=False)
            x, y = part.edge_cells()
            moved = np.zeros(len(x), np.int64)
            for factor in factors:
                moved += np.logical_or.reduce([self._axis(name, x) != self._axis(name, y) for name in factor.names])
            note(moved, x, y)
        for (cost, _, _), (one, other) in kinds.items():
            yield cost, one, other

    def _axis(self, name: str, cells: Ints) -> Ints:
        shape = [self.graph.domain[other].size for other in self.names]
        return np.asarray(np.unravel_index(cells, shape)[self.names.index(name)])

    def _codes(self, cell: int) -> dict[str, int]:
        return {name: int(self._axis(name, np.array(cell))) for name in self.names}

    def _those(self, wanted: Bools) -> list[Weighted]:
        return [one for one, there in zip(self._inside, wanted, strict=True) if there]

    def _pair(self, found: tuple[Any, Any] | None, x: int, y: int) -> tuple[Any, Any] | None:
        """Two records that were found, at two cells of these attributes; somebody who is absent is not."""
        if found is None:
            return None
        ends = []
        for record, cell in ((found[0], x), (found[0] if found[1] is ABSENT else found[1], y)):
            codes = dict(zip(self.graph.domain.names, self.graph.domain.codes(record), strict=True))
            ends.append(self.graph.domain.value_of(tuple({**codes, **self.given, **self._codes(cell)}.values())))
        return ends[0], ends[1]


def worse(one: Loss, other: Loss) -> Loss:
    """The larger loss; of two that are alike, one that is known to be attained."""
    if other.value != one.value:
        return max(one, other, key=lambda loss: loss.value)
    return other if other.exact > one.exact or one.witness is None else one


def _public(graph: SecretGraph, name: str) -> bool:
    return isinstance(graph.factor_of(name).graph, Public)


def inner_of(query: LinearQuery) -> Any:
    """What a query adds up, whoever it is about."""
    return query.contribution.inner if isinstance(query.contribution, Among) else query.contribution


def _own(query: LinearQuery) -> set[str]:
    """The attributes that a query looks at apart from its condition."""
    return {*inner_of(query).names, *(split.name for split in query.by)}


def _others(query: LinearQuery) -> list[str]:
    """The attributes that its condition alone looks at."""
    part = query.contribution
    return [name for name in part.held if name not in _own(query)] if isinstance(part, Among) else []


def is_product(query: LinearQuery, others: Sequence[str]) -> bool:
    """Whether its condition is one on some attributes, and one on the rest."""
    part = query.contribution
    if not isinstance(part, Among):
        return True
    rest = tuple(axis for axis, name in enumerate(part.held) if name in others)
    mine = tuple(axis for axis in range(len(part.held)) if axis not in rest)
    apart = part.table.any(axis=mine, keepdims=True) & part.table.any(axis=rest, keepdims=True)
    return bool(np.array_equal(apart, part.table))


def _without(query: LinearQuery) -> LinearQuery:
    """A query without what its condition says of attributes that it alone looks at."""
    part = query.contribution
    if not isinstance(part, Among) or not _others(query):
        return query
    kept = part.about(part.inner, [name for name in part.names if name in _own(query)])
    assert kept is not None
    return LinearQuery(kept, query.by)
