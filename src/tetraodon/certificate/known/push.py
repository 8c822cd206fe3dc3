"""The largest change of weighted answers between neighbours when counts are known (docs/neighbours.md)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from tetraodon.certificate.certificate import Dataset
from tetraodon.certificate.edge_loss import Loss, Weighted
from tetraodon.certificate.known.sequences import (
    Classes,
    Sequences,
    Vector,
    classes_of,
    differences,
    independent_coordinates,
    length_bound,
    length_bound_over_a_table,
    minimal_sequences,
    null_vector,
    step,
)
from tetraodon.errors import Refused
from tetraodon.exact.arrays import Ints
from tetraodon.exact.effort import spend
from tetraodon.policy.known import Known
from tetraodon.policy.secret_graph import SecretGraph
from tetraodon.query.linear import LinearQuery

Arc: TypeAlias = tuple[int, int]

# -- push bounds ------------------------------------------------------------------------------------
# How far sequences of moves push the answers at most, from how far single moves do.


class PushBounds:
    """The largest pushes of single moves between classes of values, and what follows for many of them."""

    classes: Classes

    if TYPE_CHECKING:

        @property
        def widest(self) -> Ints:
            """The largest push of one move, for every pair of classes, and of a move inside each on the diagonal."""

        @property
        def secret_moves(self) -> Mapping[Arc, int]:
            """The largest push of one secret move, for pairs of classes that one joins."""

    @property
    def diameters(self) -> Ints:
        """The largest push of a move inside each class."""
        return np.diagonal(self.widest)

    def most_in_a_cycle(self) -> int:
        """A bound on the push of a cycle through all classes with a secret move in it.

        Why  the moves of a cycle are changes inside each class. Let the secret move go from x in class a to y in
             class b; then all that changes in a and b is a move between two of their values, and the secret move.
             In other classes it is at most the diameter; in a and b at most theirs, too.
        """
        inside = self.diameters
        rest = int(inside.sum())
        return max(
            rest - int(inside[a] + inside[b]) + min(int(inside[a] + inside[b]), int(self.widest[a, b]) + moved)
            for (a, b), moved in self.secret_moves.items()
        )

    def most_in_a_flow(self, balance: Sequence[int]) -> int:
        """A bound on the push of a flow between classes without cycles.

        Why  the flow is a number of paths from classes that lose records to classes that gain them. On each path all
             that changes is a move from its first value to its last, and changes inside the classes between. A
             class is passed by no more paths than neither start nor end there.
        """
        paths = sum(entry for entry in balance if entry > 0)
        gains = [c for c, entry in enumerate(balance) if entry > 0]
        loses = [c for c, entry in enumerate(balance) if entry < 0]
        passing = sum((paths - abs(entry)) * int(self.diameters[c]) for c, entry in enumerate(balance))
        return paths * int(self.widest[np.ix_(loses, gains)].max()) + passing

    def most_in(self, length: int) -> int:
        """A bound on the push of so many moves, one of them secret."""
        return (length - 1) * int(self.widest.max()) + max(self.secret_moves.values())


# -- answer space -----------------------------------------------------------------------------------
# How far a move, or many moves together, push the answers of weighted linear queries.

ENTRY_LIMIT = 20_000_000
PAIR_CHUNK = 2_000_000
SIGN_ROWS = 11
"""Answers for which every pattern of signs is tried."""


@dataclass(frozen=True, eq=False)
class AnswerSpace(PushBounds):
    """Queries over the cells of some classes, each with a whole weight per unit; all losses are divided by `common`."""

    classes: Classes
    queries: tuple[tuple[LinearQuery, int], ...]
    common: int

    @cached_property
    def _looked_at(self) -> list[tuple[LinearQuery, int, Ints, Ints, Ints]]:
        domain = self.classes.graph.domain
        cells = np.arange(domain.size)
        codes = dict(zip(domain.names, np.unravel_index(cells, domain.shape), strict=True))
        found = []
        for query, weight in self.queries:
            row = np.zeros(domain.size, np.int64)
            for split in query.by:
                row = row * split.size(domain) + split.of(codes[split.name])
            names = query.contribution.names
            inner = np.zeros(domain.size, np.int64)
            if names:
                inner = np.ravel_multi_index([codes[n] for n in names], [domain[n].size for n in names])
            alone = np.asarray(query.contribution.alone(inner), np.int64)
            if self.classes.graph.absent:
                row, inner, alone = np.append(row, -1), np.append(inner, 0), np.append(alone, 0)
            found.append((query, weight, row, inner, alone))
        return found

    def apart(self, x: Ints, y: Ints) -> Ints:
        """The L1 distance that one move pushes the answers, for arrays of cells."""
        spend(2 * len(x) * len(self.queries))
        total = np.zeros(len(x), np.int64)
        for query, weight, row, inner, alone in self._looked_at:
            same = row[x] == row[y]
            inside = np.asarray(query.contribution.apart(inner[x], inner[y]), np.int64)
            moved = np.where(same, inside, alone[x] + alone[y])
            total += weight * np.where(same & (row[x] < 0), 0, moved)
        return total

    @cached_property
    def widest(self) -> Ints:
        order = np.concatenate(self.classes.members)
        starts = np.cumsum(self.classes.sizes) - self.classes.sizes
        step = max(1, PAIR_CHUNK // len(order))
        best = np.zeros((len(order), self.classes.count), np.int64)
        for start in range(0, len(order), step):
            part = order[start : start + step]
            moved = self.apart(np.repeat(part, len(order)), np.tile(order, len(part))).reshape(len(part), -1)
            best[start : start + step] = np.maximum.reduceat(moved, starts, axis=1)
        return np.maximum.reduceat(best, starts, axis=0)

    @cached_property
    def secret_moves(self) -> dict[tuple[int, int], int]:
        x, y = self.classes.crossing
        pair = self.classes.class_of[x] * self.classes.count + self.classes.class_of[y]
        moved = np.zeros(self.classes.count**2, np.int64)
        np.maximum.at(moved, pair, self.apart(x, y))
        return {(a, b): int(moved[a * self.classes.count + b]) for a, b in self.classes.arcs}

    @cached_property
    def still(self) -> bool:
        """Whether every answer follows from the known counts and the number of people: then no neighbours differ.

        Why  where nobody in a class is apart from the first of it, no two of them are apart (triangle inequality).
        """
        heads = [int(cells[0]) for cells in self.classes.members]
        if self.apart(np.arange(len(self.classes.class_of)), np.array(heads)[self.classes.class_of]).any():
            return False
        told = [[1] * len(heads), *(list(row) for row in zip(*self.classes.vectors, strict=True))]
        rows = self.rows[:, heads].tolist()
        return max(independent_coordinates([*told, *rows], len(told)), default=0) < len(told)

    @cached_property
    def rows(self) -> Ints:
        """One column for each cell and one row for each answer, less what the first cell adds."""
        domain = self.classes.graph.domain
        if sum(query.size(domain) for query, _ in self.queries) * domain.size > ENTRY_LIMIT:
            raise Refused(
                "with known counts, the answers are too many to be compared cell by cell",
                fix="ask for fewer attributes, or for `bins` of them",
            )
        rows = np.concatenate([query.matrix(domain)[0] * weight for query, weight in self.queries])
        if self.classes.graph.absent:
            rows = np.concatenate([rows, np.zeros((len(rows), 1), rows.dtype)], axis=1)
        return np.asarray(rows - rows[:, :1], np.int64)

    @cached_property
    def columns(self) -> Ints:
        """The same with equal rows merged, and still ones dropped."""
        rows = self.rows
        lead = np.take_along_axis(rows, np.argmax(rows != 0, axis=1)[:, None], axis=1)
        shape = rows * np.where(lead < 0, -1, 1)
        unit = np.gcd.reduce(shape, axis=1, initial=0)
        moving = unit > 0
        distinct, place = np.unique(shape[moving] // unit[moving][:, None], axis=0, return_inverse=True)
        weight = np.bincount(place.ravel(), weights=unit[moving], minlength=len(distinct)).astype(np.int64)
        return np.asarray(distinct * weight[:, None], np.int64)

    @cached_property
    def signs(self) -> tuple[Ints, bool]:
        """Patterns of signs for the answers, and whether they are all there are.

        Why  the L1 norm is the largest sum over all patterns of signs, which are the corners of the unit ball of its
             dual norm, the largest entry. So a maximum over moves is one over signs and, for fixed signs, over linear
             functions. Any selection of patterns bounds it from below.
        """
        rows = len(self.columns)
        if rows <= SIGN_ROWS:
            every = (np.arange(2**rows)[:, None] >> np.arange(rows)[None, :]) & 1
            return 1 - 2 * every, True
        random = np.random.default_rng(20140622).integers(0, 2, (40, rows)) * 2 - 1
        place = np.arange(rows)
        named = [np.ones(rows), 1 - 2 * (place % 2), np.where(place == 0, 1, -1), np.where(2 * place < rows, 1, -1)]
        apart = [np.sign(self.columns[:, cell] * 2 - 1) for cell in range(min(16, self.columns.shape[1]))]
        return np.concatenate([np.array([*named, *apart]).astype(np.int64), random]), False

    @cached_property
    def one_row_per_cell(self) -> bool:
        """Whether the answers are a histogram of all the cells, each with the same weight."""
        if len(self.queries) != 1 or self.classes.graph.absent:
            return False
        query, _, row, _, _ = self._looked_at[0]
        return not query.contribution.names and len(np.unique(row)) == len(row)


def answer_space(classes: Classes, queries: Sequence[tuple[LinearQuery, Fraction]]) -> AnswerSpace:
    """Queries with weights per unit, over a common denominator."""
    common = math.lcm(*(weight.denominator for _, weight in queries)) if queries else 1
    whole = tuple((query, int(weight * common)) for query, weight in queries)
    space = AnswerSpace(classes, whole, common)
    heaviest = sum(weight * int(alone.max(initial=0)) for _, weight, _, _, alone in space._looked_at)
    if heaviest >= 2**44:  # times 10,000 moves, this still fits into 63 bits
        raise Refused("the weights of this release are too long to be compared exactly", fix="use rounder scales")
    return space


# -- sign patterns ----------------------------------------------------------------------------------
# How far each class of values can push the answers, under each pattern of signs.
#
# For fixed signs a dataset's answers add up to one number, the sum of g(x) over its records. A move from class a to
# class b gains at most the best g in b less the worst g in a; a secret move, the best of its pairs.

EDGE_WORK = 20_000_000
LONE_CLASSES = 12


@dataclass(frozen=True, eq=False)
class Reach:
    """Rows are patterns of signs: `top` and `low` the best and worst g in each class, `arcs` the best secret moves.

    `complete` says that the patterns, and the secret moves that were looked at, are all there are.
    """

    space: PushBounds
    top: Ints
    low: Ints
    arcs: dict[Arc, Ints]
    complete: bool
    signs: Ints | None

    def witness(self, found: Farthest) -> tuple[Dataset, Dataset] | None:
        """Two datasets that attain the value of moves."""
        if not found.moves:
            return None
        first, second = (Dataset(tuple(map(self.space.classes.record, end))) for end in self._cells(found))
        return first, second

    def _cells(self, found: Farthest) -> tuple[list[int], list[int]]:
        classes, row, moves = self.space.classes, found.row, found.moves
        a, b = moves[0]
        x, y = classes.crossing
        here = np.flatnonzero((classes.class_of[x] == a) & (classes.class_of[y] == b))
        if self.signs is None:
            gains = [int(cells[0]) for cells in classes.members]
            loses = [int(cells[-1]) for cells in classes.members]
            first, second = int(x[here[0]]), int(y[here[0]])
            gains[a], loses[a] = next((int(c) for c in classes.members[a] if c != first), first), first
            gains[b], loses[b] = second, next((int(c) for c in classes.members[b] if c != second), second)
        else:
            assert isinstance(self.space, AnswerSpace)
            g = self.signs[row] @ self.space.columns
            gains = [int(cells[np.argmax(g[cells])]) for cells in classes.members]
            loses = [int(cells[np.argmin(g[cells])]) for cells in classes.members]
            best = here[np.argmax(g[y[here]] - g[x[here]])]
            first, second = int(x[best]), int(y[best])
        return (
            [first, *(loses[source] for source, _ in moves[1:])],
            [second, *(gains[target] for _, target in moves[1:])],
        )


def reach_of(space: AnswerSpace, *, short: bool = False) -> Reach:
    """The reach of every class, for every pattern of signs or for a selection of them.

    `short` says that not all sequences of moves will be looked at.
    """
    if space.one_row_per_cell:
        return _of_a_histogram(space)
    signs, every = space.signs
    return _along(space, signs @ space.columns, every, signs, short=short)


def reach_of_rows(space: AnswerSpace) -> Reach:
    """The reach of every class, for every answer by itself."""
    return _along(space, space.rows, True, None)


def _along(space: AnswerSpace, g: Ints, every: bool, signs: Ints | None, *, short: bool = False) -> Reach:
    classes = space.classes
    top = np.stack([g[:, cells].max(axis=1) for cells in classes.members], axis=1)
    low = np.stack([g[:, cells].min(axis=1) for cells in classes.members], axis=1)
    x, y = classes.crossing
    pair = classes.class_of[x] * classes.count + classes.class_of[y]
    free = None if short else _free_arc(space, pair)
    order = np.argsort(pair, kind="stable") if free is None else np.flatnonzero(pair == free)
    if len(order) * len(g) > EDGE_WORK:
        every = False
        order = order[_first_of_each(pair[order], max(1, EDGE_WORK // 10 // len(g) // classes.count**2))]
    x, y, pair = x[order], y[order], pair[order]
    arcs: dict[Arc, Ints] = {}
    if len(pair):
        starts = np.flatnonzero(np.diff(pair, prepend=-1))
        best = np.maximum.reduceat(g[:, y] - g[:, x], starts, axis=1)
        for place, start in enumerate(starts):
            a, b = divmod(int(pair[start]), classes.count)
            arcs[a, b] = best[:, place]
    return Reach(space, top, low, arcs, every, signs)


def _free_arc(space: AnswerSpace, pair: Ints) -> int | None:
    """Two classes of which any two values are a secret, as the number of their pair, where such are all that counts.

    Why  a secret move between them gains as much as any move does. Around a cycle through all classes no other gains
         more, so none need be looked at.
    """
    classes = space.classes
    if classes.count != classes.dimension + 1:
        return None
    moves = np.bincount(pair, minlength=classes.count**2)
    free = np.flatnonzero(moves == np.outer(classes.sizes, classes.sizes).ravel())
    return int(free[0]) if len(free) else None


def _of_a_histogram(space: AnswerSpace) -> Reach:
    """A class of two or more cells gains in one of them and loses in another; a lone cell does one or the other.

    Why  the secret move leaves x in class a for y in class b: let x be the cell that loses in a, and y the one that
         gains in b. So a secret move gains as much as any move between its classes.
    """
    classes = space.classes
    weight = space.queries[0][1]
    lone = np.flatnonzero(classes.sizes == 1)
    every = len(lone) <= LONE_CLASSES
    if every:
        chosen = ((np.arange(2 ** len(lone))[:, None] >> np.arange(len(lone))[None, :]) & 1) * 2 - 1
    else:
        chosen = np.random.default_rng(20140622).integers(0, 2, (64, len(lone))) * 2 - 1
        if classes.count == classes.dimension + 2:  # the one relation between them says which lose and which gain
            signs = np.where(np.array(null_vector(classes.vectors))[lone] > 0, 1, -1)
            chosen = np.concatenate([signs[None, :], -signs[None, :], chosen])
    top = np.full((len(chosen), classes.count), weight, np.int64)
    low = -top
    top[:, lone] = low[:, lone] = chosen * weight
    arcs = {(a, b): top[:, b] - low[:, a] for a, b in classes.arcs}
    return Reach(space, top, low, arcs, every, None)


def _first_of_each(labels: Ints, most: int) -> Ints:
    starts = np.flatnonzero(np.diff(labels, prepend=-1))
    place = np.arange(len(labels)) - np.repeat(starts, np.diff(np.append(starts, len(labels))))
    return np.flatnonzero(place < most)


# -- farthest sequence ------------------------------------------------------------------------------
# The minimal zero-sum sequence of moves that pushes the answers farthest, for three shapes of known counts.
#
# All three are exact over the patterns of signs that they are given, and every sequence has a secret move in it.

STRAIGHT = 20
"""Secret moves that are tried where not every order of the classes is."""


@dataclass(frozen=True)
class Farthest:
    """The largest push, and the moves between classes that attain it under a pattern of signs, the secret one first;
    without moves an upper bound that nothing is known to attain."""

    value: int
    row: int = 0
    moves: tuple[Arc, ...] = ()


def farthest_cycle(reach: Reach, balance: Sequence[int] = ()) -> Farthest | None:
    """Over simple cycles of classes: all there is when the classes' vectors are affinely independent.

    `balance` is the one relation r between the classes, where there is one.
    Why  then a multiset of moves adds up to nothing only if as many enter each class as leave it, and the parts of such
         a multiset are cycles. A cycle through every class is best, since a class loses nothing by taking part.
         With a relation r a part of the cycle may add up to nothing, too. Parts of a cycle are paths, which lose a
         record where they start and gain one where they end, by turns around the cycle. So that part is there only if r
         does so, too. No two classes are alike, so r gains in two or more and loses in two or more: with the gains next
         to each other, and those that are like b next to b, it does not.
    """
    rest = (reach.top - reach.low).sum(axis=1)
    best: Farthest | None = None
    for (a, b), gain in reach.arcs.items():
        value = rest - (reach.top[:, b] - reach.low[:, a]) + gain
        row = int(np.argmax(value))
        if best is None or value[row] > best.value:
            others = [c for c in range(reach.top.shape[1]) if c not in (a, b)]
            if balance:
                others.sort(key=lambda c: balance[c] if balance[b] < 0 else -balance[c])
            stops = [a, b, *others, a]
            best = Farthest(int(value[row]), row, tuple(itertools.pairwise(stops)))
    return best


def farthest_flow(reach: Reach, balance: Sequence[int]) -> Farthest | None:
    """Over flows without cycles that bring `balance[c]` more moves into each class c than out of it.

    With one relation r between the classes, these flows for r, and the simple cycles, are all the minimal sequences.
    Why  a multiset of moves adds up to nothing exactly if its balance is t r. If |t| > 1, half of it, rounded, holds
         a part of balance r (flows are integral). If t is 1 and there is no cycle, a part of balance 0 is empty and
         one of balance r is everything; one of balance -r would leave 2 r, which holds r, and a cycle. A flow
         without cycles runs along some order of the classes; passing through a class loses nothing, so every
         unit stops everywhere, but for the one that makes the secret move.
    """
    best: Farthest | None = None
    for r in (tuple(balance), tuple(-entry for entry in balance)):
        for a, b in reach.arcs:
            found = _best_order(reach, r, a, b)
            if found is not None and (best is None or found.value > best.value):
                best = found
    return best


def straight_flow(reach: Reach, balance: Sequence[int]) -> Farthest | None:
    """A long flow, where there are too many classes to try every order: a bound from below.

    Classes that lose records come first and those that gain last, with the ends of a secret move next to each other.
    """
    best: Farthest | None = None
    for r in (tuple(balance), tuple(-entry for entry in balance)):
        rising = sorted(range(len(r)), key=lambda c: r[c])
        for a, b in [(a, b) for a, b in reach.arcs if r[a] <= 0 <= r[b]][:STRAIGHT]:
            loses = [c for c in rising if r[c] < 0 and c != a]
            between = [c for c in rising if r[c] == 0 and c not in (a, b)]
            gains = [c for c in rising if r[c] > 0 and c != b]
            moves = tuple(_steps([*loses, *between, a, b, *gains], r, a, b))
            ends = np.array(moves[1:], np.int64).reshape(-1, 2)
            leaving, entering = (np.bincount(ends[:, k], minlength=len(r)) for k in (0, 1))
            value = reach.arcs[a, b] + reach.top @ entering - reach.low @ leaving
            row = int(np.argmax(value))
            if best is None or value[row] > best.value:
                best = Farthest(int(value[row]), row, moves)
    return best


def _best_order(reach: Reach, r: Sequence[int], a: int, b: int) -> Farthest | None:
    """Dynamic programming over the set of classes that come before."""
    count = len(r)
    flow = [-sum(r[c] for c in range(count) if done >> c & 1) for done in range(1 << count)]
    value: dict[int, Ints] = {0: np.zeros(len(reach.top), np.int64)}
    came: dict[int, Ints] = {}
    for done in range(1 << count):
        if done not in value:
            continue
        for c in range(count):
            after = done | 1 << c
            if after == done or flow[after] < 0 or (c == b and not done >> a & 1):
                continue
            jumping = bool(done >> a & 1) and not done >> b & 1
            entering = flow[done] - jumping
            leaving = flow[after] - (c == a or (jumping and c != b))
            if entering < 0 or leaving < 0:
                continue
            gain = entering * reach.top[:, c] - leaving * reach.low[:, c] + (reach.arcs[a, b] if c == b else 0)
            total = value[done] + gain
            if after not in value:
                value[after], came[after] = total, np.full(len(total), c)
            else:
                better = total > value[after]
                value[after] = np.where(better, total, value[after])
                came[after] = np.where(better, c, came[after])
    whole = (1 << count) - 1
    if whole not in value:
        return None
    row = int(np.argmax(value[whole]))
    order: list[int] = []
    done = whole
    while done:
        order.append(int(came[done][row]))
        done ^= 1 << order[-1]
    order.reverse()
    return Farthest(int(value[whole][row]), row, tuple(_steps(order, r, a, b)))


def _steps(order: Sequence[int], r: Sequence[int], a: int, b: int) -> list[Arc]:
    """The moves of a flow that stops at every class in order, with one unit that goes from a straight to b."""
    moves: list[Arc] = [(a, b)]
    level, jumping = 0, False
    for here, there in itertools.pairwise(order):
        level -= r[here]
        jumping = (jumping or here == a) and here != b
        moves += [(here, there)] * (level - jumping)
    return moves


def farthest_listed(reach: Reach, sequences: Sequences, vectors: Sequence[Vector]) -> Farthest | None:
    """Over a list of minimal sequences of vectors; each vector may be made by several pairs of classes."""
    place = {vector: number for number, vector in enumerate(sequences.vectors)}
    patterns, width = len(reach.top), len(place)
    gain = np.full((patterns, width), -(2**60), np.int64)
    secret = np.full((patterns, width), -(2**60), np.int64)
    pairs: list[list[Arc]] = [[] for _ in place]
    for a, source in enumerate(vectors):
        for b, target in enumerate(vectors):
            if a != b:
                number = place[step(source, target)]
                pairs[number].append((a, b))
                gain[:, number] = np.maximum(gain[:, number], reach.top[:, b] - reach.low[:, a])
                if (a, b) in reach.arcs:
                    secret[:, number] = np.maximum(secret[:, number], reach.arcs[a, b])
    best: tuple[int, int, int, int] | None = None
    edges = [number for number in range(width) if secret[0, number] > -(2**60)]
    for start in range(0, len(sequences.times), 4096):
        times = sequences.times[start : start + 4096].astype(np.int64)
        total = times @ gain.T
        for number in edges:
            holds = np.flatnonzero(times[:, number])
            if len(holds):
                value = total[holds] + (secret[:, number] - gain[:, number])[None, :]
                at = int(np.argmax(value))
                sequence, row = divmod(at, patterns)
                if best is None or value.flat[at] > best[0]:
                    best = (int(value.flat[at]), row, start + int(holds[sequence]), number)
    if best is None:
        return None
    top, row, chosen, number = best
    rest = np.repeat(np.arange(width), sequences.times[chosen]).tolist()
    rest.remove(number)
    first = max((arc for arc in pairs[number] if arc in reach.arcs), key=lambda arc: reach.arcs[arc][row])
    others = [max(pairs[n], key=lambda arc: reach.top[row, arc[1]] - reach.low[row, arc[0]]) for n in rest]
    return Farthest(top, row, (first, *others))


# -- largest push -----------------------------------------------------------------------------------

FLOW_CLASSES = 9
MANY_CLASSES = 150
LISTED_WORK = 50_000_000
"""Sequences times patterns of signs that are compared one by one."""
LENGTH_LIMIT = 10_000
"""Beyond this many records changed at once a bound is worth nothing, and the policy is refused."""


def largest_push(
    graph: SecretGraph, known: Sequence[Known], queries: Sequence[Weighted], *, most: int | None = None
) -> Loss:
    """max over N* of the weighted L1 distance between the answers, over all numbers of records and known answers.

    Pre   weights are above zero and per unit of the query; `most`, for the tests, looks at datasets of that many
          people only.
    Post  `exact`, or a proven upper bound; Refused when there is no bound worth having.
    """
    if not queries:
        return Loss(Fraction(0), None, True, "over nothing")
    unit = queries[0][1]
    push = _with_first_weight_one(graph, tuple(known), tuple((q, weight / unit) for q, weight in queries), most)
    return replace(push, value=unit * push.value)


@lru_cache(maxsize=256)
def _with_first_weight_one(
    graph: SecretGraph, known: tuple[Known, ...], queries: tuple[Weighted, ...], most: int | None
) -> Loss:
    """Plans ask for the same queries again and again, with other scales."""
    names = tuple(sorted({name for query, _ in queries for name in query.names}))
    classes = classes_of(graph, known, names)
    space = answer_space(classes, queries)
    if space.still:
        return Loss(Fraction(0), None, True, "over nothing: the known counts fix these answers")
    single = _inside(space)
    if not len(classes.crossing[0]):
        return replace(single, how="over edges: no secret changes a known count")
    if _is_only_bounded(classes, most):
        length = length_of(classes)
        bound = max(single.value, Fraction(space.most_in(length), space.common))
        return Loss(bound, None, False, f"over neighbours that differ in at most {length} records")
    reach = reach_of(space, short=most is not None)
    together, exact, method = farthest_together(reach, most)
    if together is not None and Fraction(together.value, space.common) > single.value:
        return Loss(Fraction(together.value, space.common), reach.witness(together), exact, method)
    if together is None or exact:
        return replace(single, how="over edges that change no known count")
    return replace(single, exact=False, how=method)


def farthest_together(reach: Reach, most: int | None) -> tuple[Farthest | None, bool, str]:
    """The farthest of the sequences of two or more moves."""
    space = reach.space
    classes = space.classes
    spare = classes.count - 1 - classes.dimension
    if most is None and spare == 0:
        return _settle(reach, farthest_cycle(reach), space.most_in_a_cycle, "cycles through every class of values")
    if most is None and spare == 1:
        balance = null_vector(classes.vectors)
        few = classes.count <= FLOW_CLASSES
        cycle = farthest_cycle(reach, balance)
        flow = farthest_flow(reach, balance) if few else straight_flow(reach, balance)
        best = max((f for f in (cycle, flow) if f is not None), key=lambda f: f.value, default=None)

        def upper() -> int:
            flow = min(space.most_in_a_flow(balance), space.most_in(longest_flow(balance)))
            return max(space.most_in_a_cycle(), flow)

        return _settle(reach, best, upper, "cycles and flows between the classes of values", few=few)
    edges = edge_vectors(classes)
    if not _is_only_bounded(classes, most):
        listed = minimal_sequences(classes, edges, most)
        if listed.complete:
            seen = len(listed.times) * len(reach.top) <= LISTED_WORK
            best = farthest_listed(reach, listed, classes.vectors) if seen else None
            upper_listed = partial(space.most_in, listed.longest)
            return _settle(reach, best, upper_listed, "every minimal zero-sum sequence", few=seen)
    length = length_of(classes)
    return Farthest(space.most_in(length)), False, f"over neighbours that differ in at most {length} records"


def _is_only_bounded(classes: Classes, most: int | None) -> bool:
    """Whether sequences are too many to be looked at, so that only their length is bounded."""
    few = classes.dimension == 4 and classes.count <= FLOW_CLASSES
    return most is None and classes.count > max(6, classes.dimension + 2) and classes.dimension > 3 and not few


def length_of(classes: Classes) -> int:
    """A length that no minimal sequence of moves exceeds; Refused where it is of no use.

    Why   beyond so many classes the vectors of moves are not told apart: twice what a class adds is all that a move can
          change, and there are no more vectors than pairs.
    """
    if classes.count <= MANY_CLASSES:
        vectors = {max(v, tuple(-e for e in v)) for v in differences(classes.vectors)}
        count, entries = len(vectors), max(sum(map(abs, vector)) for vector in vectors)
    else:
        count, entries = classes.count**2 // 2, min(classes.dimension, 2 * max(map(sum, classes.vectors)))
    rest = classes.dimension + 1
    by_tables = [length_bound_over_a_table(parts, rest - parts, others) for parts, others in classes.beside]
    length = max(min(length_bound(classes.dimension, count, entries), *by_tables), classes.count)
    if length > LENGTH_LIMIT:
        raise Refused(
            f"no useful bound is known for {classes.dimension} known counts that overlap like these: neighbours might "
            f"differ in more than {LENGTH_LIMIT:,} records",
            fix="where one table that holds all of them is public too, list that one alone: it has a price",
            where="known",
        )
    return length


def _settle(
    reach: Reach, best: Farthest | None, upper: Callable[[], int], how: str, *, few: bool = True
) -> tuple[Farthest | None, bool, str]:
    """The best that was found, if it is known to be the best; else the upper bound. `few`: all sequences were tried."""
    if few and reach.complete:
        return best, True, f"over {how}"
    bound = upper()
    if best is not None and best.value >= bound:
        return best, True, f"over {how}"
    return Farthest(bound), False, f"over {how}"


def _inside(space: AnswerSpace) -> Loss:
    """The largest push of a single secret move that changes no known count."""
    x, y = space.classes.inside
    if not len(x):
        return Loss(Fraction(0), None, True)
    moved = space.apart(x, y)
    at = int(np.argmax(moved))
    ends = (space.classes.record(int(x[at])), space.classes.record(int(y[at])))
    return Loss(Fraction(int(moved[at]), space.common), ends if moved[at] else None, True)


def edge_vectors(classes: Classes) -> frozenset[Vector]:
    """The vectors of secret moves that change a known count, in both directions."""
    return frozenset(step(classes.vectors[a], classes.vectors[b]) for a, b in classes.arcs)


def longest_flow(balance: Sequence[int]) -> int:
    """The length of the longest flow without cycles of a given balance: sources first, sinks last.

    Why  every unit stops at every class, so the length is the sum of balance times position, which is largest
         for the balances in rising order (rearrangement inequality).
    """
    return sum(entry * place for place, entry in enumerate(sorted(balance)))
