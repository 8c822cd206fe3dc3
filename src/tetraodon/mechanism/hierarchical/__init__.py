"""Ranges, running counts and quantiles from single values and smoothed counts together.

The ordered hierarchical mechanism of [HMD14] section 7.2, with three changes. Its bins have no sharp borders, so near
values are hard to tell apart by them. Widths and budgets are searched for, not fixed. And the kernel sets the scales:
the printed budgets are overspent in most readings.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import product

import numpy as np

from tetraodon.certificate.kernel import sensitivity_of
from tetraodon.exact.arrays import Bools, Floats, Ints
from tetraodon.mechanism.direct import free_totals
from tetraodon.mechanism.hierarchical.fit import (
    BandedFit,
    RunningFit,
    SmoothFit,
    WrittenOutFit,
    inverse_of_squares,
    levels_of,
)
from tetraodon.mechanism.hierarchical.shape_search import KINDS, Shape, best_shape, mean_range_variance, sample
from tetraodon.mechanism.strategy import Ends, Measured, Mechanism, Scaled, Strategy, lengths
from tetraodon.noise.laws import GAUSSIAN, LAPLACE
from tetraodon.policy.attribute_graph import Everything, Within
from tetraodon.policy.policy import Policy
from tetraodon.query.contribution import One, WeightedSums
from tetraodon.query.linear import LinearQuery, Split
from tetraodon.query.query import EveryRange, ListedRanges, Query, RunningCounts
from tetraodon.query.smooth import Hats, Ramps, SmoothRunning, SmoothSums

# -- intervals ---------------------------------------------------------------------------------------
# How far answers read from smoothed counts can be off, from the noise alone.

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


EVERY_POSITION = 8192
"""Up to this many values, predictions look at every running count; above, at a sample good to about one percent."""
SAMPLED = 100
LONGEST = 2_000_000
"""Values for which smoothed counts are proposed: least squares takes some 160 bytes for each."""


@dataclass(frozen=True)
class Hierarchical(Mechanism):
    """Noise on single values, the first query, and on smoothed counts of several widths."""

    name = "hierarchical"
    words = "noise on counts and smoothed counts"

    def propose(self, query: Query, policy: Policy) -> Iterator[Strategy]:
        """Smoothed counts for a question about an ordered attribute whose secrets are all values, or near ones."""
        if not isinstance(query.reading(policy.domain), RunningCounts | EveryRange | ListedRanges):
            return
        *by, last = table = query.table(policy.domain)
        attribute = policy.domain[last.name]
        graph = policy.graph.factor_of(last.name).graph
        if not attribute.ordered or attribute.size > LONGEST or not isinstance(graph, Everything | Within):
            return
        totals = LinearQuery(One(), tuple(by))
        known = policy.size_is_public and sensitivity_of(policy.graph, totals).value == 0
        # without known totals somebody may appear in a group: that moves all running sums, but only one bin a width
        far = attribute.size - 1
        near = min(graph.reach, far) if isinstance(graph, Within) and known else far
        free = free_totals(table, policy)
        exact = (totals, *(one for one in free if one != totals)) if known else free
        # where counts are known already, a neighbour may differ in records that moved far
        reaches = (near, far) if policy.graph.known and near < far else (near,)
        laws = (LAPLACE, GAUSSIAN) if policy.delta else (LAPLACE,)
        for reach, noise in product(reaches, laws):
            shape = best_shape(attribute.size, reach, noise)
            if shape is not None and (known or not shape.running):
                made = strategy_of(shape, reach, attribute.name, attribute.size, tuple(by), exact)
                yield made
                if not known:
                    yield _with_total(made, shape)

    def expected_error(self, query: Query, at: Scaled) -> float:
        return math.sqrt(_mean_variance(query, at))

    def largest_error(self, query: Query, at: Scaled, confidence: Fraction) -> float:
        return largest_reach(at, confidence, ranges=isinstance(query.reading(at.domain), EveryRange | ListedRanges))

    @staticmethod
    def widths(at: Scaled) -> list[int]:
        """The widths of the smoothed counts."""
        return sorted({w for q in at.strategy.noisy if (w := q.contribution.unit.denominator) > 1})

    @staticmethod
    def total_is_noisy(at: Scaled) -> bool:
        """Whether the last measurement is a total with noise."""
        return at.strategy.noisy[-1].contribution == One()

    def fit(self, at: Scaled, measured: Measured) -> Floats:
        """The table that fits single values and smoothed counts together best."""
        fit, noisy = fit_of(at), at.strategy.noisy
        assert isinstance(fit, SmoothFit)
        arrays = [array.astype(np.float64).reshape(-1, array.shape[-1]) for array in measured]
        by_width: dict[type, dict[int, Floats]] = {Hats: {}, Ramps: {}}
        for query, array in zip(noisy[1:], arrays[1:], strict=False):
            kind = query.contribution
            if isinstance(kind, Hats | Ramps):
                by_width[type(kind)][kind.width] = array / kind.width
        leaves = arrays[0].reshape(-1, fit.size)
        # a total with noise is the last noisy number, an exact one the first exact number
        total = np.zeros(len(leaves)) if fit.total is None else arrays[len(noisy) - (1 if fit.total else 0)][:, 0]
        found = fit.counts(leaves, by_width[Hats], by_width[Ramps], total)
        return found.reshape(measured[0].shape[:-1])

    def covariance_times(self, at: Scaled, weights: Floats) -> Floats:
        return fit_of(at).covariance_times(weights.reshape(-1, at.shape[-1])).reshape(weights.shape)

    def parts(self, at: Scaled, weights: Floats) -> tuple[Floats, ...]:
        moved = fit_of(at).covariance_times(weights.reshape(-1, at.shape[-1]))
        return tuple(part.reshape(len(weights), -1) for part in parts_of(at, moved))

    def reach(self, at: Scaled, mask: Bools, confidence: Fraction) -> float:
        return sum_reach(at, mask, confidence)

    def box_reach(self, at: Scaled, low: Ends, high: Ends, confidence: Fraction) -> Floats:
        lines = np.asarray(math.prod(lengths(low[:-1], high[:-1])))
        first, last = np.broadcast_arrays(low[-1], high[-1])
        return range_reach(at, first, last, lines, confidence)


HIERARCHICAL = Hierarchical()


def strategy_of(
    shape: Shape, reach: int, name: str, size: int, by: tuple[Split, ...], exact: tuple[LinearQuery, ...]
) -> Strategy:
    """A shape as queries with rational scales, relative to that of the leaves."""
    leaves, bins, running = shape.scales(reach)
    noisy = [LinearQuery(One(), (*by, Split(name)))]
    weights = [Fraction(1)]
    for kind, scales in ((Hats, bins), (Ramps, running)):
        for width, scale in scales.items():
            noisy.append(LinearQuery(kind(name, size, width), by))
            weights.append(Fraction(f"{scale / leaves:.4g}") * width)
    return Strategy(HIERARCHICAL, tuple(noisy), exact, (*by, Split(name)), tuple(weights))


def _with_total(strategy: Strategy, shape: Shape) -> Strategy:
    """The same with a noisy total, as precise as all else is together.

    Why   where any two values are a secret, a step moves two numbers of every kind, and somebody who comes or goes one:
          half of what may be lost is left for the total, which no step moves.
    """
    weight = Fraction(f"{shape.leaves ** (1 / KINDS[shape.noise].power):.4g}")
    total = LinearQuery(One(), strategy.table[:-1])
    return replace(strategy, noisy=(*strategy.noisy, total), weights=(*strategy.weights, weight))


@lru_cache(maxsize=1024)
def _mean_variance(query: Query, at: Scaled) -> float:
    """Mean over the answers of their variance, before inference that depends on the data."""
    fit = fit_of(at)
    every = fit.size <= EVERY_POSITION
    positions = np.arange(fit.size) if every else sample(fit.size, SAMPLED)
    match query.reading(at.domain):
        case RunningCounts():
            return float(np.mean(fit.running_variances(positions)))
        case ListedRanges(ends):
            codes = np.arange(fit.size)
            rows = [((low <= codes) & (codes <= high)).astype(np.float64) for low, high in ends]
            return float(np.mean([fit.covariance_times(row[None, :])[0] @ row for row in rows]))
        case EveryRange():
            return mean_range_variance(fit, positions)
        case _:
            raise AssertionError("only questions about order are answered this way")
