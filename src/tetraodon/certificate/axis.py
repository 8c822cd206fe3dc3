"""The axes of the kernel: parts of the domain along which one record can move.

The loss of a step is a sum over queries, and given *which splits the step crosses* each query looks at
one part of the domain only. So the kernel asks every part, its axes, two things: which patterns of
crossings a step along it can show, and the most that the queries living on it can move under each pattern.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import chain
from typing import Protocol

import numpy as np

from tetraodon.errors import Refused
from tetraodon.exact.arrays import Bools, Ints
from tetraodon.exact.effort import spend
from tetraodon.policy.attribute_graph import Everything, Within
from tetraodon.policy.secret_graph import Factor, SecretGraph
from tetraodon.query.contribution import Contribution, Traits
from tetraodon.query.linear import Split

# -- axis -------------------------------------------------------------------------------------------

EDGE_LIMIT = 30_000_000
"""Edges that may be looked at one by one."""


@dataclass(frozen=True)
class Term:
    """One query's contribution with its integer weight (loss per unit moved, times a common denominator), or that of
    its squares."""

    number: int
    contribution: Contribution
    weight: int
    power: int = 1

    @property
    def names(self) -> tuple[str, ...]:
        return self.contribution.names

    @property
    def traits(self) -> Traits:
        return self.contribution.traits(self.power)

    def alone(self, x: Ints) -> Ints:
        return self.contribution.alone(x, self.power)

    def apart(self, x: Ints, y: Ints) -> Ints:
        return self.contribution.apart(x, y, self.power)

    def most_moved(self, gap: Ints) -> Ints:
        return self.contribution.most_moved(gap, self.power)


def power_of(contribution: Contribution, squares: bool) -> int:
    """2 for squares, unless these are the same."""
    return 2 if squares and not contribution.zeros_and_ones else 1


def has(traits: Traits, *terms: Term) -> bool:
    """Whether all of these are so."""
    return all(traits in term.traits for term in terms)


@dataclass(frozen=True)
class Crossing:
    """A split of query `number` that lies on this axis.

    `signed`: crossing it may move the query's answers less than not crossing it. Never so for the L1 distance, by the
    triangle inequality; for squares, where a record can add to an answer what another takes from it.
    """

    number: int
    split: Split
    signed: bool = False


@dataclass(frozen=True)
class Pattern:
    """A kind of step: how many factors it changes, and which queries' splits it crosses."""

    cost: int
    crossed: frozenset[int]


UNCHANGED = Pattern(0, frozenset())


@dataclass(frozen=True)
class Peak:
    """The most a pattern can move, the two local cells that do it, and whether that is exact."""

    value: int | Fraction
    x: int
    y: int
    exact: bool = True


class Axis(Protocol):
    """What the kernel needs of a part of the domain."""

    @property
    def names(self) -> tuple[str, ...]: ...

    @property
    def terms(self) -> tuple[Term, ...]: ...

    @property
    def crossings(self) -> tuple[Crossing, ...]: ...

    def patterns(self) -> Sequence[Pattern]:
        """Every kind of step along this axis, UNCHANGED included."""

    def peak(self, pattern: Pattern, crossed: frozenset[int]) -> Peak:
        """The most that the axis's terms move on a step of this pattern.

        A term whose query crosses a split, here or elsewhere, moves by alone(x) + alone(y), any other by apart(x, y).
        """

    def peak_alone(self) -> Peak:
        """The most that the axis's terms add for one record: what its absence would move."""


@dataclass(frozen=True)
class JointAxis:
    """What axes of several attributes share. `graph` is the secret graph over just these; cells are its domain's."""

    graph: SecretGraph
    terms: tuple[Term, ...]
    crossings: tuple[Crossing, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return self.graph.domain.names


def weighted(terms: Sequence[Term], arrays: Sequence[Ints], size: int) -> Ints:
    """sum of weight * array, in int64 where it surely fits and in Python integers otherwise."""
    # a weight must fit by itself, even where what it weighs is zero
    bound = sum(term.weight * int(np.abs(array).max(initial=1)) for term, array in zip(terms, arrays, strict=True))
    exact = np.int64 if bound < 2**60 else object
    total = np.zeros(size, exact)
    for term, array in zip(terms, arrays, strict=True):
        total = total + term.weight * array.astype(exact)
    return total


def crossing_masks(crosses: Sequence[tuple[int, Bools]], size: int, bits: int) -> Ints:
    """For every step the set of bits whose splits it crosses; Python integers where 62 bits do not suffice."""
    whole = np.int64 if bits <= 62 else object
    mask = np.zeros(size, whole)
    for bit, crossed in crosses:
        mask |= crossed.astype(whole) << bit
    return mask


def best_edge(edges: Iterator[tuple[Ints, Ints]], same: Sequence[tuple[Term, Ints]], lone: Ints) -> Peak | None:
    """The edge with the largest lone(x) + lone(y) + sum of weight * apart(x, y), by looking at each.

    `same` pairs a term with the map from the axis's cells to the cells of its contribution.
    """
    best: Peak | None = None
    common = 1 if lone.any() else math.gcd(*(term.weight for term, _ in same)) or 1  # 64 bits do for more
    terms = [replace(term, weight=term.weight // common) for term, _ in same]
    for x, y in edges:
        spend(len(x) * (1 + len(terms)))
        apart = [term.apart(cells[x], cells[y]) for term, cells in same]
        moved = lone[x] + lone[y] + weighted(terms, apart, len(x))
        top = int(np.argmax(moved))
        if best is None or int(moved[top]) * common > best.value:
            best = Peak(int(moved[top]) * common, int(x[top]), int(y[top]))
    return best


def best_step(lone: Sequence[Term], same: Sequence[Term], x: Ints, y: Ints) -> Peak:
    """The best of some listed steps of one attribute, of which `lone` terms cross a split and `same` ones do not."""
    ends = [term.alone(x) + term.alone(y) for term in lone]
    moved = weighted(lone, ends, len(x)) + weighted(same, [t.apart(x, y) for t in same], len(x))
    top = int(np.argmax(moved))
    return Peak(int(moved[top]), int(x[top]), int(y[top]))


def longest_reach(graph: Everything | Within) -> int:
    """How far apart the two values of a secret can be."""
    last = graph.size - 1
    return min(graph.reach, last) if isinstance(graph, Within) else last


def crossed_numbers(crossings: Sequence[Crossing]) -> list[int]:
    """The queries that have a split here, in the order of their bits in a mask."""
    return sorted({crossing.number for crossing in crossings})


def masks_between(crossings: Sequence[Crossing], codes: Mapping[str, Ints], x: Ints, y: Ints) -> Ints:
    """One bit for every query with a split here: whether the step from cell x to cell y crosses any of its splits."""
    numbers = crossed_numbers(crossings)
    spend(len(x) * len(crossings))
    crosses = []
    for crossing in crossings:
        values = codes[crossing.split.name]
        crossed = crossing.split.of(values[x]) != crossing.split.of(values[y])
        crosses.append((numbers.index(crossing.number), crossed))
    return crossing_masks(crosses, len(x), len(numbers))


def by_value(crossings: Sequence[Crossing]) -> bool:
    """Whether every split is by value, so that any change crosses it."""
    return all(crossing.split.bins is None for crossing in crossings)


# -- cell axis --------------------------------------------------------------------------------------
# Several attributes that have to be looked at together, cell by cell: along edges, or between classes of cells.

CLASS_LIMIT = 4096
LISTED_LIMIT = 100_000_000
"""Numbers that are listed to tell classes of cells apart: what each query sees of every cell."""
CELL_LIMIT = 10_000_000
"""Cells that may be grouped into classes: each takes some hundred bytes."""
PIECE = 2**16
"""Steps that are looked at together: few enough to stay in fast memory."""


@dataclass(frozen=True)
class CellAxis(JointAxis, ABC):
    """Cells, and the steps between them, one by one. `exact` says whether every step that is looked at is one."""

    exact: bool = True

    @abstractmethod
    def _steps(self) -> Iterator[tuple[int, Ints, Ints]]:
        """Every step, in pieces: how many factors each changes, and its two cells."""

    def _too_many(self) -> Refused:
        return Refused(
            f"{', '.join(self.names)} together have too many values to be compared",
            fix="use coarser attributes, or fewer of them in one query",
        )

    @cached_property
    def _codes(self) -> dict[str, Ints]:
        size, shape = self.graph.domain.size, self.graph.domain.shape
        if size > EDGE_LIMIT:
            raise self._too_many()
        return dict(zip(self.names, np.unravel_index(np.arange(size), shape), strict=True))

    def _local(self, term: Term) -> Ints:
        """The cell of a term's contribution that each cell lies in."""
        names = term.names
        shape = self.graph.domain.project(names).shape
        return np.asarray(np.ravel_multi_index([self._codes[name] for name in names], shape))

    def _alone(self, terms: Sequence[Term]) -> Ints:
        return weighted(terms, [t.alone(self._local(t)) for t in terms], self.graph.domain.size)

    @cached_property
    def _kinds(self) -> dict[Pattern, tuple[int, int]]:
        """Patterns, with a step that shows each."""
        kinds: dict[Pattern, tuple[int, int]] = {}
        numbers = crossed_numbers(self.crossings)
        signed = any(crossing.signed for crossing in self.crossings)
        for cost, x, y in self._steps():
            masks = masks_between(self.crossings, self._codes, x, y)
            for mask, first in zip(*np.unique(masks, return_index=True), strict=True):
                crossed = frozenset(n for bit, n in enumerate(numbers) if int(mask) >> bit & 1)
                kinds.setdefault(Pattern(cost, crossed), (int(x[first]), int(y[first])))
            if not self.terms and not signed and Pattern(1, frozenset(numbers)) in kinds:
                break  # no other step can do more where nothing else is measured
        return kinds

    def patterns(self) -> Sequence[Pattern]:
        return (UNCHANGED, *self._kinds)

    def peak(self, pattern: Pattern, crossed: frozenset[int]) -> Peak:
        alone = self._alone([term for term in self.terms if term.number in crossed])
        if pattern.cost == 0:
            top = int(np.argmax(alone))
            return Peak(2 * int(alone[top]), top, top)
        if not self.terms:
            return Peak(0, *self._kinds[pattern], self.exact)
        same = [(term, self._local(term)) for term in self.terms if term.number not in crossed]
        found = best_edge(self._steps_of(pattern), same, alone)
        assert found is not None
        return replace(found, exact=self.exact)

    def _steps_of(self, pattern: Pattern) -> Iterator[tuple[Ints, Ints]]:
        wanted = sum(1 << bit for bit, n in enumerate(crossed_numbers(self.crossings)) if n in pattern.crossed)
        for cost, x, y in self._steps():
            if cost == pattern.cost:
                good = masks_between(self.crossings, self._codes, x, y) == wanted
                if good.any():
                    yield x[good], y[good]

    def peak_alone(self) -> Peak:
        alone = self._alone(self.terms)
        top = int(np.argmax(alone))
        return Peak(int(alone[top]), top, top)


@dataclass(frozen=True)
class GridAxis(CellAxis):
    """Attributes tied by a joint metric, by a predicate over several of them, or by a weight: every edge is a step."""

    def _steps(self) -> Iterator[tuple[int, Ints, Ints]]:
        factors = self.graph.factors
        if len(factors) == 1:
            if factors[0].graph.edge_count > EDGE_LIMIT:
                raise Refused(f"too many secrets over {', '.join(self.names)}", fix="coarsen the grid")
            order = self._cells_of(factors[0])
            for x, y in factors[0].graph.edges():
                yield 1, order[x], order[y]
            return
        found = self.graph.remembered.get("steps")
        if found is None:  # cells of lists of all pairs have short numbers: `MATRIX_LIMIT`
            found = [(cost, x.astype(np.uint16), y.astype(np.uint16)) for cost, x, y in self._by_cost()]
            self.graph.remembered["steps"] = found
        for cost, x, y in found:
            for start in range(0, len(x), PIECE):
                part = slice(start, start + PIECE)
                yield cost, x[part].astype(np.int64), y[part].astype(np.int64)

    def _by_cost(self) -> Iterator[tuple[int, Ints, Ints]]:
        """Edges between records, by how many factors they change."""
        x, y = self.graph.edge_cells()
        cost = np.zeros(len(x), np.int64)
        for factor in self.graph.factors:
            cost += np.logical_or.reduce([self._codes[n][x] != self._codes[n][y] for n in factor.names])
        for changed in np.unique(cost):
            yield int(changed), x[cost == changed], y[cost == changed]

    def _cells_of(self, factor: Factor) -> Ints:
        """The local cell of each vertex of a factor that covers all attributes, maybe in another order."""
        shape = self.graph.domain.project(factor.names).shape
        vertex = np.ravel_multi_index([self._codes[name] for name in factor.names], shape)
        return np.asarray(np.argsort(vertex))


@dataclass(frozen=True)
class ClassAxis(CellAxis):
    """Many cells, grouped by what the queries see of them, so that classes are compared instead of cells.

    Every pair of cells counts as a step. That is `exact` for the complete graph, and a safe upper bound for any other.
    """

    def _steps(self) -> Iterator[tuple[int, Ints, Ints]]:
        cells = self._cells
        for position in range(len(cells) - 1):
            others = cells[position + 1 :]
            yield 1, np.full(len(others), cells[position]), others

    @cached_property
    def _cells(self) -> Ints:
        """One or two cells of every class: two where the class has more than one, since it holds a step then."""
        terms = sorted(self.terms, key=lambda term: len(term.names))
        # what is too large is refused before cells are listed
        written = [(term.contribution.columns(), term) for term in terms]
        count = sum(len(table) for table, _ in written) + len(self.crossings)
        if count * self.graph.domain.size > LISTED_LIMIT or self.graph.domain.size > CELL_LIMIT:
            raise self._too_many()
        label = np.zeros(self.graph.domain.size, np.int64)
        rows = chain(
            (np.asarray(row)[local] for table, term in written for local in [self._local(term)] for row in table),
            (crossing.split.of(self._codes[crossing.split.name]) for crossing in self.crossings),
        )
        for row in rows:
            spend(4 * len(label))  # sorting twice
            kinds, kind = np.unique(row, return_inverse=True)  # entries may be long: number them first
            _, label = np.unique(label * len(kinds) + kind, return_inverse=True)
            if int(label.max()) >= CLASS_LIMIT:
                raise self._too_many()
        order = np.argsort(label, kind="stable")
        starts = np.flatnonzero(np.diff(label[order], prepend=-1))
        seconds = starts + 1
        double = np.append(np.diff(starts), len(order) - starts[-1]) > 1
        return np.sort(np.concatenate([order[starts], order[seconds[double]]]))
