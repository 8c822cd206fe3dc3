"""How far answers read from smoothed counts can be off, from the noise alone."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from functools import lru_cache

import numpy as np

from tetraodon.exact.arrays import Bools, Floats, Ints
from tetraodon.mechanism.hierarchical.fit import (
    BandedFit,
    RunningFit,
    SmoothFit,
    WrittenOutFit,
    inverse_of_squares,
    levels_of,
)
from tetraodon.mechanism.strategy import Scaled
from tetraodon.noise.laws import GAUSSIAN
from tetraodon.query.contribution import One, WeightedSums
from tetraodon.query.linear import LinearQuery
from tetraodon.query.smooth import Hats, Ramps, SmoothRunning, SmoothSums

EXACT_SIZE = 6000
"""Up to this many values the noise of every running count is worked out; above, it is bounded."""
TOGETHER = 256


@lru_cache(maxsize=8)
def fit_of(at: Scaled) -> SmoothFit | WrittenOutFit | BandedFit | RunningFit:
    """Least squares for a strategy's measurements."""
    strategy = at.strategy
    known = LinearQuery(One(), strategy.table[:-1]) in strategy.exact
    leaves, total = strategy.noise.variance(at.scale), 0.0 if known else None
    sums = strategy.noisy[0].contribution
    if isinstance(sums, WeightedSums):
        weights, inverse = _written_out(sums)
        return WrittenOutFit(weights, leaves * float(sums.unit) ** 2, total, inverse)
    if isinstance(sums, SmoothSums):
        return BandedFit(sums, leaves, total)
    if isinstance(sums, SmoothRunning):
        return RunningFit(sums, leaves)
    bins: list[tuple[int, float]] = []
    running: list[tuple[int, float]] = []
    for query, scale in zip(strategy.noisy[1:], strategy.scales(at.scale)[1:], strict=True):
        kind = query.contribution
        variance = strategy.noise.variance(scale) * float(kind.unit) ** 2
        if isinstance(kind, Hats | Ramps):
            (bins if isinstance(kind, Hats) else running).append((kind.width, variance))
        else:
            total = variance
    return SmoothFit(at.shape[-1], leaves, levels_of(bins, running), total)


@lru_cache(maxsize=8)
def _written_out(sums: WeightedSums) -> tuple[Floats, Floats]:
    """The rows in records, and the inverse of their squares: the same at every scale of noise."""
    weights = np.asarray(sums.matrix * float(sums.unit))
    return weights, inverse_of_squares(weights)


@lru_cache(maxsize=8)
def running_noise(at: Scaled) -> tuple[Floats, Floats]:
    """For every running count of one line: its variance and its largest single part, as `NoiseLaw.reach` wants them."""
    fit = fit_of(at)
    if isinstance(fit, SmoothFit) and fit.size > EXACT_SIZE:
        variance = running_variance_bounds(fit) * at.above_discrete
        return variance, np.sqrt(variance / 2)
    variance, largest = np.zeros(fit.size), np.zeros(fit.size)
    if at.strategy.noise == GAUSSIAN:  # which asks for variances alone
        return fit.running_variances(np.arange(fit.size)) * at.above_discrete, largest
    codes = np.arange(fit.size)
    for start in range(0, fit.size, TOGETHER):
        part = slice(start, start + TOGETHER)
        rows = (codes <= codes[part, None]).astype(np.float64)
        variance[part], largest[part] = noise_of(at, rows)
    return variance, largest


def noise_of(at: Scaled, rows: Floats) -> tuple[Floats, Floats]:
    """For given sums over one line, a row of weights each: variance and largest single part."""
    strategy = at.strategy
    moved = fit_of(at).covariance_times(rows)
    variance = np.maximum(np.einsum("ij,ij->i", rows, moved), 0.0) * at.above_discrete
    largest = np.zeros(len(rows))
    for part, scale in zip(parts_of(at, moved), strategy.scales(at.scale), strict=True):
        largest = np.maximum(largest, np.abs(part).max(axis=1) * float(scale))
    return variance, largest


def parts_of(at: Scaled, moved: Floats) -> tuple[Floats, ...]:
    """How much of each noisy number is in sums f x over one line, given Cov(x) f: an array for each noisy query.

    Why   the best estimate of f x gives measurement a, of variance v, the weight a Cov(x) f / v.
    """
    strategy, found = at.strategy, []
    for query, scale in zip(strategy.noisy, strategy.scales(at.scale), strict=True):
        kind = query.contribution
        seen: Floats = moved if query.by == strategy.table else moved.sum(axis=-1, keepdims=True)
        if isinstance(kind, Hats | Ramps | WeightedSums | SmoothRunning | SmoothSums):
            seen = kind.add_up(moved)  # type: ignore[arg-type, assignment]
        found.append(np.asarray(seen / strategy.noise.variance(scale)))
    return tuple(found)


def sum_reach(at: Scaled, mask: Bools, confidence: Fraction) -> float:
    """How far the sum over the cells where `mask` is true can be off."""
    rows = mask.reshape(-1, mask.shape[-1])
    times = Counter(row.tobytes() for row in rows if row.any())
    if not times:
        return 0.0
    kinds = np.array([np.frombuffer(row, np.bool_) for row in times], np.float64)
    variance, largest = noise_of(at, kinds)
    together = np.array([variance @ np.array(list(times.values()))])
    return float(at.strategy.noise.reach(together, np.array([largest.max()]), confidence)[0])


def range_reach(at: Scaled, low: Ints, high: Ints, lines: Ints, confidence: Fraction) -> Floats:
    """How far counts between codes of some lines can be off, for very many ranges: quick, and not the shortest.

    Why   deviations of a difference add up at most. And least squares has the least variance of all linear estimates
          without bias, so no more than the sum of the single values; no part of a sum has more variance than the sum.
    """
    variance, largest = running_noise(at)
    if not low.any():
        return at.strategy.noise.reach(lines * variance[high], largest[high] + 0 * lines, confidence)
    deviation, largest = np.append(0.0, np.sqrt(variance)), np.append(0.0, largest)
    fit = fit_of(at)
    up_to = np.append(0.0, np.cumsum(np.broadcast_to(fit.leaves * at.above_discrete, fit.size)))
    together = np.minimum((deviation[high + 1] + deviation[low]) ** 2, up_to[high + 1] - up_to[low])
    part = np.minimum(largest[high + 1] + largest[low], np.sqrt(together / 2))
    return at.strategy.noise.reach(lines * together, part + 0 * lines, confidence)


def largest_reach(at: Scaled, confidence: Fraction, *, ranges: bool) -> float:
    """A distance that every running count, or every range, keeps from the truth with the given confidence."""
    variance, largest = running_noise(at)
    factor = 2 if ranges else 1
    worst = np.array([factor**2 * float(variance.max())])
    return math.ceil(float(at.strategy.noise.reach(worst, np.array([factor * float(largest.max())]), confidence)[0]))


# -- variances of all running counts from above, for attributes too long for the exact ones --------------


def running_variance_bounds(fit: SmoothFit) -> Floats:
    """For every running count a number that its variance does not exceed.

    Why   least squares has the least variance of all linear estimates without bias, so any such estimate gives a bound.
          This one takes the coarsest running sum around a position, and then descends: a running sum differs from the
          average over its parent by a weighted sum of the finer bins in between.
    """
    coarsest = fit.levels[-1]
    steps = fit.steps(coarsest.width)
    place = np.arange(steps)
    precision = np.zeros(steps)
    if coarsest.running is not None:
        precision += 1 / coarsest.running
    if coarsest.bins is not None:
        precision += 1 / (coarsest.bins * (place + 1))
        if fit.total == 0:
            precision += 1 / (coarsest.bins * (steps - place))
    variance, width = 1 / precision, coarsest.width
    finer = [(level.width, level.bins) for level in fit.levels[-2::-1] if level.bins is not None]
    for next_width, bins in [*finer, (1, fit.leaves)]:
        times = width // next_width
        apart = bins * _within_parent(times)
        child = np.arange(fit.steps(next_width))
        variance, width = variance[child // times] + apart[child % times], next_width
    return np.append(variance, 0.0 if fit.total == 0 else _total(fit))


def _within_parent(times: int) -> Floats:
    """For each of r neighbouring running sums, the variances of a bin that its distance from their average has.

    Why   the distance of number k is the sum of bins j <= k, weighted j / r, less those of j > k, weighted (r - j) / r.
    """
    squares = np.cumsum((np.arange(times) / times) ** 2)
    return squares + squares[::-1]


def _total(fit: SmoothFit) -> float:
    """The number of records: measured by itself, or added up over bins."""
    found = [level.bins * (fit.steps(level.width) + 1) for level in fit.levels if level.bins is not None]
    return min([*found, fit.leaves * fit.size, *([fit.total] if fit.total else [])])
