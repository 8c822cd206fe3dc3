"""How far answers read from smoothed counts can be off, from the noise alone."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tetraodon.arrays import Floats
from tetraodon.inference.smooth_bound import running_variance_bounds
from tetraodon.mechanism.hierarchical import fit_of
from tetraodon.mechanism.strategy import Strategy
from tetraodon.workload.smooth import Hats, Ramps

EXACT_SIZE = 6000
"""Up to this many values the noise of every running count is worked out; above, it is bounded."""
TOGETHER = 256


@lru_cache(maxsize=8)
def running_noise(strategy: Strategy, scale: Fraction) -> tuple[Floats, Floats]:
    """For every running count of one line: its variance, and its largest single part, as `tail_reach` wants them."""
    fit = fit_of(strategy, scale)
    if fit.size > EXACT_SIZE:
        variance = running_variance_bounds(fit) * above_discrete(strategy, scale)
        return variance, np.sqrt(variance / 2)
    variance, largest = np.zeros(fit.size), np.zeros(fit.size)
    codes = np.arange(fit.size)
    for start in range(0, fit.size, TOGETHER):
        part = slice(start, start + TOGETHER)
        rows = (codes <= codes[part, None]).astype(np.float64)
        variance[part], largest[part] = noise_of(strategy, scale, rows)
    return variance, largest


def noise_of(strategy: Strategy, scale: Fraction, rows: Floats) -> tuple[Floats, Floats]:
    """For given sums over one line, a row of weights each: variance and largest single part.

    Why   the best estimate of f x gives measurement a, of variance v, the weight a Cov(x) f / v.
    """
    fit = fit_of(strategy, scale)
    moved = fit.covariance_times(rows)
    variance = np.maximum(np.einsum("ij,ij->i", rows, moved), 0.0) * above_discrete(strategy, scale)
    largest = np.zeros(len(rows))
    for query, weight in zip(strategy.noisy, strategy.weights, strict=True):
        kind = query.contribution
        unit = float(kind.unit)
        seen = kind.add_up(moved) * unit if isinstance(kind, Hats | Ramps) else moved  # type: ignore[arg-type]
        part = float(scale * weight) * unit / (strategy.noise.variance(scale * weight) * unit**2)
        largest = np.maximum(largest, np.abs(seen).max(axis=1) * part)
    return variance, largest


def running_reach(strategy: Strategy, scale: Fraction, confidence: Fraction, lines: int = 1) -> Floats:
    """How far each running count can be off; with several lines added up, each with noise of its own."""
    variance, largest = running_noise(strategy, scale)
    return tail_of(strategy, lines * variance, largest, confidence)


def sum_reach(strategy: Strategy, scale: Fraction, mask: NDArray[np.bool_], confidence: Fraction) -> float:
    """How far the sum over the cells where `mask` is true can be off."""
    rows = mask.reshape(-1, mask.shape[-1])
    times = Counter(row.tobytes() for row in rows if row.any())
    if not times:
        return 0.0
    kinds = np.array([np.frombuffer(row, np.bool_) for row in times], np.float64)
    variance, largest = noise_of(strategy, scale, kinds)
    together = np.array([variance @ np.array(list(times.values()))])
    return float(tail_of(strategy, together, np.array([largest.max()]), confidence)[0])


def range_reach(
    strategy: Strategy, scale: Fraction, low: NDArray[np.int64], high: NDArray[np.int64], confidence: Fraction
) -> Floats:
    """How far counts between codes of one line can be off, for very many ranges: quick, and not the shortest.

    Why   deviations of a difference add up at most.
    """
    variance, largest = running_noise(strategy, scale)
    deviation, largest = np.append(0.0, np.sqrt(variance)), np.append(0.0, largest)
    together = (deviation[high + 1] + deviation[low]) ** 2
    return tail_of(strategy, together, largest[high + 1] + largest[low], confidence)


def above_discrete(strategy: Strategy, scale: Fraction) -> float:
    """The most that 2 b^2, or sigma^2, exceeds the variance of discrete noise of that width."""
    law = strategy.noise
    return max(law.smooth_variance(scale * w) / law.variance(scale * w) for w in strategy.weights)


def tail_of(strategy: Strategy, variance: Floats, largest: Floats, confidence: Fraction) -> Floats:
    """How far sums of a strategy's noise can be off, given their variances and their largest parts."""
    return strategy.noise.reach(variance, largest, confidence)


def largest_reach(strategy: Strategy, scale: Fraction, confidence: Fraction, *, ranges: bool) -> float:
    """A distance that every running count, or every range, keeps from the truth with the given confidence."""
    variance, largest = running_noise(strategy, scale)
    factor = 2 if ranges else 1
    worst = np.array([factor**2 * float(variance.max())])
    return math.ceil(float(tail_of(strategy, worst, np.array([factor * float(largest.max())]), confidence)[0]))
