"""How far sums of cells can be off where parts were divided: from the numbers that were drawn last.

Which parts were divided follows from the counts of all rounds but the last. The count of a part that was drawn once
more, and those of the last round, have noise that is independent of these. So given how the parts were divided, the
last numbers are the truth and independent noise, and what is chosen by looking at the parts alone is not chosen by that
noise. Counts are not negative: a sum of cells is no less than the parts that lie inside it have, and no more than those
that touch it. Each end fails with half of what may fail, and both together with no more than it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import TypeAlias

import numpy as np

from tetraodon.arrays import Bools, Floats, Ints
from tetraodon.mechanism.divided.rounds_fit import known_totals, parts_of
from tetraodon.mechanism.strategy import Ends, Measured, Scaled
from tetraodon.noise.laws import NoiseLaw
from tetraodon.workload.divided import pooled

Sums: TypeAlias = tuple[Floats, Floats]
"""Sums of last numbers, and the variances of their noise."""


@dataclass(frozen=True, eq=False)
class Settled:
    """Parts of one width: which of them were told for the last time, as what, and with how much noise."""

    width: int
    there: Bools
    counts: Floats
    scale: Fraction


@dataclass(frozen=True, eq=False)
class LastNumbers:
    """The last numbers of all parts, and the exact `total`, where it is known."""

    at: Scaled
    levels: tuple[Settled, ...]
    total: float | None

    @staticmethod
    def of(at: Scaled, measured: Measured) -> LastNumbers:
        parts, found = parts_of(at), []
        by = at.shape[: len(at.shape) - len(parts.sizes)]
        for place, one in enumerate(parts.told(measured[0], at.scale)):
            last = place == parts.rounds - 1
            scale = (parts.scale_of if last else parts.scale_again)(at.scale, place)
            counts = np.where(one.settled, one.counts if last else one.again, 0).astype(np.float64)
            shape = (*by, *parts.grid(one.width))
            found.append(Settled(one.width, one.settled.reshape(shape), counts.reshape(shape), scale))
        totals = known_totals(at, measured)
        return LastNumbers(at, tuple(found), float(totals[0]) if totals is not None and not by else None)

    def over(self, mask: Bools, *, touching: bool) -> Sums:
        """The sum over the parts that lie inside a mask of cells, or over all that touch it."""
        sides = len(parts_of(self.at).sizes)
        summed, variance = 0.0, 0.0
        for one in self.levels:
            covered = pooled(mask.astype(np.int64), one.width, sides)
            whole = pooled(np.ones(mask.shape, np.int64), one.width, sides)
            taken = one.there & (covered > 0 if touching else covered == whole)
            summed += float(one.counts[taken].sum())
            variance += int(taken.sum()) * self._law.smooth_variance(one.scale)
        return np.asarray(summed), np.asarray(variance)

    def in_boxes(self, low: Ends, high: Ends, *, touching: bool) -> Sums:
        """The same for many boxes of cells, both ends included."""
        shape, sides = self.at.shape, len(parts_of(self.at).sizes)
        summed, variance = np.zeros(()), np.zeros(())
        for one in self.levels:
            ends: list[tuple[Ints, Ints]] = []
            for axis, (first, last) in enumerate(zip(low, high, strict=True)):
                width = one.width if axis >= len(shape) - sides else 1
                if touching:
                    ends.append((first // width, last // width + 1))
                    continue
                begin = -(-first // width)
                end = np.where(last == shape[axis] - 1, one.there.shape[axis], (last + 1) // width)
                ends.append((begin, np.maximum(begin, end)))
            summed = summed + _box_sums(one.counts, ends)
            variance = variance + _box_sums(one.there, ends) * self._law.smooth_variance(one.scale)
        return summed, variance

    def between(self, inside: Sums, touched: Sums, confidence: Fraction) -> Sums:
        """Centres and reaches of intervals from what lies inside to what touches.

        Why   where the total is known, the parts outside tell as much: whichever have less noise are taken, and that
              depends on how the parts were divided, and not on their last numbers.
        """
        ends = []
        for (summed, variance), sign in ((inside, -1), (touched, 1)):
            if self.total is not None:
                everywhere, spare = self.over(np.ones(self.at.shape, np.bool_), touching=True)
                outside = np.maximum(spare - variance, 0.0)
                summed = np.where(outside < variance, self.total - (everywhere - summed), summed)
                variance = np.minimum(outside, variance)
            variance = np.maximum(variance, 0.0)
            widest = np.minimum(max(float(one.scale) for one in self.levels), np.sqrt(variance / 2))
            reach = self._law.reach(variance.ravel(), widest.ravel(), confidence).reshape(variance.shape)
            ends.append(summed + sign * np.where(variance > 0, reach, 0.0))
        lower, upper = np.minimum(*ends), np.maximum(*ends)
        return (lower + upper) / 2, (upper - lower) / 2

    @property
    def _law(self) -> NoiseLaw:
        return self.at.strategy.noise


def _box_sums(values: Bools | Floats, ends: list[tuple[Ints, Ints]]) -> Floats:
    """Sums over boxes, from running sums along every axis: their corners, added and subtracted."""
    running = np.pad(values.astype(np.float64), [(1, 0)] * values.ndim)
    for axis in range(values.ndim):
        running = np.cumsum(running, axis=axis)
    found = np.zeros(())
    for corner in product((0, 1), repeat=values.ndim):
        sign = (-1) ** (values.ndim - sum(corner))
        found = found + sign * running[tuple(ends[axis][side] for axis, side in enumerate(corner))]
    return np.asarray(found)
