"""Maximum loss over edges where queries count only the records that satisfy a condition.

To such queries everybody else is the same as somebody who is absent: nothing is added. So the worst edge is that among
these records, where leaving an answer out, or no longer satisfying a condition, is leaving.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import chain
from typing import Any, TypeAlias

import numpy as np

from tetraodon.certificate.axis import EDGE_LIMIT, Term, weighted
from tetraodon.certificate.edge_loss import Loss, Weighted
from tetraodon.certificate.product_bounds import FEW_CELLS, only_presence
from tetraodon.domain import Domain
from tetraodon.errors import Refused
from tetraodon.exact.arrays import Bools, Ints
from tetraodon.exact.effort import spend
from tetraodon.policy.attribute_graph import Blocks, Everything, Public, Within, WithinOrMissing
from tetraodon.policy.secret_graph import ABSENT, MATRIX_LIMIT, Factor, SecretGraph
from tetraodon.query.contribution import Among
from tetraodon.query.linear import LinearQuery, Split
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
    graph: SecretGraph, queries: Sequence[Weighted], given: Mapping[str, int], search: Search, *, squares: bool
) -> Loss:
    """The worst edge where the attributes of all conditions may change.

    `search` looks at queries that are about all records, or about values of their own attributes.
    """
    if not any(_others(query) for query, _ in queries):
        return search(graph, queries, given)
    factors = _apart(graph, queries)
    bound = _Steps(graph, factors, (), tuple(queries), given, search, squares).worst() if factors else None
    if bound is not None and bound.exact:
        return bound
    if graph.part({name for query, _ in queries for name in query.names}).domain.size <= MATRIX_LIMIT:
        return search(graph, queries, given)
    if bound is not None:
        return bound
    # a bound: the most that some move, and the most that others move, whatever step it is
    plain, tied = ([one for one in queries if bool(_others(one[0])) == others] for others in (False, True))
    together = plain and _apart(graph, tied)
    groups = [group for group in (plain, *([tied] if together else [[one] for one in tied])) if group]
    if len(groups) == 1:
        raise Refused(
            "a condition ties attributes that are asked about to others that are a secret, and has too many values",
            fix="write a condition on one attribute, or join such conditions by `and`; or use coarser attributes",
        )
    found = [over_steps_of_conditions(graph, group, given, search, squares=squares) for group in groups]
    return Loss(sum((one.value for one in found), Fraction(0)), None, False, "over edges, for each part by itself")


def _apart(graph: SecretGraph, queries: Sequence[Weighted]) -> tuple[Factor, ...]:
    """The factors of attributes that conditions alone look at; none where these cannot be looked at apart from others:
    conditions must be `own and other`, and no query may look at such a factor otherwise.
    """
    others = {name for query, _ in queries for name in _others(query)}
    factors = tuple(factor for factor in graph.factors if others & set(factor.names))
    own = {name for query, _ in queries for name in _own(query)}
    free = own.isdisjoint(name for factor in factors for name in factor.names)
    return factors if free and all(is_product(query, _others(query)) for query, _ in queries) else ()


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


# -- steps along some factors -----------------------------------------------------------------------
# What a step along some factors moves is a sum of two kinds: what queries about these factors move, which the two ends
# of the step say; and what the rest of the record adds to queries that it leaves, enters, moves within or stays in,
# because a condition or a split looks at the factors. Steps that are alike in the latter are looked at together.

MANY = 1 << 20
"""Steps that are looked at together."""
NEITHER, STAYS, LEAVES, ENTERS, CROSSES = range(5)
"""What a step does to the place of a record in a query."""


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
    rest = [one for one in asked if inner_of(one[0]).names and inside.isdisjoint(inner_of(one[0]).names)]
    gated = [one for one in rest if isinstance(one[0].contribution, Among)]
    if not gated:
        return search(graph, asked, given)
    own = [one for one in asked if one not in rest]
    tied = [query for query, _ in own if inside & set(inner_of(query).names) and set(inner_of(query).names) - inside]
    if not tied and factor.graph.edge_count <= EDGE_LIMIT and all(is_product(q, factor.names) for q, _ in gated):
        return _Steps(graph, (factor,), tuple(own), tuple(rest), given, search, squares).worst()
    if graph.part({name for query, _ in asked for name in query.names}).domain.size <= MATRIX_LIMIT:
        return search(graph, asked, given)
    own = [one for one in asked if one not in gated]
    first = search(graph, own, given) if own else NOTHING
    twice = [1 + any(split.name in factor.names for split in query.by) for query, _ in gated]
    added = [(_outside(query, inside), weight * times) for (query, weight), times in zip(gated, twice, strict=True)]
    beside = search(only_presence(graph), added, given)
    return Loss(first.value + beside.value, None, False, "over edges, for each part by itself")


def _outside(query: LinearQuery, inside: Collection[str]) -> LinearQuery:
    """A query as the rest of a record sees it, wherever its condition may hold."""
    by, part = tuple(split for split in query.by if split.name not in inside), query.contribution
    if isinstance(part, Among):
        left = part.about(part.inner, [name for name in part.names if name not in inside])
        assert left is not None
        part = left
    return LinearQuery(part, by)


@dataclass(frozen=True)
class _Steps:
    """Steps along some factors: `own` are queries about their attributes, `rest` those of which they say a part."""

    graph: SecretGraph
    factors: tuple[Factor, ...]
    own: tuple[Weighted, ...]
    rest: tuple[Weighted, ...]
    given: Mapping[str, int]
    search: Search
    squares: bool

    @cached_property
    def _codes(self) -> dict[str, Ints]:
        """The codes of the factors' attributes in each of their cells."""
        names = self.factors[0].names
        if len(self.factors) > 1:
            names = tuple(sorted((n for f in self.factors for n in f.names), key=self.graph.domain.position))
        shape = self.graph.domain.project(names).shape
        return dict(zip(names, np.unravel_index(np.arange(math.prod(shape)), shape), strict=True))

    @cached_property
    def _still(self) -> SecretGraph:
        """The same secrets, but for these factors."""
        still = [Factor((name,), Public(self.graph.domain[name].size)) for name in self._codes]
        return replace(self.graph, factors=(*(f for f in self.graph.factors if f not in self.factors), *still))

    @cached_property
    def _outside(self) -> list[Weighted]:
        return [(_outside(query, self._codes), weight) for query, weight in self.rest]

    @cached_property
    def _common(self) -> int:
        return math.lcm(*(weight.denominator for _, weight in self.own))

    @cached_property
    def _holds(self) -> Bools:
        """For every cell, whether it lets the conditions of `rest` hold."""
        columns = []
        for query, _ in self.rest:
            part, codes = query.contribution, self._codes
            there: Any = np.ones(len(next(iter(codes.values()))), np.bool_)
            if isinstance(part, Among):
                outside = tuple(axis for axis, name in enumerate(part.held) if name not in codes)
                table = np.asarray(part.table.any(axis=outside))
                there = there & table[tuple(codes[name] for name in part.held if name in codes)]
            columns.append(there)
        return np.stack(columns, axis=1)

    def worst(self) -> Loss:
        best = NOTHING
        states, state = np.unique(self._holds, axis=0, return_inverse=True)
        state = state.ravel()
        if self._still.has_edges:  # nothing of these factors changes
            for number, here in enumerate(states):
                fixed = {**self.given, **self._at(int(np.argmax(state == number)))}
                best = worse(best, self.search(self._still, self._those(here), fixed))
        found: dict[tuple[int, ...], tuple[int, int, int]] = {}
        for cost, x, y in self._edges(state):
            spend(len(x) * (2 + len(self.own) + 2 * len(self.rest)))
            kinds, kind = np.unique(self._kinds(cost, x, y), axis=0, return_inverse=True)
            moved = self._moved(x, y)
            for number, row in enumerate(kinds):
                there = np.flatnonzero(kind.ravel() == number)
                top = int(there[np.argmax(moved[there])])
                key = cost, *row.tolist()
                if key not in found or int(moved[top]) > found[key][0]:
                    found[key] = int(moved[top]), int(x[top]), int(y[top])
        for (cost, *row), (value, a, b) in found.items():
            best = worse(best, self._beside(cost, np.array(row), Fraction(value, self._common), a, b))
        return best if best.value else NOTHING

    def _edges(self, state: Ints) -> Iterator[tuple[int, Ints, Ints]]:
        """Steps along these factors by how many they change, in pieces; enough of them for every kind."""
        first, alone = self.factors[0].graph, len(self.factors) == 1
        if alone and isinstance(first, Everything) and not self.own and not any(self._splits(q) for q, _ in self.rest):
            cells = np.concatenate([np.flatnonzero(state == number)[:2] for number in range(int(state.max()) + 1)])
            x, y = (cells[side] for side in np.triu_indices(len(cells), k=1))
            yield 1, x, y
        elif alone and first.edge_count <= EDGE_LIMIT:
            waiting: list[tuple[Ints, Ints]] = []
            for edges in chain(first.edges(), [None]):
                waiting += [edges] if edges else []
                if waiting and (edges is None or sum(len(x) for x, _ in waiting) > MANY):
                    yield 1, np.concatenate([x for x, _ in waiting]), np.concatenate([y for _, y in waiting])
                    waiting = []
        else:
            x, y = replace(self.graph.part(self._codes), absent=False).edge_cells()
            cost = np.zeros(len(x), np.int64)
            for factor in self.factors:
                cost += np.logical_or.reduce([self._codes[n][x] != self._codes[n][y] for n in factor.names])
            for changed in np.unique(cost).tolist():
                yield changed, x[cost == changed], y[cost == changed]

    def _splits(self, query: LinearQuery) -> list[Split]:
        return [split for split in query.by if split.name in self._codes]

    def _crossed(self, query: LinearQuery, x: Ints, y: Ints) -> Bools:
        crossed = np.zeros(len(x), np.bool_)
        for split in self._splits(query):
            codes = self._codes[split.name]
            crossed |= split.of(codes[x]) != split.of(codes[y])
        return crossed

    def _kinds(self, cost: int, x: Ints, y: Ints) -> Ints:
        """What each step does to the place of a record in each query of `rest`."""
        here, there = self._holds[x], self._holds[y]
        crossed = np.stack([self._crossed(query, x, y) for query, _ in self.rest], axis=1)
        kinds = np.where(here & there, np.where(crossed, CROSSES, STAYS), here * LEAVES + there * ENTERS)
        if cost == self.graph.at_most:  # the rest of the record is the same, before and after
            kinds = np.choose(kinds, [NEITHER, NEITHER, LEAVES, LEAVES, CROSSES])
        return kinds

    def _moved(self, x: Ints, y: Ints) -> Ints:
        """What the queries of `own` move, in whole numbers."""
        terms, arrays = [], []
        for number, (query, weight) in enumerate(self.own):
            kind = query.contribution
            cells = np.zeros(len(next(iter(self._codes.values()))), np.int64)
            if kind.names:
                shape = self.graph.domain.project(kind.names).shape
                cells = np.asarray(np.ravel_multi_index([self._codes[name] for name in kind.names], shape))
            term = Term(number, kind, int(weight * self._common), 2 if self.squares else 1)
            ends = term.alone(cells[x]) + term.alone(cells[y])
            terms.append(term)
            arrays.append(np.where(self._crossed(query, x, y), ends, term.apart(cells[x], cells[y])))
        return weighted(terms, arrays, len(x))

    def _beside(self, cost: int, kinds: Ints, value: Fraction, x: int, y: int) -> Loss:
        """The most that a step from cell x to cell y moves, with what the rest of the record adds, and moves by."""
        alone = only_presence(self._still)
        if cost == self.graph.at_most:
            times = (kinds == LEAVES) + 2 * (kinds == CROSSES)
            asked = [(query, weight * int(n)) for (query, weight), n in zip(self._outside, times, strict=True) if n]
            found = self.search(alone, asked, self.given) if asked else NOTHING
            pair = self._pair(found.witness, x, y) if found.witness or not found.value else None
            return Loss(value + found.value, pair, found.exact)
        moving = replace(self._still, at_most=self.graph.at_most - cost, absent=False)
        ends = [self._those((kinds == end) | (kinds == CROSSES)) for end in (LEAVES, ENTERS)]
        parts = [self.search(moving, self._those(kinds == STAYS), self.given)]
        parts += [self.search(alone, end, self.given) for end in ends]
        telling = [part for part in parts if part.value]
        if len(telling) == 1:
            pair = telling[0].witness and self._pair(telling[0].witness, x, y)
            return replace(telling[0], witness=pair)
        return Loss(sum((part.value for part in parts), Fraction(0)), None, not telling)

    def _those(self, wanted: Bools) -> list[Weighted]:
        return [one for one, there in zip(self._outside, wanted, strict=True) if there]

    def _at(self, cell: int) -> dict[str, int]:
        return {name: int(codes[cell]) for name, codes in self._codes.items()}

    def _pair(self, found: tuple[Any, Any] | None, x: int, y: int) -> tuple[Any, Any]:
        """Two records that were found, at two cells of these factors; somebody who is absent is not."""
        domain, ends = self.graph.domain, []
        first, second = found or (domain.value_of((0,) * len(domain.names)), ABSENT)
        for record, cell in ((first, x), (first if second is ABSENT else second, y)):
            codes = dict(zip(domain.names, domain.codes(record), strict=True))
            ends.append(domain.value_of(tuple({**codes, **self.given, **self._at(cell)}.values())))
        return ends[0], ends[1]


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
