"""One part of the domain along which a record can move, seen by the certifying kernel.

The loss of a step is a sum over queries, and given *which splits the step crosses* each query looks at
one part of the domain only. So the kernel asks every part, its axes, two things: which patterns of
crossings a step along it can show, and the most that the queries living on it can move under each pattern.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Protocol, assert_never

import numpy as np

from tetraodon.arrays import Bools, Ints
from tetraodon.policy.attribute_graph import Everything, Within
from tetraodon.policy.secret_graph import SecretGraph
from tetraodon.workload.among import Among
from tetraodon.workload.chosen_tables import ChosenTables
from tetraodon.workload.contribution import AllRanges, Answerers, One, Prefix, Table
from tetraodon.workload.disguised import Disguised
from tetraodon.workload.divided import Divided
from tetraodon.workload.each_person import EachPerson
from tetraodon.workload.flows import Flows
from tetraodon.workload.linear import Split
from tetraodon.workload.number import Number
from tetraodon.workload.ranks import Ranks
from tetraodon.workload.smooth import Hats, Ramps
from tetraodon.workload.smooth_running import SmoothRunning
from tetraodon.workload.smooth_sums import SmoothSums
from tetraodon.workload.soft import Product, Soft
from tetraodon.workload.squared import Measured, Squared
from tetraodon.workload.weighed_margins import WeighedMargins

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


def best_edge(
    edges: Iterator[tuple[Ints, Ints]],
    same: Sequence[tuple[Term, Ints]],
    lone: Ints,
) -> Peak | None:
    """The edge with the largest lone(x) + lone(y) + sum of weight * apart(x, y), by looking at each.

    `same` pairs a term with the map from the axis's cells to the cells of its contribution.
    """
    best: Peak | None = None
    common = 1 if lone.any() else math.gcd(*(term.weight for term, _ in same)) or 1  # 64 bits do for more
    terms = [replace(term, weight=term.weight // common) for term, _ in same]
    for x, y in edges:
        apart = [term.contribution.apart(cells[x], cells[y]) for term, cells in same]
        moved = lone[x] + lone[y] + weighted(terms, apart, len(x))
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


def masks_between(crossings: Sequence[Crossing], codes: Mapping[str, Ints], x: Ints, y: Ints) -> Ints:
    """One bit for every query with a split here: whether the step from cell x to cell y crosses any of its splits."""
    numbers = crossed_numbers(crossings)
    crosses = []
    for crossing in crossings:
        values = codes[crossing.split.name]
        crossed = crossing.split.of(values[x]) != crossing.split.of(values[y])
        crosses.append((numbers.index(crossing.number), crossed))
    return crossing_masks(crosses, len(x), len(numbers))


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
