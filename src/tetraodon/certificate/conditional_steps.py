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
from itertools import chain
from typing import Any, TypeAlias

import numpy as np

from tetraodon.certificate.axis import EDGE_LIMIT, Term, weighted
from tetraodon.certificate.edge_loss import Loss, Weighted
from tetraodon.certificate.product_bounds import FEW_CELLS, only
from tetraodon.domain import Domain
from tetraodon.errors import Refused
from tetraodon.exact.arrays import Bools, Ints
from tetraodon.exact.effort import spend
from tetraodon.policy.attribute_graph import Blocks, Everything, Public, Within, WithinOrMissing, induced
from tetraodon.policy.joint_graph import JointMetric, Regions
from tetraodon.policy.secret_graph import ABSENT, MATRIX_LIMIT, Factor, FactorGraph, SecretGraph
from tetraodon.query.contribution import Among, Contribution, among_all
from tetraodon.query.linear import LinearQuery, Split
from tetraodon.query.records_where import Kept, left_of

# -- steps of conditions ----------------------------------------------------------------------------
# A step inside a part moves a query about it as if it were about everybody; a step out of the part moves all that the
# record adds; a step elsewhere moves nothing. So two parts that no secret joins do not add up ([HMD14] Thm 4.2), and of
# two parts that a secret joins, a step between them moves what one record adds to each.
#
# Factors by which conditions tell what their queries do not add up are looked at apart from the rest: a public one
# first, by the values that no condition tells apart, then all others together, step by step. What such a step moves is
# a sum: what queries about these factors move, which its two ends say; and what the rest of the record adds to queries
# that it leaves, enters, moves within or stays in. Steps that are alike in the latter are looked at together.

NOTHING = Loss(Fraction(0), None, True)
Search: TypeAlias = Callable[[SecretGraph, Sequence[Weighted], Mapping[str, int]], Loss]
"""The worst edge of a graph for weighted queries, all records having some codes."""
MANY = 1 << 20
"""Steps that are looked at together, and cells of several factors."""
KEPT = 4096
"""Cells of which every pair is looked at."""


def about_parts(queries: Sequence[Weighted]) -> bool:
    """Whether some query is about a part of the records."""
    return any(isinstance(query.contribution, Among) for query, _ in queries)


def inner_of(query: LinearQuery) -> Any:
    """What a query adds up, whoever it is about."""
    return query.contribution.inner if isinstance(query.contribution, Among) else query.contribution


def worse(one: Loss, other: Loss) -> Loss:
    """The larger loss; of two that are alike, one that is known to be attained."""
    if other.value != one.value:
        return max(one, other, key=lambda loss: loss.value)
    return other if other.exact > one.exact or one.witness is None else one


def by_conditions(
    graph: SecretGraph,
    queries: Sequence[Weighted],
    given: Mapping[str, int],
    search: Search,
    direct: Search,
    *,
    squares: bool,
) -> Loss:
    """The worst edge, by what conditions look at. `direct` looks at steps whatever the conditions are, as far as it
    can; `search` is the whole search, for queries with fewer conditions.
    """
    gates = {query: found for query, _ in queries if (found := _gates(graph, query))}
    if not gates:
        return direct(graph, queries, given)
    every = {name for found in gates.values() for name in found}
    added = {name for query, _ in queries for name in inner_of(query).names}
    public = [name for name in graph.domain.names if name in every and _public(graph, name)]
    factors = [factor for factor in graph.factors if every & {*factor.names}]
    if public:  # those that are not added up first
        factors = [graph.factor_of(min(public, key=lambda name: name in added))]
    steps = _Steps(graph, tuple(factors), tuple(queries), given, search, squares)
    bound = steps.worst() if steps.able else None
    if bound is not None and bound.exact:
        return bound
    if graph.part({name for query, _ in queries for name in query.names}).domain.size <= MATRIX_LIMIT:
        return direct(graph, queries, given)
    if bound is not None:
        return bound
    plain, tied = ([one for one in queries if (one[0] in gates) is there] for there in (False, True))
    together = plain and _Steps(graph, tuple(factors), tuple(tied), given, search, squares).able
    groups = [group for group in (plain, *([tied] if together else [[one] for one in tied])) if group]
    if len(groups) == 1:
        raise Refused(
            "a condition ties attributes that are asked about to others that are a secret, and has too many values",
            fix="write a condition on one attribute, or join such conditions by `and`; or use coarser attributes",
        )
    return added_up([by_conditions(graph, group, given, search, direct, squares=squares) for group in groups])


def added_up(parts: Sequence[Loss]) -> Loss:
    """A bound: the most that some queries move, and the most that others move, whatever step it is."""
    return Loss(sum((one.value for one in parts), Fraction(0)), None, False, "over edges, for each part by itself")


def _public(graph: SecretGraph, name: str) -> bool:
    return isinstance(graph.factor_of(name).graph, Public)


def _gates(graph: SecretGraph, query: LinearQuery) -> list[str]:
    """The attributes that a query's condition looks at, and nothing else of the query that a step might move."""
    part = query.contribution
    if not isinstance(part, Among):
        return []
    apart = graph.at_most == 1 and part.inner.names  # a step along a split leaves what is added up as it is
    split = {one.name for one in query.by if not apart and not _public(graph, one.name)}
    return [name for name in part.held if name not in part.inner.names and name not in split]


@dataclass(frozen=True, eq=False)
class _Slices:
    """The number of a contribution in each cell of some factors, these contributions, and for conditions that tell
    several apart their tables over other attributes. Number 0 is none."""

    number: Ints
    left: tuple[Contribution | None, ...]
    held: tuple[str, ...] = ()
    tables: tuple[Bools, ...] = ()


@dataclass(frozen=True)
class _Steps:
    """Steps along some factors, and what is the same for all values of them that no condition tells apart."""

    graph: SecretGraph
    factors: tuple[Factor, ...]
    queries: tuple[Weighted, ...]
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

    @property
    def _cells(self) -> int:
        return math.prod(self.graph.domain[name].size for name in self._names)

    @property
    def _public(self) -> bool:
        return isinstance(self.factors[0].graph, Public)

    @cached_property
    def own(self) -> list[Weighted]:
        """Queries that add up what these factors say."""
        return [one for one in self.queries if {*inner_of(one[0]).names} & {*self._names}]

    @cached_property
    def rest(self) -> list[Weighted]:
        return [one for one in self.queries if one not in self.own]

    @property
    def _names(self) -> list[str]:
        return [name for factor in self.factors for name in factor.names]

    @property
    def able(self) -> bool:
        """Whether what a step moves is such a sum, and steps are few enough.

        Why   where other factors may change too, they must not be tied to these otherwise.
        """
        if self._public:
            return True
        names, several = {*self._names}, self.graph.at_most > 1
        if several and (self.own or any(self._splits(query) for query, _ in self.rest)):
            return False
        if any(not {*query.contribution.names} <= names for query, _ in self.own):
            return False
        if several and (self._cells > MANY or any(len(one.left) > 2 for one in self._slices)):
            return False
        return len(self._kept) <= KEPT or (len(self.factors) == 1 and self.factors[0].graph.edge_count <= EDGE_LIMIT)

    @cached_property
    def _states(self) -> tuple[Ints, Ints]:
        """What queries of `rest` are in each kind of cell, and the kind of each cell."""
        none = np.zeros(self._cells, np.int64)  # so that there is a column
        holds = np.stack([none, *(one.number for one in self._slices)], axis=1)
        states, state = np.unique(holds, axis=0, return_inverse=True)
        return states, state.ravel()

    @cached_property
    def _kept(self) -> Ints:
        """Cells between which there are steps of every kind."""
        kept = np.ones(self._cells, np.bool_)
        for factor in self.factors if not self.own else ():
            vertex, size = self._vertex(factor), factor.graph.size
            order = np.argsort(vertex, kind="stable").reshape(size, -1)
            splits = {split for query, _ in self.rest for split in query.by if split.name in factor.names}
            told = [  # a step of one attribute crosses any split by its values
                split.of(self._codes[split.name][order[:, 0]])
                for split in splits
                if split.bins or split.ends or len(factor.names) > 1
            ]
            rows = np.stack([*self._states[1][order].T, *told], axis=1)
            kinds = np.unique(rows, axis=0, return_inverse=True)[1].ravel()
            kept &= _telling(factor.graph, kinds)[vertex]
        return np.flatnonzero(kept)

    def _vertex(self, factor: Factor) -> Ints:
        """The value of a factor in each cell."""
        shape = self.graph.domain.project(factor.names).shape
        return np.asarray(np.ravel_multi_index([self._codes[name] for name in factor.names], shape))

    @cached_property
    def _still(self) -> SecretGraph:
        """The same secrets, but for these factors."""
        if self._public:
            return self.graph
        still = [Factor((name,), Public(self.graph.domain[name].size)) for name in self._names]
        return replace(self.graph, factors=(*(f for f in self.graph.factors if f not in self.factors), *still))

    @cached_property
    def _common(self) -> int:
        return math.lcm(*(weight.denominator for _, weight in self.own))

    @cached_property
    def _slices(self) -> list[_Slices]:
        """For each query of `rest`, what it is to the rest of a record in each cell."""
        return [self._sliced(query.contribution) for query, _ in self.rest]

    def _sliced(self, part: Contribution) -> _Slices:
        inside = [name for name in part.held if name in self._codes] if isinstance(part, Among) else []
        if not isinstance(part, Among) or not inside:
            return _Slices(np.ones(self._cells, np.int64), (None, part))
        table = np.moveaxis(part.table, [part.held.index(name) for name in inside], range(len(inside)))
        held, shape = tuple(n for n in part.held if n not in inside), table.shape[len(inside) :]
        rows = table.reshape(-1, math.prod(shape))
        bits = np.ascontiguousarray(np.packbits(rows, axis=1))  # rows are compared as bytes, not field by field
        _, first, kind = np.unique(bits.view(f"V{bits.shape[1]}").ravel(), return_index=True, return_inverse=True)
        some = rows[first].any(axis=1)
        tables = (np.zeros(shape, np.bool_), *(rows[at].reshape(shape) for at in first[some].tolist()))
        number = np.where(some, np.cumsum(some), 0)[kind.ravel()]
        cell = np.ravel_multi_index([self._codes[name] for name in inside], table.shape[: len(inside)])
        return _Slices(number[cell], tuple(part.under(held, one) for one in tables), held, tables)

    def worst(self) -> Loss:
        best = NOTHING
        states, state = self._states
        if self._still.has_edges:  # nothing of these factors changes
            for number, here in enumerate(states.tolist()):
                best = worse(best, self._unchanged(here[1:], state == number))
        found: dict[tuple[int, ...], tuple[int, int, int]] = {}
        for cost, x, y in self._edges():
            spend(len(x) * (2 + len(self.own) + 2 * len(self.rest)))
            moved = self._moved(x, y)
            crossed = [self._crossed(query, x, y) for query, _ in self.rest]
            tops = _tops(len(states) * state[x] + state[y], crossed, moved)
            rows = self._kinds(cost, states[state[x[tops]]], states[state[y[tops]]], [one[tops] for one in crossed])
            for row, top in zip(rows.tolist(), tops.tolist(), strict=True):
                key = cost, *row
                if key not in found or int(moved[top]) > found[key][0]:
                    found[key] = int(moved[top]), int(x[top]), int(y[top])
        for (cost, *row), (value, a, b) in found.items():
            best = worse(best, self._changed(cost, row, Fraction(value, self._common), a, b))
        return best if best.value else NOTHING

    def _unchanged(self, here: Sequence[int], there: Bools) -> Loss:
        """The worst edge along the other factors, for records in some cells of these."""
        rest = [one for place, number in enumerate(here) for one in self._left(place, number)]
        at, shape = self._at(int(np.argmax(there))), [self.graph.domain[name].size for name in self._codes]
        own = []
        for query, weight in self.own:
            part = query.contribution
            part = part if isinstance(part, Among) else among_all(part, self.graph.domain.project(part.names).shape)
            if (left := part.also(list(self._codes), there.reshape(shape))) is not None:
                own.append((LinearQuery(left, self._by(query)), weight))
        found = self.search(self._still, [*rest, *own], self.given if own else {**self.given, **at})
        if found.witness is None or not own:
            return found
        first, second = (end if end is ABSENT else self._inside(end, there, at) for end in found.witness)
        return replace(found, witness=(first, second))

    def _inside(self, record: Any, there: Bools, at: Mapping[str, int]) -> Any:
        """A record with values in some cells: as it is, or with the first of them."""
        domain = self.graph.domain
        codes = dict(zip(domain.names, domain.codes(record), strict=True))
        shape = [domain[name].size for name in self._codes]
        inside = there[np.ravel_multi_index([codes[name] for name in self._codes], shape)]
        return record if inside else domain.value_of(tuple({**codes, **at}.values()))

    def _edges(self) -> Iterator[tuple[int, Ints, Ints]]:
        """Steps along these factors by how many they change, in pieces; enough of them for every kind."""
        if self._public:
            return
        many = len(self._kept)
        if many > KEPT or (len(self.factors) == 1 and self.factors[0].graph.edge_count <= math.comb(many, 2)):
            waiting: list[tuple[Ints, Ints]] = []
            for edges in chain(self.factors[0].graph.edges(), [None]):
                waiting += [edges] if edges else []
                if waiting and (edges is None or sum(len(x) for x, _ in waiting) > MANY):
                    yield 1, np.concatenate([x for x, _ in waiting]), np.concatenate([y for _, y in waiting])
                    waiting = []
            return
        x, y = (self._kept[side] for side in np.triu_indices(len(self._kept), k=1))
        cost, good = np.zeros(len(x), np.int64), np.ones(len(x), np.bool_)
        for factor in self.factors:
            first, second = (self._vertex(factor)[cells] for cells in (x, y))
            cost += first != second
            good &= (first == second) | factor.graph.adjacent(first, second)
        for changed in range(1, self.graph.at_most + 1):
            there = good & (cost == changed)
            if there.any():
                yield changed, x[there], y[there]

    def _splits(self, query: LinearQuery) -> list[Split]:
        return [split for split in query.by if split.name in self._names]

    def _by(self, query: LinearQuery) -> tuple[Split, ...]:
        return tuple(split for split in query.by if split.name not in self._names)

    def _crossed(self, query: LinearQuery, x: Ints, y: Ints) -> Bools:
        crossed = np.zeros(len(x), np.bool_)
        for split in self._splits(query):
            codes = self._codes[split.name]
            crossed |= split.of(codes[x]) != split.of(codes[y])
        return crossed

    def _kinds(self, cost: int, here: Ints, there: Ints, crosses: Sequence[Bools]) -> Ints:
        """For each query of `rest`, what it is before a step and after it, and whether the step crosses its splits."""
        crossed = np.stack([np.zeros(len(here), np.bool_), *crosses], axis=1)
        if cost == self.graph.at_most:  # the rest of the record is the same, before and after
            here, there = np.minimum(here, there), np.maximum(here, there)
            same = (here == there) & ~crossed
            here, there = np.where(same, 0, here), np.where(same, 0, there)
        return np.concatenate([here, there, crossed & (here > 0) & (there > 0)], axis=1)

    def _moved(self, x: Ints, y: Ints) -> Ints:
        """What the queries of `own` move, in whole numbers."""
        terms, arrays = [], []
        for number, (query, weight) in enumerate(self.own):
            kind = query.contribution
            shape = self.graph.domain.project(kind.names).shape
            cells = np.asarray(np.ravel_multi_index([self._codes[name] for name in kind.names], shape))
            term = Term(number, kind, int(weight * self._common), 2 if self.squares else 1)
            ends = term.alone(cells[x]) + term.alone(cells[y])
            terms.append(term)
            arrays.append(np.where(self._crossed(query, x, y), ends, term.apart(cells[x], cells[y])))
        return weighted(terms, arrays, len(x))

    def _changed(self, cost: int, row: Sequence[int], value: Fraction, x: int, y: int) -> Loss:
        """The most that a step from cell x to cell y moves, with what the rest of the record adds, and moves by."""
        alone, many = only(self._still), len(row) // 3
        kinds = list(zip(range(-1, many), row[:many], row[many : 2 * many], row[2 * many :], strict=False))[1:]
        if cost == self.graph.at_most:
            asked = [one for kind in kinds for one in self._lost(*kind)]
            found = self.search(alone, asked, self.given) if asked else NOTHING
            pair = self._pair(found.witness, x, y) if found.witness or not found.value else None
            return Loss(value + found.value, pair, found.exact)
        moving = replace(self._still, at_most=self.graph.at_most - cost, absent=False)
        stays = [one for n, here, there, _ in kinds if here == there for one in self._left(n, here)]
        ends = [
            [one for kind in kinds if kind[1] != kind[2] for one in self._left(kind[0], kind[end])] for end in (1, 2)
        ]
        parts = [self.search(moving, stays, self.given), *(self.search(alone, end, self.given) for end in ends)]
        telling = [part for part in parts if part.value]
        if len(telling) > 1:
            return added_up(telling)
        [found] = telling or [NOTHING]
        return replace(found, witness=found.witness and self._pair(found.witness, x, y))

    def _left(self, place: int, number: int) -> list[Weighted]:
        """A query of `rest` as the rest of a record sees it; none where its condition does not hold."""
        query, weight = self.rest[place]
        left = self._slices[place].left[number]
        return [] if left is None else [(LinearQuery(left, self._by(query)), weight)]

    def _lost(self, place: int, here: int, there: int, crossed: int) -> list[Weighted]:
        """What moves of a query of `rest` where the rest of the record stays as it is."""
        left = self._left(place, here) + self._left(place, there)
        if crossed or len(left) < 2:
            return left
        query, weight = self.rest[place]
        slices, part = self._slices[place], query.contribution
        assert isinstance(part, Among)
        differ = part.under(slices.held, slices.tables[here] ^ slices.tables[there])
        return [] if differ is None else [(LinearQuery(differ, self._by(query)), weight)]

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


def _telling(graph: FactorGraph, kinds: Ints) -> Bools:
    """Vertices of which some are joined wherever any two of their kinds are, or two of one kind.

    Why   of a block any two are joined; the nearest of two runs of a line are their ends, and in one run the last two.
    """
    kept = np.zeros(len(kinds), np.bool_)
    match graph:
        case Everything() | Blocks() | Regions():
            order = np.lexsort([kinds, graph.components()])
            same = np.stack([kinds, graph.components()])[:, order]
            new = np.ones(len(order), np.bool_)
            new[1:] = (same[:, 1:] != same[:, :-1]).any(axis=0)
            kept[order[new]] = kept[order[np.append(False, new[:-1])]] = True  # the first two of each
        case Within() | WithinOrMissing():
            last = np.append(kinds[1:] != kinds[:-1], True)
            for moved in (last, np.append(last[1:], False), np.append(True, last[:-1])):
                kept |= moved
            kept[-2:] = True
        case _:
            kept[:] = True
    return kept


def _tops(label: Ints, crossed: Sequence[Bools], moved: Ints) -> Ints:
    """Of steps that are alike, one that moves the most."""
    for one in crossed:
        label = 2 * label + one
        if int(label.max(initial=0)) >= MANY:
            label = np.unique(label, return_inverse=True)[1].ravel()
    best = np.full(int(label.max(initial=-1)) + 1, -1)
    order = np.argsort(moved, kind="stable") if moved.any() else np.arange(len(label))[::-1]
    best[label[order]] = order
    return best[best >= 0]


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
    if any(len(graph.factor_of(name).names) > 1 for name in first.held):  # not to be left alone
        return None
    factors = tuple(_there(factor, ranges) for factor in graph.factors)
    if not all(_begins(query, ranges) for query, _ in queries):
        return None
    domain = Domain(tuple(left_of(a, Kept(*ranges[a.name])) if a.name in ranges else a for a in graph.domain))
    leaves = any(_can_leave(graph.factor_of(name), able[name]) for name in first.held)
    there = SecretGraph(domain, factors, graph.at_most, absent=graph.absent or leaves)
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


def _there(factor: Factor, ranges: Mapping[str, tuple[int, int]]) -> Factor:
    """The secrets of a factor among codes of a range."""
    if factor.names[0] not in ranges:
        return factor
    low, high = ranges[factor.names[0]]
    assert not isinstance(factor.graph, Regions | JointMetric)
    return Factor(factor.names, induced(factor.graph, np.arange(low, high + 1)))


def _can_leave(factor: Factor, able: Bools) -> bool:
    """Whether a step along an attribute may lead out of a part; said to where nobody looks closer."""
    match factor.graph:
        case Public():
            return False
        case Blocks(blocks):
            return bool(set(np.asarray(blocks)[able].tolist()) & set(np.asarray(blocks)[~able].tolist()))
        case _:
            return True
