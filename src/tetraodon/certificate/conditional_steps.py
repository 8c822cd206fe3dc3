"""Maximum loss over edges where queries count only the records that satisfy a condition.

To such queries everybody else is the same as somebody who is absent: nothing is added. So the worst edge is that among
these records, where leaving an answer out, or no longer satisfying a condition, is leaving.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from tetraodon.certificate.axis import EDGE_LIMIT, Term, weighted
from tetraodon.certificate.edge_loss import Loss, Weighted
from tetraodon.certificate.product_bounds import FEW_CELLS, only_presence
from tetraodon.domain import Domain
from tetraodon.errors import Refused
from tetraodon.exact.arrays import Bools, Ints
from tetraodon.policy.attribute_graph import Blocks, Everything, Public, Within, WithinOrMissing
from tetraodon.policy.secret_graph import ABSENT, MATRIX_LIMIT, Factor, SecretGraph
from tetraodon.query.contribution import Among
from tetraodon.query.linear import LinearQuery
from tetraodon.query.records_where import Kept, left_of

# -- part steps -------------------------------------------------------------------------------------
# The worst edge where some queries are about a part of the records only: those for which a condition holds.
#
# A step inside a part moves a query about it as if it were about everybody; a step out of the part moves all that the
# record adds; a step elsewhere moves nothing. So two parts that no secret joins do not add up ([HMD14] Thm 4.2), and of
# two parts that a secret joins, a step between them moves what one record adds to each.
#
# * Attributes of conditions that no step changes are looked at value by value: each condition holds there or it does
#   not.
# * Of other attributes, those that nothing else looks at are looked at apart from the rest: which conditions a step
#   along them changes, and what the rest moves given that.
# * What is left over is looked at cell by cell.

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
    bits = np.ascontiguousarray(
        np.packbits(np.concatenate(rows, axis=1), axis=1)
    )  # rows are compared as bytes, not field by field
    kinds = np.unique(bits.view(f"V{bits.shape[1]}").ravel(), return_inverse=True)[1]
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


# -- single steps -----------------------------------------------------------------------------------
# The worst edge where queries are about parts of the records, and a step changes one factor: each by itself.
#
# While one factor changes, all others stay. So what a step moves is a sum of two kinds: what queries about the factor's
# own attributes move, which its two values say; and what a record adds to queries that it leaves, enters, or moves
# within, because a condition or a split looks at the factor. How often each of these counts is told by the two values
# too, and how much by the rest of the record.

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
                number, query.contribution.squares if self.squares else query.contribution, self._weights[0][number]
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


# -- answered part ----------------------------------------------------------------------------------

TRIED = 64
"""Values of an attribute with which somebody may have left that are tried, to find one that is a secret."""


@dataclass(frozen=True)
class AnsweredPart:
    """The same secrets and queries over the records of a part; `inside` says which codes they can have."""

    whole: SecretGraph
    graph: SecretGraph
    queries: tuple[Weighted, ...]
    inside: dict[str, Bools]

    def lifted(self, found: Loss) -> Loss:
        """The loss as one over all records: somebody who is absent has left the part, unless absence is a secret.

        Post  exact only if the two records that attain it are a secret.
        """
        if found.witness is None:
            return found
        ends = [record if record is ABSENT else self._within(record) for record in found.witness]
        if self.whole.absent or ABSENT not in ends:
            return replace(found, witness=(ends[0], ends[1]))
        there = next(record for record in ends if record is not ABSENT)
        pair = next((pair for pair in self._leaving(there) if self.whole.is_edge(*pair)), None)
        if pair is None:
            return replace(found, witness=None, exact=False)
        first, second = sorted(pair, key=self.whole.domain.codes)
        return replace(found, witness=(first, second))

    def _within(self, record: Any) -> Any:
        """A record that was found, as one of the part: attributes that nothing else looks at may have any value."""
        codes = list(self.whole.domain.codes(record))
        for name, able in self.inside.items():
            place = self.whole.domain.position(name)
            codes[place] = codes[place] if able[codes[place]] else int(np.argmax(able))
        return self.whole.domain.value_of(codes)

    def _leaving(self, record: Any) -> Iterator[tuple[Any, Any]]:
        """Records that add as much as this one, each with one like it that is not of the part."""
        domain = self.whole.domain
        added = {name for query, _ in self.queries for name in query.names}
        for name, able in self.inside.items():
            place, codes = domain.position(name), list(domain.codes(record))
            steps = [(codes[place], out) for out in np.flatnonzero(~able)[::-1][:TRIED].tolist()]  # missing is the last
            borders = np.flatnonzero(able[1:] != able[:-1])[:TRIED].tolist() if name not in added else []
            steps += [(low, low + 1) if able[low] else (low + 1, low) for low in borders]
            for ends in steps:
                here, there = ([*codes[:place], end, *codes[place + 1 :]] for end in ends)
                yield domain.value_of(here), domain.value_of(there)


def answered_part(graph: SecretGraph, queries: Sequence[Weighted]) -> AnsweredPart | None:
    """What queries are about if all are about the same records: those who answered what is added up, or have values
    of it between two ends; and for whom there may be conditions on attributes that nothing else looks at. Else None.

    Pre   nothing is known, and secrets are the same for everybody.
    """
    first = queries[0][0].contribution if queries else None
    if not isinstance(first, Among):
        return None
    inside: list[Weighted] = []
    looked_at = set[str]()
    for query, weight in queries:
        part = query.contribution
        if not isinstance(part, Among) or (part.held, part.truth) != (first.held, first.truth):
            return None
        if any(split.name in part.held for split in query.by):
            return None
        looked_at |= {*part.inner.names}
        inside.append((LinearQuery(part.inner, query.by), weight))
    able = _able(first)
    kept = {name: _range(able[name]) for name in first.held if name in looked_at} if able else None
    if able is None or kept is None or None in kept.values():
        return None
    ranges = {name: ends for name, ends in kept.items() if ends is not None}
    factors = [_there(factor, ranges) for factor in graph.factors]
    if any(factor is None for factor in factors) or not all(_begins(query, ranges) for query, _ in queries):
        return None
    domain = Domain(tuple(left_of(a, Kept(*ranges[a.name])) if a.name in ranges else a for a in graph.domain))
    leaves = any(_can_leave(graph.factor_of(name), able[name]) for name in first.held)
    there = SecretGraph(domain, tuple(f for f in factors if f), graph.at_most, absent=graph.absent or leaves)
    return AnsweredPart(graph, there, tuple(inside), able)


def by_answers(graph: SecretGraph, queries: Sequence[Weighted]) -> list[list[Weighted]]:
    """Queries about those who answered several questions, by which questions these are, and then all others.

    All are in one group where their attributes have so few values together that every edge can be looked at.
    Why   no step moves all groups more than the worst steps of each do.
    """
    groups: dict[Any, list[Weighted]] = {}
    for query, weight in queries:
        part, key = query.contribution, None
        if isinstance(part, Among) and len(part.held) > 1 and answered_part(graph, [(query, weight)]) is not None:
            key = part.held, part.truth
        groups.setdefault(key, []).append((query, weight))
    names = {name for key, group in groups.items() if key for query, _ in group for name in query.names}
    wide = bool(names) and graph.domain.project(sorted(names)).size > FEW_CELLS
    return list(groups.values()) if wide else [list(queries)]


def _able(part: Among) -> dict[str, Bools] | None:
    """The codes that records of a part can have of each attribute, where its condition is no more than these."""
    axes = range(len(part.held))
    able = [np.asarray(part.table.any(axis=tuple(other for other in axes if other != axis))) for axis in axes]
    if int(np.count_nonzero(part.table)) != int(np.prod([np.count_nonzero(one) for one in able])):
        return None
    return dict(zip(part.held, able, strict=True))


def _range(able: Bools) -> tuple[int, int] | None:
    """The first and the last code, where all between them are able."""
    codes = np.flatnonzero(able).tolist()
    return (codes[0], codes[-1]) if codes[-1] - codes[0] + 1 == len(codes) else None


def _begins(query: LinearQuery, ranges: Mapping[str, tuple[int, int]]) -> bool:
    """Whether what a query adds up is about just these codes."""
    part = query.contribution
    assert isinstance(part, Among)
    own = zip(part.inner.names, part.first, part.within, strict=True)
    return all((first, first + size - 1) == ranges.get(name, (0, size - 1)) for name, first, size in own)


def _there(factor: Factor, ranges: Mapping[str, tuple[int, int]]) -> Factor | None:
    """The secrets of a factor among codes of a range; None where nobody says."""
    if not set(factor.names) & set(ranges):
        return factor
    if len(factor.names) > 1:
        return None
    low, high = ranges[factor.names[0]]
    size, there = high - low + 1, factor.graph
    match there:
        case Everything():
            there = Everything(size)
        case Public():
            there = Public(size)
        case Within(reach=reach):
            there = Within(size, reach)
        case WithinOrMissing(size=whole, reach=reach) if high < whole - 1:
            there = Within(size, reach)
        case Blocks(blocks):
            there = Blocks(blocks[low : high + 1])
        case _:
            return None
    return Factor(factor.names, there)


def _can_leave(factor: Factor, able: Bools) -> bool:
    """Whether a step along an attribute may lead out of a part; said to where nobody looks closer."""
    match factor.graph:
        case Public():
            return False
        case Blocks(blocks):
            return bool(set(np.asarray(blocks)[able].tolist()) & set(np.asarray(blocks)[~able].tolist()))
        case _:
            return True
