"""Attributes tied by a metric that looks at displacements alone: the worst one, or a bound where they are too many."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import assert_never

import numpy as np

from tetraodon.certificate.axis import (
    UNCHANGED,
    Crossing,
    JointAxis,
    Pattern,
    Peak,
    Term,
    by_value,
    crossed_numbers,
    crossing_masks,
    has,
    weighted,
)
from tetraodon.exact.arrays import Ints
from tetraodon.policy.joint_graph import JointMetric
from tetraodon.policy.secret_graph import SecretGraph
from tetraodon.query.contribution import Traits
from tetraodon.query.soft_bins import Soft

FEW_EDGES = 100_000
"""Up to so many, smoothed bins are looked at edge by edge rather than bounded."""


def by_metric(
    graph: SecretGraph, metric: JointMetric, terms: tuple[Term, ...], crossings: tuple[Crossing, ...]
) -> MoveAxis | RateAxis | None:
    """A quick way to look at attributes tied by a metric; None where every edge has to be, or may as well be."""
    if metric.metric == "great circle km" or not by_value(crossings) or not has(Traits.BY_LENGTH, *terms):
        return None
    if not metric.listable and all(t.power == 1 for t in terms):  # squares have no rate
        return RateAxis(graph, terms, crossings, metric)
    if has(Traits.LINEAR, *terms) or not metric.listable or metric.edge_count > FEW_EDGES:
        return MoveAxis(graph, terms, crossings, metric)
    return None


@dataclass(frozen=True)
class MoveAxis(JointAxis):
    """A grid with an l1, l2 or linf metric, measured by queries that are linear in each code, or by smoothed bins.

    Why   what a step moves without crossing a split depends on its displacement only; smoothed bins it moves by most if
          it begins at code 0, soft bins by at most a known bound. Where a split is crossed, each attribute adds a
          convex function of where the step begins, whose maximum is at an end of the grid.
    """

    metric: JointMetric

    @cached_property
    def _moves(self) -> dict[str, Ints]:
        """Displacements along each attribute, one of each pair of opposites."""
        listed = self.metric.displacements
        order = self.graph.factors[0].names
        return {name: listed[:, order.index(name)] for name in self.names}

    @cached_property
    def _kinds(self) -> dict[Pattern, Ints]:
        """Patterns, with the displacements that show each."""
        numbers = crossed_numbers(self.crossings)
        crosses = [(numbers.index(c.number), self._moves[c.split.name] != 0) for c in self.crossings]
        mask = crossing_masks(crosses, len(self._moves[self.names[0]]), len(numbers))
        kinds = {}
        for value in np.unique(mask):
            crossed = frozenset(n for bit, n in enumerate(numbers) if int(value) >> bit & 1)
            kinds[Pattern(1, crossed)] = np.flatnonzero(mask == value)
        return kinds

    def patterns(self) -> Sequence[Pattern]:
        return (UNCHANGED, *self._kinds)

    def peak(self, pattern: Pattern, crossed: frozenset[int]) -> Peak:
        if pattern.cost == 0:
            alone = self._highest(crossed)
            return Peak(2 * alone.value, alone.x, alone.x)
        rows = self._kinds[pattern]
        parts, starts = [], {}
        for name in self.names:
            move = self._moves[name][rows]
            same = [t for t in self.terms if t.names == (name,) and t.number not in crossed]
            gap = np.abs(move)
            lengths = np.arange(int(gap.max()) + 1)
            parts.append(weighted(same, [t.most_moved(lengths) for t in same], len(lengths))[gap])
            starts[name], lone = self._best_start(name, move, crossed)
            parts.append(lone)
        total = _sum(parts)
        top = int(np.argmax(total))
        x = [int(starts[name][top]) for name in self.names]
        y = [start + int(self._moves[name][rows[top]]) for name, start in zip(self.names, x, strict=True)]
        # smoothed bins move that much from code 0 only, and of soft ones a bound was taken
        smooth = [t for t in self.terms if has(Traits.SMOOTHED, t) and t.number not in crossed]
        tied = any(t.number in crossed and t.names for t in self.terms)
        exact = not smooth or not (tied or any(isinstance(t.contribution, Soft) for t in smooth))
        return Peak(int(total[top]), self.graph.domain.cell_of(x), self.graph.domain.cell_of(y), exact)

    def _best_start(self, name: str, move: Ints, crossed: frozenset[int]) -> tuple[Ints, Ints]:
        """Where along one attribute the crossing terms add most, and how much, for every displacement."""
        size = self.graph.domain[name].size
        lone = [t for t in self.terms if t.names == (name,) and t.number in crossed]
        first, last = np.maximum(0, -move), size - 1 - np.maximum(0, move)
        values = [weighted(lone, [t.alone(s) + t.alone(s + move) for t in lone], len(move)) for s in (first, last)]
        better = values[1] > values[0]
        return np.where(better, last, first), np.where(better, values[1], values[0])

    def _highest(self, numbers: frozenset[int]) -> Peak:
        codes, value = [], 0
        for name in self.names:
            ends = np.array([0, self.graph.domain[name].size - 1])
            terms = [t for t in self.terms if t.names == (name,) and t.number in numbers]
            total = weighted(terms, [t.alone(ends) for t in terms], 2)
            top = int(np.argmax(total))
            codes.append(int(ends[top]))
            value += int(total[top])
        cell = self.graph.domain.cell_of(codes)
        return Peak(value, cell, cell)

    def peak_alone(self) -> Peak:
        return self._highest(frozenset(term.number for term in self.terms))


def _sum(parts: Sequence[Ints]) -> Ints:
    """In int64 where it surely fits, and in Python integers otherwise."""
    exact = np.int64 if sum(int(part.max()) for part in parts) < 2**63 else object
    return np.asarray(sum(part.astype(exact) for part in parts))


@dataclass(frozen=True)
class RateAxis(JointAxis):
    """A grid with an l1, l2 or linf metric, measured by queries that move no faster than linearly in each code.

    Why   a step that moves t_i on attribute i moves a term there by at most rate_i t_i (and, on a staircase, one tread
          more). Under L1 the t_i add up to at most theta, so all of it on the fastest attribute is a bound; under L2
          theta times the length of the vector of rates; under the maximum norm every attribute moves.
    """

    metric: JointMetric

    def patterns(self) -> Sequence[Pattern]:
        """Why  to cross every split is the worst there is, unless crossing one may move less than not crossing it: then
        any attributes may change, and the others stay.
        """
        if not self._near:
            return (UNCHANGED,)
        crossed = {frozenset(crossing.number for crossing in self.crossings)}
        free = sorted({crossing.split.name for crossing in self.crossings if crossing.signed})
        for count in range(len(free)):
            for changed in combinations(free, count):
                crossed.add(frozenset(c.number for c in self.crossings if not c.signed or c.split.name in changed))
        return (UNCHANGED, *(Pattern(1, numbers) for numbers in sorted(crossed, key=sorted)))

    def peak(self, pattern: Pattern, crossed: frozenset[int]) -> Peak:
        lone = 2 * sum(self._top(term) for term in self.terms if term.number in crossed)
        if pattern.cost == 0:
            return Peak(lone, 0, 0, not lone)
        same = [term for term in self.terms if term.number not in crossed]
        x, y = self._some_edge()
        return Peak(lone + self._fastest(same), x, y, exact=False)

    def peak_alone(self) -> Peak:
        return Peak(sum(self._top(term) for term in self.terms), 0, 0, exact=False)

    def _top(self, term: Term) -> int:
        if not term.names:
            return 0  # the kernel adds what every record counts
        ends = np.array([0, self.graph.domain[term.names[0]].size - 1])
        return term.weight * int(term.alone(ends).max())

    def _fastest(self, terms: Sequence[Term]) -> Fraction:
        order = self.graph.factors[0].names
        speed, slack, most = [], Fraction(0), Fraction(0)
        for name, step, size in zip(order, self.metric.steps, self.metric.shape, strict=True):
            mine = [term for term in terms if term.names == (name,)]
            rates = [term.weight * _rate(term) for term in mine]
            speed.append(sum(rates, Fraction(0)) / step)
            treads = [(t.weight, t.contribution.tread) for t in mine if isinstance(t.contribution, Soft)]
            slack += sum((2 * weight * (1 - Fraction(1, tread)) for weight, tread in treads), Fraction(0))
            reach = np.array([min(size - 1, int(self.metric.within / step))])
            most += sum(t.weight * int(t.most_moved(reach)[0]) for t in mine)
        match self.metric.metric:
            case "l1":
                bound = self.metric.within * max(speed) + slack
            case "l2":
                bound = self.metric.within * _length_above(speed) + slack
            case "linf" | "great circle km":
                bound = most
            case _:
                assert_never(self.metric.metric)
        return min(bound, most)

    @property
    def _near(self) -> list[str]:
        """Attributes that a step can change alone."""
        lengths = zip(self.graph.factors[0].names, self.metric.steps, self.metric.shape, strict=True)
        return [name for name, step, size in lengths if step <= self.metric.within and size > 1]

    def _some_edge(self) -> tuple[int, int]:
        codes = [int(name == self._near[0]) for name in self.names]
        return 0, self.graph.domain.cell_of(codes)


def _rate(term: Term) -> Fraction:
    """What one code moves a term by at most, but for the treads of a staircase."""
    if isinstance(term.contribution, Soft):
        return Fraction(2, term.contribution.tread)
    return Fraction(int(term.apart(np.array([0]), np.array([1]))[0]))


def _length_above(sides: Sequence[Fraction]) -> Fraction:
    """A rational number that is not below the length of a vector, and that grows with it in proportion.

    Why   scales are set by the loss at unit scale, so that noise twice as strong must lose half as much, exactly.
    """
    longest = max(sides)
    if not longest:
        return Fraction(0)
    scaled = math.ceil(sum((side / longest) ** 2 for side in sides) * 10**18)
    root = math.isqrt(scaled)
    return longest * Fraction(root + (root * root < scaled), 10**9)
