"""Known counts over more cells than can be listed, known inequalities, and sums of squares.

Let no answer of a query move by more than h. Then the squares of its moves are at most h times the moves themselves,
and as much where every answer moves by h or not at all. So the squares are bounded by an L1 push in which each query
weighs h times as much, and where the neighbours that attain that push move every answer by all or nothing, as those of
tables, running counts and sums do, it is the maximum itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, reduce
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np

from tetraodon.certificate.certificate import Dataset
from tetraodon.certificate.conditional_steps import worse
from tetraodon.certificate.edge_loss import Loss, Weighted
from tetraodon.certificate.known.push import (
    EDGE_WORK,
    Arc,
    PushBounds,
    Reach,
    answer_space,
    farthest_together,
    largest_push,
    reach_of_rows,
)
from tetraodon.certificate.known.sequences import Classes, classes_of, joined
from tetraodon.certificate.pair_loss import rho_of_pair
from tetraodon.certificate.worst_edge import worst_edge
from tetraodon.errors import Refused
from tetraodon.exact.arrays import Ints
from tetraodon.noise.laws import GAUSSIAN
from tetraodon.policy.attribute_graph import AttributeGraph, Blocks, Everything
from tetraodon.policy.joint_graph import JointGraph
from tetraodon.policy.known import Known, Marginal, known_names, known_query, labels
from tetraodon.policy.secret_graph import MATRIX_LIMIT, Factor, SecretGraph, complete_graph
from tetraodon.query.contribution import One
from tetraodon.query.linear import LinearQuery, Measurement, Split

# -- unlisted tables --------------------------------------------------------------------------------
# Tables of counts under known counts, without listing their cells: how far sequences of moves push them, exactly.
#
# Let the tables tell all classes of values apart, and let every class have two records that every table counts in
# different rows. Those who leave a class leave one of the two, those who enter it become the other: no count that goes
# down goes up, and a sequence of n moves pushes every table by 2 n.

Codes: TypeAlias = Mapping[str, int]


@dataclass(frozen=True, eq=False)
class UnlistedSpace(PushBounds):
    """Classes of values, and the largest pushes of a move inside one of them, of any move, and of a secret one."""

    classes: Classes
    inside: int
    between: int
    secret: int

    @cached_property
    def widest(self) -> Ints:
        return np.broadcast_to(np.int64(self.between), (self.classes.count, self.classes.count))

    @property
    def diameters(self) -> Ints:
        return np.broadcast_to(np.int64(self.inside), (self.classes.count,))

    @cached_property
    def secret_moves(self) -> Mapping[Arc, int]:
        return {self.classes.arcs[0]: self.secret}  # no other is known to do less


@dataclass(frozen=True, eq=False)
class TwoRows:
    """Tables that tell the classes apart, and two records of every class that each of them counts in different rows."""

    classes: Classes
    queries: tuple[LinearQuery, ...]

    def other(self, cell: int, codes: Codes) -> Codes | None:
        """A record of the same class as a record of a cell, in another row of every table."""
        return next((one for one in self._candidates(cell, codes) if self._apart(codes, one)), None)

    def _apart(self, one: Codes, other: Codes) -> bool:
        return all(self._row(query, one) != self._row(query, other) for query in self.queries)

    @staticmethod
    def _row(query: LinearQuery, codes: Codes) -> list[int]:
        return [int(split.of(np.array(codes.get(split.name, 0)))) for split in query.by]

    def _candidates(self, cell: int, codes: Codes) -> Iterator[Codes]:
        """Changes of what the facts do not look at, of values inside their segments, and of cells inside the class."""
        yield {**self._beyond, **codes}
        segments = {} if self.classes.coarse is None else self.classes.coarse.segments
        for name, segment in segments.items():
            for code in np.flatnonzero(segment == segment[codes[name]])[[0, -1]].tolist():
                yield {**codes, name: code}
        for member in self.classes.members[int(self.classes.class_of[cell])][:2].tolist():
            yield self.classes.codes(member)

    @cached_property
    def _beyond(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for query in self.queries:
            for split in query.by:
                if split.name not in self.classes.graph.domain.names and not found.get(split.name):
                    bins = split.bins or range(min(2, self.classes.whole[split.name].size))
                    found[split.name] = next((code for code, one in enumerate(bins) if one != bins[0]), 0)
        return found


def two_rows(classes: Classes, queries: Sequence[LinearQuery]) -> TwoRows | None:
    """The tables, if they are such; None otherwise."""
    absent = classes.graph.absent
    size = classes.graph.domain.size
    if absent and int(classes.sizes[classes.class_of[size]]) > 1:
        return None  # somebody absent shares a class with records: a secret move may gain less than others
    if not all(isinstance(query.contribution, One) and _told(classes, query) for query in queries):
        return None
    rows = TwoRows(classes, tuple(queries))
    heads = [int(cells[0]) for cells in classes.members]
    found = all(rows.other(cell, classes.codes(cell)) is not None for cell in heads if cell < size)
    return rows if found else None


def _told(classes: Classes, query: LinearQuery) -> bool:
    """Whether the row of a record says which class it is in."""
    domain = classes.graph.domain
    by = {split.name: split for split in query.by}
    if classes.coarse is not None:  # enough: every row lies in one segment of every attribute
        for name, segment in classes.coarse.segments.items():
            bins = by[name].of(np.arange(len(segment))) if name in by else np.zeros_like(segment)
            if len(np.unique(bins)) < len(np.unique(np.stack([bins, segment]), axis=1).T):
                return False
        return True
    cells = np.arange(domain.size)
    row = np.zeros(domain.size, np.int64)
    for name, codes in zip(domain.names, np.unravel_index(cells, domain.shape), strict=True):
        if name in by:
            row = row * by[name].size(classes.whole) + by[name].of(codes)
    return len(np.unique(row)) == len(np.unique(np.stack([row, classes.class_of[: domain.size]]), axis=1).T)


def of_tables(rows: TwoRows, weight: Fraction) -> Loss:
    """The largest push of tables of some weight in all. Being absent is in no table."""
    classes = rows.classes
    unit = np.ones((1, classes.count), np.int64)
    if classes.graph.absent:
        unit[0, classes.class_of[-1]] = 0
    arcs = classes.arcs if classes.count > classes.dimension + 1 else classes.arcs[:1]
    space = UnlistedSpace(classes, 2, 2, 2)
    reach = Reach(space, unit, -unit, {(a, b): unit[:, b] + unit[:, a] for a, b in arcs}, True, None)
    found, exact, method = farthest_together(reach, None)
    assert found is not None
    exact = exact and (classes.coarse is None or classes.coarse.exact)
    witness = _datasets(rows, found.moves) if exact and found.moves else None
    return Loss(weight * found.value, witness, witness is not None, method)


def _datasets(rows: TwoRows, moves: Sequence[Arc]) -> tuple[Dataset, Dataset] | None:
    """Two datasets that attain it; None where the ends of no secret move have another row in their class."""
    classes, (a, b) = rows.classes, moves[0]
    size = classes.graph.domain.size
    heads: list[Codes | None] = [None if c[0] == size else classes.codes(int(c[0])) for c in classes.members]
    loses = list(heads)
    gains = [None if h is None else rows.other(int(c[0]), h) for h, c in zip(heads, classes.members, strict=True)]
    x, y = classes.crossing
    for here in np.flatnonzero((classes.class_of[x] == a) & (classes.class_of[y] == b))[:100].tolist():
        first, second = classes.secret_pair(int(x[here]), int(y[here]))
        after_first = None if first is None else rows.other(int(x[here]), first)
        before_second = None if second is None else rows.other(int(y[here]), second)
        if (first is None) == (after_first is None) and (second is None) == (before_second is None):
            loses[a], gains[a], gains[b], loses[b] = first, after_first, second, before_second
            before = [loses[a], *(loses[source] for source, _ in moves[1:])]
            after = [gains[b], *(gains[target] for _, target in moves[1:])]
            return Dataset(tuple(map(classes.record_of, before))), Dataset(tuple(map(classes.record_of, after)))
    return None


# -- unlisted domain --------------------------------------------------------------------------------
# Known counts over more cells than can be listed: only the attributes that the known counts look at are.
#
# Which sequences of moves keep the known counts depends on these attributes alone. For tables of counts that tell the
# classes of values apart, and something else besides, every move of a sequence then takes one count down and another
# one up, and none of them cancel: the answer is exact. For other answers it is the length of the longest sequence, or
# the number of classes of a cycle, times what one move can do.

LISTED_CLASSES = 1000
"""Cells of a known table for which two datasets that differ in all of them are still named."""


def is_unlisted(graph: SecretGraph, queries: Sequence[Weighted]) -> bool:
    """Whether the cells of what is known and asked together are too many to be listed."""
    if long_table(graph) is not None:
        return True
    names = {name for query, _ in queries for name in query.names} | set(known_names(graph.known, graph.domain))
    return bool(names) and graph.part(names).domain.size > MATRIX_LIMIT


def long_table(graph: SecretGraph) -> LinearQuery | None:
    """The known table, if it is all that is known and has many cells."""
    if len(graph.known) != 1 or not isinstance(graph.known[0].fact, Marginal):
        return None
    table = known_query(graph.known[0], graph.domain)
    return table if table.size(graph.domain) > LISTED_CLASSES else None


def secrets_change_known(graph: SecretGraph) -> bool:
    """Whether some secret changes a known count. If none does, neighbours are those of a policy that knows nothing."""
    table = long_table(graph)
    return _crossed(graph, table)[0] if table is not None else bool(classes_of(graph, graph.known).arcs)


def farthest_neighbours(graph: SecretGraph, queries: Sequence[Weighted]) -> Loss:
    """max over N* of the weighted L1 distance between the answers, whatever the size of the domain."""
    return unlisted_push(graph, queries) if is_unlisted(graph, queries) else largest_push(graph, graph.known, queries)


def unlisted_push(graph: SecretGraph, queries: Sequence[Weighted]) -> Loss:
    """max over N* of the weighted L1 distance between the answers, or a bound on it.

    Post  as `largest_push`.
    """
    known, plain = graph.known, replace(graph, known=())
    table = long_table(graph)
    if table is not None:
        return _one_table(graph, table, queries)
    classes = classes_of(graph, known)
    left = [(query, weight) for query, weight in queries if not _still(classes, known, query)]
    if not left:
        return Loss(Fraction(0), None, True, "over nothing: the known counts fix these answers")
    single = worst_edge(plain, left)
    if not classes.arcs:
        return replace(single, how="over edges: no secret changes a known count")
    rows = two_rows(classes, [query for query, _ in left])
    if rows is not None:
        return of_tables(rows, sum((weight for _, weight in left), Fraction(0)))
    alone, between = single.value, worst_edge(complete_graph(plain), left).value
    inside = min(between, worst_edge(_inside(graph), left).value)
    common = math.lcm(*(part.denominator for part in (alone, between, inside)))
    space = UnlistedSpace(classes, *(_whole(part * common) for part in (inside, between, min(alone, between))))
    nothing = np.zeros((1, classes.count), np.int64)
    found, _, method = farthest_together(Reach(space, nothing, nothing, {}, False, None), None)
    assert found is not None
    return Loss(max(alone, Fraction(found.value, common)), None, False, method)


def _one_table(graph: SecretGraph, table: LinearQuery, queries: Sequence[Weighted]) -> Loss:
    """One known table of many cells: neighbours are cycles through them ([HMD14] Thms 8.4 and 8.5, corrected).

    Why  a cycle changes every cell of the table by one record for another: at most what a move inside it does. Tables
         that split by more than the known one change two counts there, and none of them cancel.
    """
    plain = replace(graph, known=())
    known_by = {split.name: split for split in table.by}
    left = [(query, weight) for query, weight in queries if not _split_by(query, known_by)]
    if not left:
        return Loss(Fraction(0), None, True, "over nothing: the known counts fix these answers")
    single = worst_edge(plain, left)
    crossed, sure = _crossed(graph, table)
    if not crossed:
        return replace(single, how="over edges: no secret changes a known count")
    cells = table.size(graph.domain)
    finer = sure and all(
        isinstance(query.contribution, One)
        and all(split in query.by or Split(split.name) in query.by for split in table.by)
        and any(split.name not in known_by and split.size(graph.domain) > 1 for split in query.by)
        for query, _ in left
    )
    inside = 2 * sum((weight for _, weight in left), Fraction(0)) if finer else worst_edge(_inside(graph), left).value
    method = f"over cycles through all {cells:,} cells of the known table"
    return Loss(max(single.value, cells * inside), None, finer, method)


def _split_by(query: LinearQuery, known_by: dict[str, Split]) -> bool:
    """Whether the counts of a query are sums of known counts."""
    return isinstance(query.contribution, One) and all(
        split.name in known_by and known_by[split.name].bins in (None, split.bins) for split in query.by
    )


def _crossed(graph: SecretGraph, table: LinearQuery) -> tuple[bool, bool]:
    """Whether a secret changes the cell of a known table, and whether that is sure."""
    graphs = [graph] if graph.groups is None else [own for own, _ in graph.by_graph]
    found, sure = any(one.absent for one in graphs), True
    for own in graphs:
        for split in table.by:
            secrets = own.factor_of(split.name).graph
            if isinstance(secrets, JointGraph):
                found, sure = True, False
            elif split.bins is None:
                found = found or secrets.edge_count > 0
            else:
                found = found or bool(joined(secrets, np.asarray(split.bins, np.int64)))
    return found, sure


def _whole(number: Fraction) -> int:
    if number >= 2**44:  # times 10,000 moves, this still fits into 63 bits
        raise Refused("the weights of this release are too long to be compared exactly", fix="use rounder scales")
    return int(number)


def _still(classes: Classes, known: Sequence[Known], query: LinearQuery) -> bool:
    """Whether the answers follow from the known counts."""
    if classes.coarse is not None:
        return any(query == known_query(entry, classes.whole) for entry in known)
    return set(query.names) <= set(classes.graph.domain.names) and answer_space(classes, [(query, Fraction(1))]).still


def _inside(graph: SecretGraph) -> SecretGraph:
    """A graph that joins any two records which no known count tells apart, and perhaps others.

    Why  two records in the same cell of a known table agree on its attributes, or on the groups of their values.
    """
    split: dict[str, Ints] = {}
    for entry in graph.known:
        if isinstance(entry.fact, Marginal):
            for one in known_query(entry, graph.domain).by:
                codes = one.of(np.arange(graph.domain[one.name].size))
                before = split.get(one.name, np.zeros_like(codes))
                split[one.name] = np.unique(np.stack([before, codes]), axis=1, return_inverse=True)[1].ravel()
    factors = []
    for attribute in graph.domain:
        same: AttributeGraph = Everything(attribute.size)
        if attribute.name in split:
            same = Blocks(tuple(split[attribute.name].tolist()))
        factors.append(Factor((attribute.name,), same))
    return SecretGraph(graph.domain, tuple(factors), len(factors), graph.absent and not split)


# -- limits -----------------------------------------------------------------------------------------
# Known inequalities about disjoint sets of records: which of them are reached decides who has to make up for whom.

LISTED = 4
"""Up to so many inequalities every choice of those that are reached is priced; beyond, a bound is given."""


def worst_of_limits(graph: SecretGraph, price: Callable[[SecretGraph], Loss], bound: Callable[[], Fraction]) -> Loss:
    """The largest price over which of the known inequalities are reached, as if those counts were known exactly.

    Pre   what is known are counts of disjoint sets where any of it is an inequality; `bound` is not below the price.
    Why   then neighbours are paths and cycles through the sets, and whatever a path passes through keeps its count
          (docs/neighbours.md, on known inequalities).
    """
    exact, limits = ([entry for entry in graph.known if entry.bounded is is_limit] for is_limit in (False, True))
    if not limits:
        return price(graph)

    def reached(chosen: Sequence[Known]) -> Loss:
        return price(replace(graph, known=(*exact, *chosen)))

    found = worse(reached(limits), reached([]))
    if len(limits) == 1 or found.value >= (most := bound()):
        return found
    if len(limits) > LISTED:
        return Loss(most, None, False, "over paths through all known counts")
    others = (chosen for size in range(1, len(limits)) for chosen in combinations(limits, size))
    return reduce(worse, map(reached, others), found)


def farthest_path(graph: SecretGraph, queries: Sequence[Weighted]) -> Fraction:
    """A bound on what a path or cycle through the known counts, all about disjoint sets, moves answers by.

    Why   between its ends every set loses one record and gains another. So the answers move by as much as from the
          first record to the last, and by a move inside each set that is passed through. If the sets leave nobody out,
          its ends are in two of them, or it is a cycle and every set has a move inside.
    """
    sets, whole = len(graph.known), complete_graph(replace(graph, known=()))
    between = worst_edge(whole, queries).value
    names = known_names(graph.known, graph.domain)
    if len(names) != 1:
        return (sets + 1) * between
    part = graph.domain.project(names)
    owner = sets + np.arange(part.size)  # whoever is in none of them is at an end, or makes it a cycle
    for number, entry in enumerate(graph.known):
        owner[labels(entry, part, np.arange(part.size)) >= 0] = number
    same: dict[str, AttributeGraph] = {names[0]: Blocks(tuple(np.unique(owner, return_inverse=True)[1].tolist()))}
    factors = tuple(Factor((a.name,), same.get(a.name, Everything(a.size))) for a in graph.domain)
    inside = worst_edge(SecretGraph(graph.domain, factors, len(factors)), queries).value
    if graph.absent or owner.max() >= sets:
        return between + sets * inside
    return max(between + (sets - 2) * inside, sets * inside)


# -- largest square ---------------------------------------------------------------------------------

WEIGHTS = 2**20
"""Weights are whole numbers up to about this, or are rounded up to such."""


def largest_square(graph: SecretGraph, queries: Sequence[Weighted]) -> Loss:
    """max over neighbours of the sum of (weight * what an answer moves by, in units)^2, or a bound on it.

    Pre   some secret changes a known count; weights are above zero.
    Post  as `largest_push`.
    """
    unlisted = is_unlisted(graph, queries)
    heights = [_height(graph, query, unlisted) for query, _ in queries]
    asked = [(query, weight**2 * height) for (query, weight), height in zip(queries, heights, strict=True) if height]
    if not asked:
        return Loss(Fraction(0), None, True, "over nothing: the known counts fix these answers")
    rounded = _rounded(asked)
    found = farthest_neighbours(graph, rounded)
    if rounded == asked and (set(heights) <= {0, 1} or not found.exact):
        return found
    if rounded != asked:
        each = sum((weight * farthest_neighbours(graph, [(q, Fraction(1))]).value for q, weight in asked), Fraction(0))
        found = replace(found, value=min(found.value, each))
    attained = found.witness is not None and _squares(graph, queries, found.witness) == found.value
    return replace(found, exact=attained, witness=found.witness if attained else None)


def _rounded(queries: Sequence[Weighted]) -> list[Weighted]:
    """The same with weights that are too long for whole numbers of 64 bits made a little larger."""
    unit = max(weight for _, weight in queries) / WEIGHTS
    if math.lcm(*((weight / queries[0][1]).denominator for _, weight in queries)) <= WEIGHTS:
        return list(queries)
    return [(query, math.ceil(weight / unit) * unit) for query, weight in queries]


def _squares(graph: SecretGraph, queries: Sequence[Weighted], pair: tuple[Any, Any]) -> Fraction:
    """The sum of squares between two datasets, or two records."""
    return 2 * rho_of_pair(graph.domain, [Measurement(q, 1 / weight, GAUSSIAN) for q, weight in queries], pair)


def _height(graph: SecretGraph, query: LinearQuery, unlisted: bool) -> int:
    """A whole number of units by which no answer of a query moves more between neighbours."""
    key = ("height", query)
    if key not in graph.remembered:
        graph.remembered[key] = _found_height(graph, query, unlisted)
    return int(graph.remembered[key])


def _found_height(graph: SecretGraph, query: LinearQuery, unlisted: bool) -> int:
    by_sequence = _by_sequence(graph, query, unlisted)
    if by_sequence is not None:
        return by_sequence
    push = farthest_neighbours(graph, [(query, Fraction(1))]).value
    # as much goes up as goes down, where everybody counts one
    return math.ceil(push / 2 if isinstance(query.contribution, One) and not graph.absent else push)


def _by_sequence(graph: SecretGraph, query: LinearQuery, unlisted: bool) -> int | None:
    """The same from what a sequence of moves does to one answer, where that is told at once; None otherwise."""
    whole = long_table(graph)
    if whole is not None:
        if not query.contribution.zeros_and_ones:
            return None
        finer = {split.name for split in whole.by if split in query.by or Split(split.name) in query.by}
        return math.prod(split.size(graph.domain) for split in whole.by if split.name not in finer)
    classes = classes_of(graph, graph.known, () if unlisted else tuple(sorted(query.names)))
    domain = classes.graph.domain
    if not unlisted and query.size(domain) * max(domain.size, len(classes.crossing[0])) <= EDGE_WORK:
        return _along_rows(classes, query)
    if classes.count > classes.dimension + 1:
        return None
    if isinstance(query.contribution, One):
        return _most_classes(classes, query)
    return classes.count if query.contribution.zeros_and_ones else None


def _most_classes(classes: Classes, query: LinearQuery) -> int:
    """How many classes an answer counts some of, for cycles, which change one record for another in each class.

    Why   a class of which it counts all, or nobody, leaves it as it is.
    """
    if classes.coarse is not None:
        return classes.count
    domain = classes.graph.domain
    row = np.zeros(domain.size, np.int64)
    codes = dict(zip(domain.names, np.unravel_index(np.arange(domain.size), domain.shape), strict=True))
    for split in query.by:
        if split.name in codes:
            row = row * split.size(classes.whole) + split.of(codes[split.name])
    pairs, cells = np.unique(np.stack([row, classes.class_of[: domain.size]]), axis=1, return_counts=True)
    some = cells < classes.sizes[pairs[1]] if set(query.names) <= set(domain.names) else np.ones_like(cells, np.bool_)
    return int(np.unique(pairs[0][some], return_counts=True)[1].max(initial=0))


def _along_rows(classes: Classes, query: LinearQuery) -> int | None:
    """The most that neighbours move any one answer."""
    space = answer_space(classes, [(query, Fraction(1))])
    x, y = classes.inside
    alone = max((int(np.abs(row[x] - row[y]).max(initial=0)) for row in space.rows), default=0)
    found, exact, _ = farthest_together(reach_of_rows(space), None)
    if found is not None and not exact:
        return None
    return max(alone, 0 if found is None else found.value)
