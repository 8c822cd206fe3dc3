"""Values that the known counts cannot tell apart, and minimal zero-sum sequences of moves between them.

Both margins of a 3 x 3 table have a hundred thousand minimal sequences, too many to be found one by one; but rows, and
columns, can be renamed, and what each margin gains be lost in place of it. What is left is about a thousand.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, TypeAlias, assert_never

import numpy as np

from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.errors import Refused
from tetraodon.exact.arrays import Ints, SmallInts
from tetraodon.exact.rational import row_reduced
from tetraodon.policy.attribute_graph import AttributeGraph, Blocks, Everything, Pairs, Public, Within, WithinOrMissing
from tetraodon.policy.joint_graph import JointGraph
from tetraodon.policy.known import Known, known_names, known_query, labels_at
from tetraodon.policy.secret_graph import ABSENT, MATRIX_LIMIT, Factor, Groups, SecretGraph
from tetraodon.query.contribution import Table

# -- zero sum ---------------------------------------------------------------------------------------
# Minimal zero-sum sequences of moves: the changes between neighbours under known counts.
#
# A record that moves from a class of values to another changes the known sums by a vector. Neighbours change records so
# that the vectors add up to nothing and no part of them does: a *minimal zero-sum sequence*. As multisets these are
# the non-negative part of the Graver basis of the known counts. Where there are two classes more than independent known
# counts, one *null vector* says which classes lose records and which gain them.

Vector: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Sequences:
    """Minimal zero-sum sequences: how often each holds each of `vectors`. `complete` unless the search gave up."""

    vectors: tuple[Vector, ...]
    times: SmallInts
    complete: bool

    @property
    def longest(self) -> int:
        return int(self.times.sum(axis=1, dtype=np.int64).max(initial=1))


def differences(classes: Sequence[Vector]) -> set[Vector]:
    """The vectors of all moves between two different classes."""
    return {step(x, y) for x in classes for y in classes if x != y}


def step(x: Vector, y: Vector) -> Vector:
    """The vector of a move from one class to another."""
    return tuple(q - p for p, q in zip(x, y, strict=True))


def length_bound(dimension: int, vectors: int, entries: int) -> int:
    """A length that no minimal zero-sum sequence of vectors with entries -1, 0, 1 exceeds.

    Pre   the vectors span `dimension` dimensions, there are `vectors` of them up to sign, and each has at most
          `entries` that are not zero.
    Why   the smaller of two bounds. (i) Some order keeps all partial sums within d - 1 + 1/d in the maximum norm
          (Steinitz's lemma with Banaszczyk's constant), and partial sums of a minimal sequence differ, so there
          are at most (2d-1)^d of them for d >= 2. (ii) A minimal sequence is a sum of at most N - d circuits with
          weights at most one, and a circuit has at most d+1 entries, all subdeterminants, which Hadamard bounds
          by the product of the vectors' lengths, entries^(d/2) (Sturmfels 1996, Thm 4.7).
    """
    if dimension == 0:
        return 1
    if dimension == 1:
        return 2
    steinitz: int = (2 * dimension - 1) ** dimension
    hadamard: int = math.isqrt(entries**dimension)
    circuits = (dimension + 1) * max(1, vectors - dimension) * hadamard
    return min(steinitz, circuits)


def length_bound_over_a_table(parts: int, others: int, added: Sequence[Vector] = ()) -> int:
    """A length that no minimal zero-sum sequence exceeds, where a table of `parts` cells and `others` counts are known.

    `added` is what classes of values add to the others, where these are two.

    Why   by the table alone, the sequence falls into cycles of at most `parts` moves (p). Their moves of the other
          counts are a minimal zero-sum sequence again. For one other count at most (p + 1)^2 / 2 moves are left: the
          proof is in docs/neighbours.md, and some policies attain it. For two, moves are at most r long by some inner
          product, so cycles at most r p, and some order keeps partial sums, which differ, within sqrt(5)/2 r p
          (Steinitz's lemma with the constant of the Euclidean plane, Banaszczyk 1990). For d, within
          (d - 1 + 1/d) p in the maximum norm.
    """
    if others == 0:
        return parts
    if others == 1:
        return max(parts, (parts + 1) ** 2 // 2)
    reach = (others * others - others + 1) * parts // others
    blocks: int = (2 * reach + 1) ** others
    if others == 2 and added:
        blocks = min(blocks, *(_points(slant, parts, added) for slant in (-1, 0, 1)))
    return parts * blocks


def _points(slant: int, parts: int, added: Sequence[Vector]) -> int:
    """How many points of the plane have 4 (x^2 + slant x y + y^2) <= 5 parts^2 r^2, if moves are r long at most.

    Why   the left side is (2 y + slant x)^2 + (4 - slant^2) x^2: for each x every other whole number is a point.
    """
    most = 5 * parts**2 * max(x * x + slant * x * y + y * y for x, y in differences(added))
    across, found = 4 - slant**2, 0
    for x in range(-math.isqrt(most // across), math.isqrt(most // across) + 1):
        reach = math.isqrt(most - across * x * x)
        found += reach + (reach - slant * x + 1) % 2
    return found


def independent_coordinates(rows: Sequence[Sequence[int]], until: int | None = None) -> list[int]:
    """Positions of rows that span all rows, by exact elimination: first come, first kept.

    With `until`, one from there on is the last that is looked for.

    Why   entries that are not zero are few once a row is reduced, and stay whole numbers without a common factor.
    """
    kept: list[int] = []
    basis: list[tuple[int, dict[int, int]]] = []
    for position, row in enumerate(rows):
        rest = {place: int(entry) for place, entry in enumerate(row) if entry}
        for pivot, reduced in basis:
            if pivot in rest:
                rest = _without(pivot, rest, reduced)
        if rest:
            common = math.gcd(*rest.values())
            basis.append((min(rest), {place: entry // common for place, entry in rest.items()}))
            kept.append(position)
            if until is not None and position >= until:
                break
    return kept


def _without(pivot: int, row: dict[int, int], reduced: dict[int, int]) -> dict[int, int]:
    """A multiple of a row less a multiple of another, so that nothing is left at the pivot."""
    factor, lead = row[pivot], reduced[pivot]
    common = math.gcd(factor, lead)
    factor, lead = factor // common, lead // common
    rest = dict(row) if lead == 1 else {place: lead * entry for place, entry in row.items()}
    for place, entry in reduced.items():
        moved = rest.get(place, 0) - factor * entry
        if moved:
            rest[place] = moved
        else:
            rest.pop(place, None)
    return rest


@lru_cache(maxsize=64)
def null_vector(vectors: tuple[Vector, ...]) -> tuple[int, ...]:
    """The whole numbers r, without a common factor, with sum of r = 0 and sum of r_c v_c = 0.

    Pre   there is one such r up to sign: two classes more than dimensions.
    """
    rows = [[Fraction(1), *map(Fraction, vector)] for vector in vectors]
    count, width = len(rows), len(rows[0])
    matrix, pivots = row_reduced([[rows[c][k] for c in range(count)] for k in range(width)], count)
    [free] = [column for column in range(count) if column not in pivots]
    kernel = [Fraction(0)] * count
    kernel[free] = Fraction(1)
    for k, column in enumerate(pivots):
        kernel[column] = -matrix[k][free]
    common = math.lcm(*(entry.denominator for entry in kernel))
    whole = [int(entry * common) for entry in kernel]
    divisor = math.gcd(*whole)
    return tuple(entry // divisor for entry in whole)


# -- segments ---------------------------------------------------------------------------------------
# Values that no known count tells apart, whatever the other attributes are, taken as one: a smaller graph.
#
# A range of a million positions of which three rectangles are known has a handful of segments. Whether two classes of
# values are joined by a secret, and so which neighbours there are, is the same in the small graph as in the large
# one: a step changes some attributes along edges, and each of them stays in its segment or goes to another that an
# edge joins.

Link: TypeAlias = dict[tuple[int, int], tuple[int, int]]
LISTED = 5_000_000
RUNS = 2000


@dataclass(frozen=True, eq=False)
class Coarse:
    """The graph on segments, a code of every segment, the segment of every code, and an edge between any two segments
    that are joined, for each group that has its own graph and for None, all others. Not `exact`, it joins segments that
    no secret joins, too."""

    graph: SecretGraph
    codes: Mapping[str, Ints]
    segments: Mapping[str, Ints]
    links: Mapping[tuple[int | None, str], Link]
    exact: bool


def coarse(graph: SecretGraph, known: Sequence[Known], most: int) -> Coarse | None:
    """The graph with values taken as one that no known count tells apart; None if it still has more than `most` cells.

    Refused where attributes are too long.
    Why  a joint metric or blocks of cells become the complete graph of their attributes. More secrets make more
         neighbours: N* of any graph holds those neighbours of the complete graph that use one of its edges
         (docs/neighbours.md). So what is priced over it is a bound; for a histogram beside p disjoint known
         rectangles 2 (p + 1), as for the complete graph ([HMD14] Thm 8.6, corrected in docs/known-counts.md).
    """
    labels = {a.name: _segments(a, known, graph) for a in graph.domain}
    domain = Domain(tuple(Attribute(n, Integers(0, int(found.max()))) for n, found in labels.items()))
    if domain.size > most:
        return None
    codes = {name: np.unique(found, return_index=True)[1] for name, found in labels.items()}
    links: dict[tuple[int | None, str], Link] = {}

    def small(one: SecretGraph, group: int | None = None) -> SecretGraph:
        factors = []
        for factor in one.factors:
            if isinstance(factor.graph, JointGraph):
                size = domain.project(factor.names).size
                factors.append(Factor(factor.names, Everything(size) if factor.graph.has_edges else Public(size)))
                continue
            name = factor.names[0]
            found = joined(factor.graph, labels[name])
            size = int(labels[name].max()) + 1
            pairs = frozenset((min(u, v), max(u, v)) for u, v in found)
            whole = isinstance(factor.graph, Everything)
            own: AttributeGraph = Public(size)
            if pairs:
                own = Everything(size) if whole else Pairs(size, pairs)
            links[group, name] = found
            factors.append(Factor((name,), own))
        groups = one.groups and Groups(one.groups.by, tuple((code, small(g, code)) for code, g in one.groups.own))
        return SecretGraph(domain, tuple(factors), one.at_most, one.absent, groups=groups)

    graphs = [graph, *(own for _, own in graph.groups.own)] if graph.groups else [graph]
    exact = not any(isinstance(factor.graph, JointGraph) for one in graphs for factor in one.factors)
    return Coarse(small(graph), codes, labels, links, exact)


def _segments(attribute: Attribute, known: Sequence[Known], graph: SecretGraph) -> Ints:
    if attribute.size > LISTED:
        raise Refused(
            f"{attribute.name} has too many values to be compared with what is known", fix="use a coarser attribute"
        )
    found: Ints = np.zeros(attribute.size, np.int64)
    if graph.groups is not None and graph.groups.by == attribute.name:
        return np.arange(attribute.size)
    for entry in known:
        label = labels_along(entry, graph.domain, attribute)
        found = np.unique(found * (int(label.max()) + 1) + label, return_inverse=True)[1].ravel()
    return found


def labels_along(entry: Known, domain: Domain, attribute: Attribute) -> Ints:
    """Equal numbers for values of one attribute that a fact never tells apart."""
    query = known_query(entry, domain)
    for split in query.by:
        if split.name == attribute.name:
            return split.of(np.arange(attribute.size))
    table = query.contribution
    if attribute.name not in table.names or not isinstance(table, Table):
        return np.zeros(attribute.size, np.int64)
    sizes = [domain[name].size for name in table.names]
    rows = np.moveaxis(table.matrix[0].reshape(sizes), table.names.index(attribute.name), 0)
    return np.unique(rows.reshape(attribute.size, -1), axis=0, return_inverse=True)[1].ravel()


def joined(graph: AttributeGraph, label: Ints) -> Link:
    """Pairs of different segments that an edge joins, in both directions, each with such an edge."""
    first = np.unique(label, return_index=True)[1].tolist()
    ends: Link = {}
    match graph:
        case Public():
            return {}
        case Everything():
            ends = {(u, v): (first[u], first[v]) for u, v in itertools.combinations(range(len(first)), 2)}
        case Within():
            starts = np.flatnonzero(np.diff(label, prepend=-1))
            if len(starts) > RUNS:
                raise Refused("what is known cuts an attribute into too many segments", fix="use a coarser attribute")
            lasts = np.append(starts[1:] - 1, len(label) - 1)
            for i, start in enumerate(starts):  # the ends of two runs are their nearest values
                for j in range(i + 1, len(starts)):
                    if starts[j] - lasts[i] > graph.reach:
                        break
                    ends.setdefault((int(label[start]), int(label[starts[j]])), (int(lasts[i]), int(starts[j])))
        case Blocks():
            inside = np.unique(np.stack([graph.components(), label]), axis=1, return_index=True)[1]
            by_block: dict[int, list[int]] = {}
            for code in inside.tolist():
                by_block.setdefault(graph.blocks[code], []).append(code)
            for codes in by_block.values():
                for x, y in itertools.combinations(codes, 2):
                    ends.setdefault((int(label[x]), int(label[y])), (x, y))
        case WithinOrMissing():
            ends = dict(joined(graph.there, label[:-1]))
            ends |= {(u, int(label[-1])): (code, graph.size - 1) for u, code in enumerate(first)}
        case Pairs():
            ends = {(int(label[x]), int(label[y])): (x, y) for x, y in graph.pairs}
        case _:
            assert_never(graph)
    there = {(u, v): pair for (u, v), pair in ends.items() if u != v}
    return {**{(v, u): (y, x) for (u, v), (x, y) in there.items()}, **there}


# -- classes ----------------------------------------------------------------------------------------
# Values that the known counts cannot tell apart, the vectors of moves between them, and where the secrets lie.


@dataclass(frozen=True, eq=False)
class Classes:
    """The cells of the attributes that matter, grouped by what they add to the known counts.

    `graph` is the secret graph on those attributes, `class_of` the class of every cell; where people may be absent,
    the last cell is ABSENT, which adds nothing. `counted` has one row for each class and one column for each known
    count; `vectors` keeps only columns that are independent of each other and of the number of records. `ends` says
    behind which column each fact ends. `x`, `y` list the secret pairs of cells. Where the cells would be too
    many, they are those of a `coarse` graph, in which values are taken as one that no fact tells apart.
    """

    whole: Domain
    graph: SecretGraph
    class_of: Ints
    counted: tuple[Vector, ...]
    vectors: tuple[Vector, ...]
    ends: tuple[int, ...]
    x: Ints
    y: Ints
    coarse: Coarse | None = None

    @property
    def count(self) -> int:
        return len(self.vectors)

    @property
    def dimension(self) -> int:
        """How many known counts are independent of each other and of the number of records."""
        return len(self.vectors[0])

    @cached_property
    def beside(self) -> list[tuple[int, tuple[Vector, ...]]]:
        """For each fact, into how many parts it splits the classes, and what they add to counts that it leaves open.

        Where it leaves more than two open, what they add is not told.
        """
        found = []
        table = np.array(self.counted, np.int64)
        for start, end in itertools.pairwise((0, *self.ends)):
            parts = len(np.unique(table[:, start:end], axis=0))
            order = [*range(start, end), *range(start), *range(end, table.shape[1])]
            kept: list[int] = []
            if self.dimension - parts + 1 <= 2:
                kept = independent_coordinates((table[:, order] - table[:1, order]).T.tolist())
            others = np.unique(table[:, [order[k] for k in kept if k >= end - start]], axis=0)
            found.append((parts, _rows(others)))
        return found

    @cached_property
    def sizes(self) -> Ints:
        return np.bincount(self.class_of, minlength=self.count)

    @cached_property
    def members(self) -> list[Ints]:
        order = np.argsort(self.class_of, kind="stable")
        return np.split(order, np.cumsum(self.sizes)[:-1])

    @cached_property
    def crossing(self) -> tuple[Ints, Ints]:
        """Secret pairs that some known count tells apart, in both directions."""
        apart = self.class_of[self.x] != self.class_of[self.y]
        x, y = self.x[apart], self.y[apart]
        return np.concatenate([x, y]), np.concatenate([y, x])

    @cached_property
    def arcs(self) -> list[tuple[int, int]]:
        """Pairs of different classes that a secret move joins, in both directions."""
        x, y = self.crossing
        ends = np.unique(self.class_of[x] * self.count + self.class_of[y])
        return [divmod(int(end), self.count) for end in ends]

    @cached_property
    def inside(self) -> tuple[Ints, Ints]:
        """Secret pairs that no known count tells apart: such a move is a neighbour by itself."""
        same = self.class_of[self.x] == self.class_of[self.y]
        return self.x[same], self.y[same]

    def codes(self, cell: int) -> dict[str, int]:
        """The codes of a record of a cell, on the attributes that matter."""
        named = dict(zip(self.graph.domain.names, self.graph.domain.codes_of(int(cell)), strict=True))
        return named if self.coarse is None else {n: int(self.coarse.codes[n][code]) for n, code in named.items()}

    def record(self, cell: int) -> Any:
        """A cell as a whole record: the first value of every attribute that does not matter."""
        return self.record_of(None if cell == self.graph.domain.size else self.codes(cell))

    def record_of(self, codes: Mapping[str, int] | None) -> Any:
        """A record with some codes, and the first value of every other attribute; ABSENT for None."""
        if codes is None:
            return ABSENT
        return self.whole.value_of(tuple(codes.get(name, 0) for name in self.whole.names))

    def secret_pair(self, x: int, y: int) -> tuple[dict[str, int] | None, dict[str, int] | None]:
        """The codes of two records of cells that a secret joins, which it joins themselves; None for ABSENT."""
        size = self.graph.domain.size
        if x == size or y == size:
            return (None if x == size else self.codes(x)), (None if y == size else self.codes(y))
        first, second = self.codes(x), self.codes(y)
        if self.coarse is not None:
            here, there = (self.graph.domain.codes_of(int(cell)) for cell in (x, y))
            group = None
            if self.graph.groups is not None:
                code = here[self.graph.domain.position(self.graph.groups.by)]
                group = code if code in dict(self.graph.groups.own) else None
            for name, u, v in zip(self.graph.domain.names, here, there, strict=True):
                if u != v:
                    first[name], second[name] = self.coarse.links[group, name][u, v]
        return first, second


def classes_of(graph: SecretGraph, known: tuple[Known, ...], names: tuple[str, ...] = ()) -> Classes:
    """The classes under some known facts, on the attributes that the facts look at and on `names`.

    Why  a move that changes nothing but other attributes moves no known count and no answer; and an edge that changes
         some of these attributes stays an edge when the others are left alone. So nothing else matters.
    """
    wanted = {*names, *known_names(known, graph.domain)} or {graph.domain.names[0]}
    part = graph.part(wanted)
    large = part.domain.size > MATRIX_LIMIT
    return _classes(graph.domain, part, known, large, large and bool(names))


@lru_cache(maxsize=64)
def _classes(every: Domain, whole: SecretGraph, known: tuple[Known, ...], large: bool, asked: bool) -> Classes:
    """Plans ask for them again and again, with other names."""
    small = coarse(whole, known, MATRIX_LIMIT) if large and not asked else None
    if large and small is None:
        raise Refused(
            f"with known counts, more than {MATRIX_LIMIT:,} cells of {', '.join(whole.domain.names)} would have to be "
            "compared",
            fix="use fewer or coarser attributes together with what is known",
        )
    part = small.graph if small else whole
    domain = part.domain
    cells = np.arange(domain.size)
    codes = dict(zip(domain.names, np.unravel_index(cells, domain.shape), strict=True))
    if small:
        codes = {name: small.codes[name][code] for name, code in codes.items()}
    x, y = part.edge_cells()
    columns: list[Ints] = []
    ends = []
    for entry in known:
        label = labels_at(entry, whole.domain, codes)
        columns += [(label == row).astype(np.int64) for row in range(int(label.max(initial=-1)) + 1)]
        ends.append(len(columns))
    table = np.array(columns, np.int64).reshape(len(columns), domain.size)
    if whole.absent:
        table = np.concatenate([table, np.zeros((len(columns), 1), np.int64)], axis=1)
        leaving = part.absent_cells()
        x = np.concatenate([x, leaving])
        y = np.concatenate([y, np.full(len(leaving), domain.size)])
    distinct, class_of = np.unique(table, axis=1, return_inverse=True)
    steps = distinct - distinct[:, :1]
    keep = independent_coordinates(steps.tolist())
    return Classes(
        every,
        part,
        np.asarray(class_of.ravel(), np.int64),
        _rows(distinct.T),
        _rows(distinct[keep].T),
        tuple(ends),
        x,
        y,
        small,
    )


def _rows(table: Ints) -> tuple[Vector, ...]:
    return tuple(tuple(row) for row in table.tolist())


# -- minimal sequences ------------------------------------------------------------------------------

STATES = 20_000
"""How many unfinished sequences are extended before the search gives up."""
SYMMETRIES = 1000
_BASE = 1 << 20


def minimal_sequences(classes: Classes, edges: frozenset[Vector], most: int | None = None) -> Sequences:
    """All minimal zero-sum sequences, at most `most` long, that contain a vector of `edges`; not complete where they
    are too many."""
    every = _every_sequence(classes.counted, classes.vectors, classes.ends, most)
    secret = [number for number, vector in enumerate(every.vectors) if vector in edges]
    return Sequences(every.vectors, every.times[every.times[:, secret].any(axis=1)], every.complete)


@lru_cache(maxsize=64)
def _every_sequence(
    counted: tuple[Vector, ...], vectors: tuple[Vector, ...], ends: tuple[int, ...], most: int | None
) -> Sequences:
    """All minimal zero-sum sequences.

    Why   Fill from any member of the sequence: the rest adds up to minus the sum s so far, so that some member w
          of the rest has <s, w> < 0, and only such w need be tried (Contejean and Devie 1994). If a zero-sum-free s
          meets w = -s, the whole is minimal: a part that adds up to zero would hold w, and what it leaves out would add
          up to zero before. Of those that a symmetry maps to each other one is extended. A symmetry changes the order
          of a fact's counts, or the sign of all of them, and maps moves to moves. It keeps products of moves, so that
          what it maps to each other is extended alike. In products a fact that splits the classes into many parts
          weighs more, which leaves less to extend.
    """
    pairs = list(itertools.permutations(range(len(vectors)), 2))
    whole = {step(vectors[a], vectors[b]): step(counted[a], counted[b]) for a, b in pairs}
    names = tuple(sorted(whole))
    moves = np.array([whole[name] for name in names], np.int64)
    slopes = np.zeros((len(moves), len(moves)), np.int64)
    for start, end in itertools.pairwise((0, *ends)):
        part = moves[:, start:end]
        parts = len({row[start:end] for row in counted})
        slopes += 2 * parts // max(1, int((part**2).sum(axis=1).max())) * (part @ part.T)
    back, left = _symmetries(moves, ends), STATES
    code = [sum(entry * _BASE**place for place, entry in enumerate(name)) for name in names]
    level, found = _one_of_each(np.eye(len(names), dtype=np.int16), back), [np.zeros((0, len(names)), np.int16)]
    while len(level) and (most is None or len(found) < most):
        left -= len(level)
        if left < 0 or len(back) > SYMMETRIES:
            return Sequences(names, found[0], False)
        done, level = _extended(level, slopes, code)
        found.append(_one_of_each(done, back))
        level = _one_of_each(level, back)
    several = np.concatenate(found)
    return Sequences(names, _different(np.concatenate([several[:, order] for order in back])), True)


def _extended(level: SmallInts, slopes: Ints, code: list[int]) -> tuple[SmallInts, SmallInts]:
    """Sequences that are finished by one more move, and those that are longer by one and hold no zero-sum part."""
    down = level @ slopes < 0
    done: list[tuple[int, int]] = []
    longer: list[tuple[int, int]] = []
    for number, row in enumerate(level.tolist()):
        total, sums = 0, {0}
        for move, times in enumerate(row):
            for _ in range(times):
                total += code[move]
                sums |= {part + code[move] for part in sums}
        for move in np.flatnonzero(down[number]).tolist():
            if total == -code[move]:
                done.append((number, move))
            elif -code[move] not in sums:
                longer.append((number, move))
    return _with_one_more(level, done), _with_one_more(level, longer)


def _with_one_more(level: SmallInts, more: list[tuple[int, int]]) -> SmallInts:
    rows, moves = np.array(more, np.int64).reshape(-1, 2).T
    found = level[rows]
    found[np.arange(len(rows)), moves] += 1
    return found


def _one_of_each(rows: SmallInts, back: Ints) -> SmallInts:
    """One of all that symmetries map to each other, or a few of them: that with the least sum of some numbers.

    Why   numbers below 2^40 add up exactly for less than 2^13 moves. Two with the same sum are kept apart.
    """
    if not len(rows):
        return rows
    marks = np.random.default_rng(1990).integers(0, 2**40, rows.shape[1]).astype(float)
    forth = np.argsort(back, axis=1)
    least = np.argmin(rows.astype(float) @ marks[forth].T, axis=1)
    return _different(np.take_along_axis(rows, back[least], axis=1))


def _different(rows: SmallInts) -> SmallInts:
    """The rows without repetition, in an order that is always the same; faster than NumPy's."""
    keys = sorted({row.tobytes() for row in rows})
    return np.frombuffer(b"".join(keys), rows.dtype).reshape(-1, rows.shape[1])


def _symmetries(moves: Ints, ends: tuple[int, ...]) -> Ints:
    """Orders of the moves that come of exchanging two counts, or of taking one fact the other way round, and so on.

    Where they are more than `SYMMETRIES`, there are some missing.
    """
    number = {tuple(move): place for place, move in enumerate(moves.tolist())}
    changed = []
    for start, end in itertools.pairwise((0, *ends)):
        for i, j in itertools.combinations(range(start, end), 2):
            order = np.arange(moves.shape[1])
            order[[i, j]] = j, i
            changed.append(moves[:, order])
        turned = moves.copy()
        turned[:, start:end] *= -1
        changed.append(turned)
    steps = [[number.get(tuple(move), -1) for move in one] for one in map(np.ndarray.tolist, changed)]
    steps = [order for order in steps if -1 not in order]
    found = {tuple(range(len(moves)))}
    last = found
    while last and len(found) <= SYMMETRIES:
        last = {tuple(other[place] for place in order) for order in last for other in steps} - found
        found |= last
    return np.array(sorted(found), np.int64)
