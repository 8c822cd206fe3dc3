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
from itertools import chain, combinations
from typing import ClassVar, Protocol, assert_never

import numpy as np

from tetraodon.errors import Refused
from tetraodon.exact.arrays import Bools, Ints
from tetraodon.policy.attribute_graph import (
    AttributeGraph,
    Blocks,
    Everything,
    Pairs,
    Public,
    Within,
    WithinOrMissing,
    WithinShare,
)
from tetraodon.policy.joint_graph import JointGraph
from tetraodon.policy.secret_graph import Factor, SecretGraph
from tetraodon.query.adaptive_partition import Divided
from tetraodon.query.aim import ChosenTables
from tetraodon.query.contribution import AllRanges, Among, Answerers, EachPerson, One, Prefix, Table
from tetraodon.query.edge_flows import Flows
from tetraodon.query.linear import Split
from tetraodon.query.local_log_noise import Disguised
from tetraodon.query.number import Number
from tetraodon.query.ranks import Ranks
from tetraodon.query.smooth import Hats, Ramps, SmoothRunning, SmoothSums
from tetraodon.query.soft_bins import Product, Soft
from tetraodon.query.squared import Measured, Squared
from tetraodon.query.weighted_margins import WeighedMargins

# -- axis -------------------------------------------------------------------------------------------

EDGE_LIMIT = 30_000_000
"""Edges that may be looked at one by one."""


@dataclass(frozen=True)
class Term:
    """One query's contribution with its integer weight (loss per unit moved, times a common denominator)."""

    number: int
    contribution: Measured
    weight: int


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
class Condition:
    """What the condition of query `number` says of the attributes of this axis, where the query adds up others."""

    number: int
    part: Among

    def holds(self, codes: Mapping[str, Ints], cells: Ints) -> Bools:
        """Whether it holds in these cells of the axis, of which `codes` are the codes of each attribute."""
        return self.part.holds([codes[name][cells] for name in self.part.names])


def out_before(number: int) -> int:
    """The mark of a step before which the condition of a query does not hold."""
    return -2 * number - 1


def out_after(number: int) -> int:
    """The mark of a step after which the condition of a query does not hold."""
    return -2 * number - 2


def query_of(mark: int) -> int:
    """The query that a mark is about: its own number says that a split of it is crossed."""
    return mark if mark >= 0 else (-1 - mark) // 2


@dataclass(frozen=True)
class Pattern:
    """A kind of step: how many factors it changes, and its marks for every query that looks at other axes as well.

    A step that changes nothing has marks, too: its record is one for which some conditions do not hold.
    """

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

    @property
    def conditions(self) -> tuple[Condition, ...]: ...

    @property
    def able(self) -> bool:
        """Whether its steps can be told apart by its conditions."""

    @property
    def lists(self) -> bool:
        """Whether steps are looked at one by one, so that a term may count on one side of a step only."""

    def patterns(self) -> Sequence[Pattern]:
        """Every kind of step along this axis, UNCHANGED included."""

    def peak(self, pattern: Pattern, crossed: frozenset[int]) -> Peak:
        """The most that the axis's terms move on a step of this pattern.

        A term whose query crosses a split, here or elsewhere, moves by alone(x) + alone(y), any other by apart(x, y).
        """

    def peak_alone(self) -> Peak:
        """The most that the axis's terms add for one record: what its absence would move."""

    def top(self, terms: Sequence[Term], pattern: Pattern | None) -> Peak:
        """The same of other terms on this axis, among the cells of a pattern that changes nothing; None is all."""


@dataclass(frozen=True)
class JointAxis:
    """What axes of several attributes share. `graph` is the secret graph over just these; cells are its domain's."""

    graph: SecretGraph
    terms: tuple[Term, ...]
    crossings: tuple[Crossing, ...]

    conditions: ClassVar[tuple[Condition, ...]] = ()
    able: ClassVar = True
    lists: ClassVar = False

    @abstractmethod
    def peak_alone(self) -> Peak: ...

    def top(self, terms: Sequence[Term], pattern: Pattern | None) -> Peak:  # noqa: ARG002
        return replace(self, terms=tuple(terms)).peak_alone()

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


def best_edge(
    edges: Iterator[tuple[Ints, Ints]],
    same: Sequence[tuple[Term, Ints]],
    lone: Ints,
    after: Ints | None = None,
) -> Peak | None:
    """The edge with the largest lone(x) + after(y) + sum of weight * apart(x, y), by looking at each.

    `same` pairs a term with the map from the axis's cells to the cells of its contribution; `after` is `lone`, if that
    counts on both sides.
    """
    best: Peak | None = None
    after = lone if after is None else after
    common = (
        1 if lone.any() or after.any() else math.gcd(*(term.weight for term, _ in same)) or 1
    )  # 64 bits do for more
    terms = [replace(term, weight=term.weight // common) for term, _ in same]
    for x, y in edges:
        apart = [term.contribution.apart(cells[x], cells[y]) for term, cells in same]
        moved = lone[x] + after[y] + weighted(terms, apart, len(x))
        top = int(np.argmax(moved))
        if best is None or int(moved[top]) * common > best.value:
            best = Peak(int(moved[top]) * common, int(x[top]), int(y[top]))
    return best


def best_step(lone: Sequence[Term], same: Sequence[Term], x: Ints, y: Ints) -> Peak:
    """The best of some listed steps of one attribute, of which `lone` terms cross a split and `same` ones do not."""
    ends = [term.contribution.alone(x) + term.contribution.alone(y) for term in lone]
    moved = weighted(lone, ends, len(x)) + weighted(same, [t.contribution.apart(x, y) for t in same], len(x))
    top = int(np.argmax(moved))
    return Peak(int(moved[top]), int(x[top]), int(y[top]))


def longest_reach(graph: Everything | Within) -> int:
    """How far apart the two values of a secret can be."""
    last = graph.size - 1
    return min(graph.reach, last) if isinstance(graph, Within) else last


def crossed_numbers(crossings: Sequence[Crossing]) -> list[int]:
    """The queries that have a split here, in the order of their bits in a mask."""
    return sorted({crossing.number for crossing in crossings})


def marks_between(
    crossings: Sequence[Crossing], conditions: Sequence[Condition], codes: Mapping[str, Ints], x: Ints, y: Ints
) -> dict[int, Bools]:
    """For every mark that steps along an axis can have, which of the steps from cells x to cells y have it."""
    marks: dict[int, Bools] = {}
    for crossing in crossings:
        values = codes[crossing.split.name]
        crossed = crossing.split.of(values[x]) != crossing.split.of(values[y])
        marks[crossing.number] = marks[crossing.number] | crossed if crossing.number in marks else crossed
    for condition in conditions:
        here, there = condition.holds(codes, x), condition.holds(codes, y)
        marks[out_before(condition.number)], marks[out_after(condition.number)] = ~here, ~there
        if condition.number in marks:  # it matters only where the condition holds on both sides
            marks[condition.number] = marks[condition.number] & here & there
    return marks


def masks_of(marks: Mapping[int, Bools], size: int) -> Ints:
    """One number for every step, which tells its marks: bits in their order."""
    return crossing_masks(list(enumerate(marks.values())), size, len(marks))


def marked(marks: Mapping[int, Bools], mask: int) -> frozenset[int]:
    """The marks that a mask stands for."""
    return frozenset(mark for bit, mark in enumerate(marks) if mask >> bit & 1)


def both_ways(edges: Iterator[tuple[Ints, Ints]]) -> Iterator[tuple[Ints, Ints]]:
    """Every edge in both directions."""
    for x, y in edges:
        yield x, y
        yield y, x


def terms_by_side(terms: Sequence[Term], crossed: frozenset[int]) -> tuple[list[Term], list[Term], list[Term]]:
    """Terms that move by what two values differ in; those that add what a record has before; and after a step."""
    same, before, after = [], [], []
    for term in terms:
        here, there = out_before(term.number) not in crossed, out_after(term.number) not in crossed
        if here and there and term.number not in crossed:
            same.append(term)
            continue
        if here:
            before.append(term)
        if there:
            after.append(term)
    return same, before, after


def runs_of_equal_columns(matrix: Ints) -> tuple[Ints, Ints]:
    """First and last position of every maximal stretch of equal columns."""
    change = np.flatnonzero((matrix[:, 1:] != matrix[:, :-1]).any(axis=0)) + 1
    starts = np.concatenate([[0], change])
    return starts, np.concatenate([change - 1, [matrix.shape[1] - 1]])


def telling_codes(graph: AttributeGraph, rows: Sequence[Ints]) -> Ints | None:
    """Codes between which steps along an attribute show all kinds of steps that labels of its codes, one row for each
    kind of label, tell apart. None where all steps have to be looked at.

    Why   of two stretches with the same labels throughout, the ends that face each other are the closest.
    """
    rows = list(rows) or [np.zeros(graph.size, np.int64)]
    match graph:
        case Public():
            labels = np.unique(np.stack(rows), axis=1, return_index=True)[1]
            return np.sort(labels)
        case Within() | WithinOrMissing() | WithinShare():
            starts, ends = runs_of_equal_columns(np.stack(rows))
            return np.unique([starts, np.minimum(starts + 1, ends), np.maximum(ends - 1, starts), ends])
        case Everything() | Blocks():  # it does not matter where a stretch lies: two codes of all that are alike
            rows.append(graph.components())
            starts, ends = runs_of_equal_columns(np.stack(rows))
            some = np.unique(np.concatenate([starts, np.minimum(starts + 1, ends)]))
            label = np.unique(np.stack(rows)[:, some], axis=1, return_inverse=True)[1].ravel()
            order = np.argsort(label, kind="stable")
            place = np.arange(len(order)) - np.searchsorted(label[order], label[order])
            return np.sort(some[order[place < 2]])
    return None


# -- terms whose maxima sit at the ends: alone is convex in the code, and apart convex in the distance ----


def linear_in_code(term: Term) -> bool:
    """Whether the contribution is a linear function of one attribute's code, up to signs, or the square of one."""
    match term.contribution:
        case Prefix() as prefix:
            return prefix.rows >= prefix.size - 1
        case Number() as number:
            return number.linear
        case One() | Ramps():
            return True
        case Squared() as squares:  # the square of a linear function is convex
            return isinstance(squares.of, Number) and squares.of.linear
        case (
            Answerers()
            | Table()
            | AllRanges()
            | Hats()
            | Soft()
            | Product()
            | Flows()
            | WeighedMargins()
            | Among()
            | EachPerson()
            | Ranks()
            | ChosenTables()
            | Divided()
            | Disguised()
            | SmoothRunning()
            | SmoothSums()
        ):
            return False
        case _:
            assert_never(term.contribution)


def convex_from_each_end(term: Term) -> bool:
    """Whether, for steps of one length, what is moved is convex in where they begin along any one attribute: that of
    linear functions, of products of them, and of squared distances from the middle.
    """
    kind = term.contribution.of if isinstance(term.contribution, Squared) else term.contribution
    return linear_in_code(term) or (isinstance(kind, Number) and not kind.attribute.separate)


def linear_but_for_missing(term: Term) -> bool:
    """Whether it is linear in an attribute's code, or the square of such, but for a last code that stands apart."""
    kind = term.contribution.of if isinstance(term.contribution, Squared) else term.contribution
    return isinstance(kind, One | Answerers) or (isinstance(kind, Number) and kind.times is None and not kind.squared)


def by_displacement(term: Term) -> bool:
    """Whether the most that a step of given length can move is known without looking at where it begins."""
    return linear_in_code(term) or isinstance(term.contribution, Hats | Soft)


def by_value(crossings: Sequence[Crossing]) -> bool:
    """Whether every split is by value, so that any change crosses it."""
    return all(crossing.split.bins is None for crossing in crossings)


def most_over(term: Term, gap: Ints) -> Ints:
    """The most that a step of each length moves a term, wherever it begins. Pre: `by_displacement`."""
    if isinstance(term.contribution, Soft):
        return term.contribution.most(gap)
    return np.asarray(term.contribution.apart(np.zeros_like(gap), gap))


# -- cell axis --------------------------------------------------------------------------------------
# Several attributes that have to be looked at together, cell by cell: along edges, or between classes of cells.

CLASS_LIMIT = 4096
FEW_CLASSES = 256
"""As many where conditions tell steps apart, which takes longer."""
MERGED_LIMIT = 10_000_000
"""Steps between values that are told apart by conditions, and are looked at one by one."""
LISTED_LIMIT = 100_000_000
"""Numbers that are listed to tell classes of cells apart: what each query sees of every cell."""
PIECE = 2**16
"""Steps that are looked at together: few enough to stay in fast memory."""


@dataclass(frozen=True)
class CellAxis(JointAxis, ABC):
    """Cells, and the steps between them, one by one. `exact` says whether every step that is looked at is one."""

    exact: bool = True
    conditions: tuple[Condition, ...] = ()  # type: ignore[misc]
    lists: ClassVar = True

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
        names = term.contribution.names
        shape = self.graph.domain.project(names).shape
        return np.asarray(np.ravel_multi_index([self._codes[name] for name in names], shape))

    def _alone(self, terms: Sequence[Term]) -> Ints:
        return weighted(terms, [t.contribution.alone(self._local(t)) for t in terms], self.graph.domain.size)

    def _ways(self) -> Iterator[tuple[int, Ints, Ints]]:
        """The steps; in both directions where conditions tell these apart."""
        for cost, x, y in self._steps():
            yield cost, x, y
            if self.conditions:
                yield cost, y, x

    @cached_property
    def _kinds(self) -> dict[Pattern, tuple[int, int]]:
        """Patterns, with a step that shows each."""
        kinds: dict[Pattern, tuple[int, int]] = {}
        numbers = crossed_numbers(self.crossings)
        signed = any(crossing.signed for crossing in self.crossings)
        for cost, x, y in self._ways():
            marks = marks_between(self.crossings, self.conditions, self._codes, x, y)
            for mask, first in zip(*np.unique(masks_of(marks, len(x)), return_index=True), strict=True):
                kinds.setdefault(Pattern(cost, marked(marks, int(mask))), (int(x[first]), int(y[first])))
            if not (self.terms or self.conditions) and not signed and Pattern(1, frozenset(numbers)) in kinds:
                break  # no other step can do more where nothing else is measured
        return kinds

    @cached_property
    def _still(self) -> dict[frozenset[int], Ints]:
        """Cells by the conditions that do not hold there."""
        if not self.conditions:
            return {}
        cells = np.arange(self.graph.domain.size)
        marks = marks_between((), self.conditions, self._codes, cells, cells)
        mask = masks_of(marks, len(cells))
        return {marked(marks, int(one)): np.flatnonzero(mask == one) for one in np.unique(mask)}

    def patterns(self) -> Sequence[Pattern]:
        still = [Pattern(0, marks) for marks in self._still] or [UNCHANGED]
        return (*still, *self._kinds)

    def peak(self, pattern: Pattern, crossed: frozenset[int]) -> Peak:
        same, before, after = terms_by_side(self.terms, crossed)
        if pattern.cost == 0:
            return self.top([*before, *after], pattern)
        if not self.terms:
            return Peak(0, *self._kinds[pattern], self.exact)
        one_sided = [t.number for t in before] != [t.number for t in after] and not self.conditions
        steps = self._steps_of(pattern)
        found = best_edge(
            both_ways(steps) if one_sided else steps,
            [(term, self._local(term)) for term in same],
            self._alone(before),
            self._alone(after),
        )
        assert found is not None
        return replace(found, exact=self.exact)

    def _steps_of(self, pattern: Pattern) -> Iterator[tuple[Ints, Ints]]:
        for cost, x, y in self._ways():
            if cost == pattern.cost:
                marks = marks_between(self.crossings, self.conditions, self._codes, x, y)
                wanted = sum(1 << bit for bit, mark in enumerate(marks) if mark in pattern.crossed)
                good = masks_of(marks, len(x)) == wanted
                if good.any():
                    yield x[good], y[good]

    def peak_alone(self) -> Peak:
        return self.top(self.terms, None)

    def top(self, terms: Sequence[Term], pattern: Pattern | None) -> Peak:
        alone = self._alone(terms)
        cells = self._still.get(pattern.crossed) if pattern is not None else None
        top = int(np.argmax(alone)) if cells is None else int(cells[np.argmax(alone[cells])])
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
class MergedAxis(CellAxis):
    """Attributes tied by conditions, of which values are merged that nothing tells apart: every kind of step between
    the others is listed, factor by factor.
    """

    @property
    def able(self) -> bool:  # type: ignore[override]
        """Whether there are few enough steps to be listed."""
        if self.graph.domain.size > EDGE_LIMIT or any(f.graph.edge_count > EDGE_LIMIT for f in self._whole):
            return False
        return sum(math.prod(len(x) for x, _ in ways) for _, ways in self._by_factors()) <= MERGED_LIMIT

    @cached_property
    def _whole(self) -> list[Factor]:
        """The factors of which every value matters: something is added up along them, or no other value is like it."""
        inner = [one.inner if isinstance(one := term.contribution, Among) else one for term in self.terms]
        added = {name for one in inner for name in one.names}
        return [f for f in self.graph.factors if len(f.names) > 1 or f.names[0] in added or isinstance(f.graph, Pairs)]

    @cached_property
    def _sides(self) -> list[tuple[Ints, tuple[Ints, Ints]]]:
        """For each factor its values, and its steps, one of each pair of opposites."""
        found = []
        for factor in self.graph.factors:
            codes, graph = np.arange(factor.graph.size), factor.graph
            if factor not in self._whole and not isinstance(graph, JointGraph):
                kept = telling_codes(graph, self._labels(factor.names[0]))
                assert kept is not None
                codes = kept
                x, y = (codes[side] for side in np.triu_indices(len(codes), k=1))
                joined = factor.graph.adjacent(x, y)
                steps = x[joined], y[joined]
            else:
                ends = [*factor.graph.edges()] or [(codes[:0], codes[:0])]
                steps = np.concatenate([x for x, _ in ends]), np.concatenate([y for _, y in ends])
            found.append((codes, steps))
        return found

    def _labels(self, name: str) -> list[Ints]:
        """What conditions and splits say of each value of an attribute."""
        parts = [one for term in self.terms if isinstance(one := term.contribution, Among) and name in one.held]
        parts += [one.part for one in self.conditions if name in one.part.held]
        rows = [np.moveaxis(part.table, part.held.index(name), 0) for part in parts]
        labels = [np.unique(row.reshape(len(row), -1), axis=0, return_inverse=True)[1].ravel() for row in rows]
        size = self.graph.domain[name].size
        bins = [c.split for c in self.crossings if c.split.name == name and c.split.bins is not None]
        return [*labels, *(split.of(np.arange(size)) for split in bins)]

    def _by_factors(self) -> Iterator[tuple[int, list[tuple[Ints, Ints]]]]:
        """For each set of factors that a step may change the ends of the steps along every factor."""
        for cost in range(1, self.graph.at_most + 1):
            for changed in combinations(range(len(self._sides)), cost):
                ways = []
                for place, (codes, (x, y)) in enumerate(self._sides):
                    if place not in changed:
                        ways.append((codes, codes))
                    elif place == changed[0]:
                        ways.append((x, y))
                    else:
                        ways.append((np.append(x, y), np.append(y, x)))
                yield cost, ways

    @cached_property
    def _listed(self) -> dict[Pattern, tuple[Ints, Ints]]:
        """The steps of every pattern."""
        found: dict[Pattern, list[tuple[Ints, Ints]]] = {}
        for cost, x, y in self._ways():
            marks = marks_between(self.crossings, self.conditions, self._codes, x, y)
            mask = masks_of(marks, len(x))
            for one in np.unique(mask):
                there = mask == one  # short numbers, for there may be many: `EDGE_LIMIT`
                ends = x[there].astype(np.uint32), y[there].astype(np.uint32)
                found.setdefault(Pattern(cost, marked(marks, int(one))), []).append(ends)
        every = ((pattern, zip(*pieces, strict=True)) for pattern, pieces in found.items())
        return {pattern: (np.concatenate(x), np.concatenate(y)) for pattern, (x, y) in every}

    @cached_property
    def _kinds(self) -> dict[Pattern, tuple[int, int]]:
        return {pattern: (int(x[0]), int(y[0])) for pattern, (x, y) in self._listed.items()}

    def _steps_of(self, pattern: Pattern) -> Iterator[tuple[Ints, Ints]]:
        x, y = self._listed[pattern]
        for start in range(0, len(x), PIECE):
            part = slice(start, start + PIECE)
            yield x[part].astype(np.int64), y[part].astype(np.int64)

    def _steps(self) -> Iterator[tuple[int, Ints, Ints]]:
        for cost, ways in self._by_factors():
            shape = [len(x) for x, _ in ways]
            for start in range(0, math.prod(shape), PIECE):
                places = np.unravel_index(np.arange(start, min(start + PIECE, math.prod(shape))), shape)
                x, y = (self._cells_at([way[end][at] for way, at in zip(ways, places, strict=True)]) for end in (0, 1))
                yield cost, x, y

    def _cells_at(self, values: Sequence[Ints]) -> Ints:
        """The cells with these values of each factor."""
        codes: dict[str, Ints] = {}
        for factor, value in zip(self.graph.factors, values, strict=True):
            shape = self.graph.domain.project(factor.names).shape
            codes.update(zip(factor.names, np.unravel_index(value, shape), strict=True))
        return np.asarray(np.ravel_multi_index([codes[name] for name in self.names], self.graph.domain.shape))


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

    @property
    def able(self) -> bool:  # type: ignore[override]
        """Whether there are few enough classes. Without conditions nothing else is tried, and `_cells` refuses."""
        if not self.conditions and not any(isinstance(term.contribution, Among) for term in self.terms):
            return True
        size, rows = self.graph.domain.size, sum(_rows(term) for term in self.terms)
        few = (rows + len(self.crossings) + len(self.conditions)) * size <= LISTED_LIMIT
        return few and size <= EDGE_LIMIT and self._classes is not None and len(self._classes) <= FEW_CLASSES

    @property
    def _cells(self) -> Ints:
        if self._classes is None:
            raise self._too_many()
        return self._classes

    @cached_property
    def _classes(self) -> Ints | None:
        """One or two cells of every class: two where the class has more than one, since it holds a step then.

        None where there are too many classes.
        """
        terms = sorted(self.terms, key=lambda term: len(term.contribution.names))
        # what is too large is refused before cells are listed
        written = [(term.contribution.columns(), term) for term in terms]
        count = sum(len(table) for table, _ in written) + len(self.crossings) + len(self.conditions)
        if count * self.graph.domain.size > LISTED_LIMIT:
            return None
        label = np.zeros(self.graph.domain.size, np.int64)
        rows = chain(
            (np.asarray(row)[local] for table, term in written for local in [self._local(term)] for row in table),
            (crossing.split.of(self._codes[crossing.split.name]) for crossing in self.crossings),
            (one.holds(self._codes, np.arange(self.graph.domain.size)) for one in self.conditions),
        )
        for row in rows:
            kinds, kind = np.unique(row, return_inverse=True)  # entries may be long: number them first
            _, label = np.unique(label * len(kinds) + kind, return_inverse=True)
            if int(label.max()) >= CLASS_LIMIT:
                return None
        order = np.argsort(label, kind="stable")
        starts = np.flatnonzero(np.diff(label[order], prepend=-1))
        seconds = starts + 1
        double = np.append(np.diff(starts), len(order) - starts[-1]) > 1
        return np.sort(np.concatenate([order[starts], order[seconds[double]]]))


def _rows(term: Term) -> int:
    given = term.contribution.inner if isinstance(term.contribution, Among) else term.contribution
    return given.of.rows if isinstance(given, Squared) else given.rows
