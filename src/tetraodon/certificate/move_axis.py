"""Attributes tied by a metric that looks at displacements alone: the worst step is found among displacements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tetraodon.arrays import Ints
from tetraodon.certificate.axis import UNCHANGED, Crossing, Pattern, Peak, Term, crossing_masks, weighted
from tetraodon.policy.joint_metric import JointMetric
from tetraodon.policy.secret_graph import SecretGraph
from tetraodon.workload.smooth import Hats
from tetraodon.workload.soft import Soft


@dataclass(frozen=True)
class MoveAxis:
    """A grid with an l1, l2 or linf metric, measured by queries that are linear in each code, or by smoothed bins.

    Why   what a step moves without crossing a split depends on its displacement only; smoothed bins it moves by most if
          it begins at code 0, soft bins by at most a known bound. Where a split is crossed, each attribute adds a
          convex function of where the step begins, whose maximum is at an end of the grid.
    """

    graph: SecretGraph
    metric: JointMetric
    terms: tuple[Term, ...]
    crossings: tuple[Crossing, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return self.graph.domain.names

    @cached_property
    def _moves(self) -> dict[str, Ints]:
        """Displacements along each attribute, one of each pair of opposites."""
        listed = self.metric.displacements
        order = self.graph.factors[0].names
        return {name: listed[:, order.index(name)] for name in self.names}

    @cached_property
    def _kinds(self) -> dict[Pattern, Ints]:
        """Patterns, with the displacements that show each."""
        numbers = sorted({crossing.number for crossing in self.crossings})
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
            same = [t for t in self.terms if t.contribution.names == (name,) and t.number not in crossed]
            gap = np.abs(move)
            lengths = np.arange(int(gap.max()) + 1)
            parts.append(weighted(same, [_most(t, lengths) for t in same], len(lengths))[gap])
            starts[name], lone = self._best_start(name, move, crossed)
            parts.append(lone)
        total = _sum(parts)
        top = int(np.argmax(total))
        x = [int(starts[name][top]) for name in self.names]
        y = [start + int(self._moves[name][rows[top]]) for name, start in zip(self.names, x, strict=True)]
        # smoothed bins move that much from code 0 only, and of soft ones a bound was taken
        smooth = [t for t in self.terms if isinstance(t.contribution, Hats | Soft) and t.number not in crossed]
        tied = any(t.number in crossed and t.contribution.names for t in self.terms)
        exact = not smooth or not (tied or any(isinstance(t.contribution, Soft) for t in smooth))
        return Peak(int(total[top]), self.graph.domain.cell_of(x), self.graph.domain.cell_of(y), exact)

    def _best_start(self, name: str, move: Ints, crossed: frozenset[int]) -> tuple[Ints, Ints]:
        """Where along one attribute the crossing terms add most, and how much, for every displacement."""
        size = self.graph.domain[name].size
        lone = [t for t in self.terms if t.contribution.names == (name,) and t.number in crossed]
        first, last = np.maximum(0, -move), size - 1 - np.maximum(0, move)
        values = [
            weighted(lone, [t.contribution.alone(s) + t.contribution.alone(s + move) for t in lone], len(move))
            for s in (first, last)
        ]
        better = values[1] > values[0]
        return np.where(better, last, first), np.where(better, values[1], values[0])

    def _highest(self, numbers: frozenset[int]) -> Peak:
        codes, value = [], 0
        for name in self.names:
            ends = np.array([0, self.graph.domain[name].size - 1])
            terms = [t for t in self.terms if t.contribution.names == (name,) and t.number in numbers]
            total = weighted(terms, [t.contribution.alone(ends) for t in terms], 2)
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


def _most(term: Term, gap: Ints) -> Ints:
    """The most that a step of each length moves a term, wherever it begins."""
    if isinstance(term.contribution, Soft):
        return term.contribution.most(gap)
    return np.asarray(term.contribution.apart(np.zeros_like(gap), gap))
