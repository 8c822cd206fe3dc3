"""Ranges, running counts and rectangles of sparse data by adaptive partitions.

Where most records are in few places, most of the noise on a fixed table is in vain. So the budget is spent in rounds
([QYL13], [ZXX16]): counts of wide parts first, then of the pieces of those that are large, while a part that is small
is counted once more with all that is left for it. [LHM14] choose buckets first and measure them then; here what finds
the parts is measured too, and used. No part is looked at outside the budget, and the whole is certified before any data
is seen (`query/adaptive_partition.py`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

import numpy as np

from tetraodon.exact.arrays import Bools, Floats, Ints
from tetraodon.mechanism.one_scale import exact_totals
from tetraodon.mechanism.strategy import (
    Ends,
    Measured,
    Mechanism,
    Scaled,
    Strategy,
    asked_along,
    box_sums,
    reading_of,
)
from tetraodon.noise.laws import NoiseLaw
from tetraodon.policy.policy import Policy
from tetraodon.query.adaptive_partition import FAN, Divided, Round, pooled, spread
from tetraodon.query.contribution import One
from tetraodon.query.linear import LinearQuery
from tetraodon.query.query import SPARSE, EveryRange, EveryRectangle, ListedRanges, Query, RunningCounts

# -- rounds fit -------------------------------------------------------------------------------------
# From what each round told to a table of counts: least squares over all rounds.

Told: TypeAlias = tuple[Floats, Floats]
"""Estimates of the counts of parts, and their variances."""


def parts_of(at: Scaled) -> Divided:
    """The parts of a strategy."""
    return at.contribution(Divided)


def known_totals(at: Scaled, measured: Measured) -> Floats | None:
    """The exact number of records in each cell of what the parts are split by, where it is known."""
    strategy = at.strategy
    totals = LinearQuery(One(), strategy.noisy[0].by)
    if totals not in strategy.exact:
        return None
    return measured[len(strategy.noisy) + strategy.exact.index(totals)].astype(np.float64).ravel()


def fitted(at: Scaled, measured: Measured) -> Floats:
    """The table that fits all rounds together best, even inside parts that were not divided.

    Why   least squares in a tree: upwards, every part is the average by precision of its own counts and of what its
          pieces add up to; downwards, the pieces share what is missing as their variances stand.
    """
    parts = parts_of(at)
    fan, sides = FAN[len(parts.sizes)], len(parts.sizes)
    rounds = list(parts.told(measured[0], at.scale))
    best = [_own(one, place, at) for place, one in enumerate(rounds)]
    pieces: list[Told] = []
    for place in range(len(rounds) - 2, -1, -1):
        divided, (value, variance) = rounds[place].divided, best[place]
        summed, theirs = (pooled(part, fan, sides) for part in best[place + 1])
        together = 1 / (1 / variance + 1 / theirs)
        joined = (value / variance + summed / theirs) * together
        best[place] = np.where(divided, joined, value), np.where(divided, together, variance)
        pieces.insert(0, (summed, theirs))
    value = _with_totals(*best[0], known_totals(at, measured))
    cells = np.zeros((len(value), *parts.sizes))
    for place, one in enumerate(rounds):
        if place:
            (own, spare), (summed, theirs) = best[place], pieces[place - 1]
            value = own + spare * spread((value - summed) / theirs, fan, own.shape[1:])
        size = pooled(np.ones(parts.sizes), one.width, sides)
        cells += spread(np.where(one.settled, value / size, 0.0), one.width, parts.sizes)
    return cells.reshape(at.shape)


def _own(one: Round, place: int, at: Scaled) -> Told:
    """What the counts of each part by themselves tell."""
    parts, noise = parts_of(at), at.strategy.noise
    counts, first = one.counts.astype(np.float64), noise.variance(parts.scale_of(at.scale, place))
    if place == parts.rounds - 1:
        return counts, np.full(counts.shape, first)
    last = noise.variance(parts.scale_again(at.scale, place))
    both, together = (counts * last + one.again * first) / (first + last), first * last / (first + last)
    return np.where(one.settled, both, counts), np.where(one.settled, together, first)


def _with_totals(value: Floats, variance: Floats, totals: Floats | None) -> Floats:
    """The widest parts, with what is missing to exact totals shared as their variances stand."""
    if totals is None:
        return value
    sides = tuple(range(1, value.ndim))
    missing = (totals - value.sum(axis=sides)) / variance.sum(axis=sides)
    return np.asarray(value + variance * missing.reshape(-1, *(1 for _ in sides)))


# -- intervals --------------------------------------------------------------------------------------
# How far sums of cells can be off where parts were divided: from the numbers that were drawn last.
#
# Which parts were divided follows from the counts of all rounds but the last. The count of a part that was drawn once
# more, and those of the last round, have noise that is independent of these. So given how the parts were divided, the
# last numbers are the truth and independent noise, and what is chosen by looking at the parts alone is not chosen by
# that noise. Counts are not negative: a sum of cells is no less than the parts that lie inside it have, and no more
# than those that touch it. Each end fails with half of what may fail, and both together with no more than it.

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
            starts, stops = list[Ints](), list[Ints]()
            for axis, (first, last) in enumerate(zip(low, high, strict=True)):
                width = one.width if axis >= len(shape) - sides else 1
                if touching:
                    starts.append(first // width)
                    stops.append(last // width)
                    continue
                begin = -(-first // width)
                end = np.where(last == shape[axis] - 1, one.there.shape[axis], (last + 1) // width)
                starts.append(begin)
                stops.append(np.maximum(begin, end) - 1)
            summed = summed + box_sums(one.counts, starts, stops)
            variance = variance + box_sums(one.there, starts, stops) * self._law.smooth_variance(one.scale)
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


# -- divided ----------------------------------------------------------------------------------------

SHORTEST = 16
"""Attributes with fewer values have no parts that are worth it."""
LONGEST = 2**17
MOST_CELLS = 2**22


@dataclass(frozen=True)
class AdaptivePartition(Mechanism):
    """Small parts are taken to be even inside, so that `expected_error` is that of noise alone, if all were divided."""

    name = "divided"
    answers = (
        EveryRectangle,
        EveryRange,
        ListedRanges,
        RunningCounts,
    )
    words = "noise on parts that are divided where they are large"
    adds_noise = False
    remark = (
        "That is the noise if all parts were divided. Where records are in few places there is less of it; what is "
        "uneven inside parts that are not divided comes on top, and no plan can know it. Intervals allow for both."
    )

    def propose(self, query: Query, policy: Policy) -> Iterator[Strategy]:
        reading, table = query.reading(policy.domain), query.table(policy.domain)
        sides = 2 if isinstance(reading, EveryRectangle) else 1
        attributes = [policy.domain[split.name] for split in table[-sides:]]
        sizes = [split.size(policy.domain) for split in table]
        plain = all(a.ordered and s.bins is None for a, s in zip(attributes, table[-sides:], strict=True))
        fits = SHORTEST <= max(sizes[-sides:]) <= LONGEST and math.prod(sizes) <= MOST_CELLS
        shares = isinstance(reading, RunningCounts) and reading.shares
        if query.shape != SPARSE or shares or not plain or not fits or policy.known:
            return
        _, exact, _ = exact_totals(by := table[:-sides], table, policy)
        parts = Divided(tuple(a.name for a in attributes), tuple(a.size for a in attributes))
        yield Strategy(self, (LinearQuery(parts, by),), exact, table)

    def expected_error(self, query: Query, at: Scaled) -> float:
        return math.sqrt(mean_variance(query, at))

    def compared_as(self, strategy: Strategy) -> float:
        """Why  on a line, running counts of other ways are made to rise, which helps where data are sparse, too."""
        return 0.6 if len(strategy.noisy[0].contribution.names) == 1 else 0.4

    def largest_error(self, query: Query, at: Scaled, confidence: Fraction) -> float:
        return math.inf  # how uneven small parts are inside, no plan can know

    def fit(self, at: Scaled, measured: Measured) -> Floats:
        return fitted(at, measured)

    def reach(self, at: Scaled, mask: Bools, confidence: Fraction) -> float:
        """If all parts were divided: tables are compared by it, and no interval is."""
        terms, scale = int(mask.sum()), parts_of(at).scale_of(at.scale, -1)
        return at.strategy.noise.sum_quantile(scale, terms, confidence) if terms else 0.0

    def interval(self, at: Scaled, measured: Measured, mask: Bools, confidence: Fraction) -> tuple[float, float]:
        last = LastNumbers.of(at, measured)
        inside, touched = (last.over(mask, touching=touching) for touching in (False, True))
        centre, reach = last.between(inside, touched, confidence)
        return float(centre), float(reach)

    def box_intervals(
        self, at: Scaled, measured: Measured, low: Ends, high: Ends, confidence: Fraction
    ) -> tuple[Floats, Floats]:
        last = LastNumbers.of(at, measured)
        inside, touched = (last.in_boxes(low, high, touching=touching) for touching in (False, True))
        return last.between(inside, touched, confidence)


ADAPTIVE_PARTITION = AdaptivePartition()


@lru_cache(maxsize=64)
def mean_variance(query: Query, at: Scaled) -> float:
    """Mean over the answers of the variance of their noise, if all parts were divided.

    Why   parts of every round lie inside those of the round before. So tables that are even inside the parts of round
          l and add up to nothing in those of round l - 1 are common eigenvectors of all rounds: a part of w cells has
          w times their squares in its counts. What of an answer lies in each of these spaces is a difference of means
          over parts. It is exact where the parts of every round are equally wide.
    """
    parts = parts_of(at)
    sides = asked_along(reading_of(query, at.domain), parts.sizes)

    def evenly(width: int) -> float:
        """The mean square of what is left of an answer's weights when they are made even inside parts of a width."""
        return math.prod(one.mean(np.arange(one.size) // width) for one in sides)

    noise = [at.strategy.noise.variance(parts.scale_of(at.scale, place)) for place in range(parts.rounds)]
    known = LinearQuery(One(), at.strategy.noisy[0].by) in at.strategy.exact
    total, before, cells = 0.0, evenly(max(parts.sizes)) if known else 0.0, len(parts.sizes)
    for place, width in enumerate(parts.widths):
        even = evenly(width)
        precision = sum(parts.widths[later] ** cells / noise[later] for later in range(place, parts.rounds))
        total += max(even - before, 0.0) / precision
        before = even
    return total
