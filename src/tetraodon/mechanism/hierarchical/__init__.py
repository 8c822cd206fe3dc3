"""Ranges, running counts and quantiles from single values and smoothed counts together.

The ordered hierarchical mechanism of [HMD14] section 7.2, with three changes. Its bins have no sharp borders, so near
values are hard to tell apart by them. Widths and budgets are searched for, not fixed. And the kernel sets the scales:
the printed budgets are overspent in most readings.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise, product

import numpy as np

from tetraodon.exact.arrays import Floats, Ints
from tetraodon.exact.effort import spend
from tetraodon.exact.one_thread import searching
from tetraodon.mechanism.hierarchical.fit import (
    BandedFit,
    Level,
    RunningFit,
    SmoothFit,
    WeightedFit,
    hats_matrix,
    levels_of,
    prefix_bins,
)
from tetraodon.mechanism.one_scale import exact_totals
from tetraodon.mechanism.strategy import Ends, Measured, Mechanism, Scaled, Strategy, lengths
from tetraodon.noise.laws import GAUSSIAN, LAPLACE, NoiseLaw
from tetraodon.policy.attribute_graph import Everything, Within
from tetraodon.policy.policy import Policy
from tetraodon.query.contribution import One, WeightedSums
from tetraodon.query.linear import LinearQuery, Split
from tetraodon.query.query import EveryRange, ListedRanges, Query, RunningCounts
from tetraodon.query.smooth import Hats, Ramps, SmoothRunning, SmoothSums

# -- shape search ------------------------------------------------------------------------------------
# Which smoothed counts to measure, and how to share the budget between them.
#
# Every range of an ordered attribute can be read from counts of single values, the leaves, but long ranges then add
# up much noise. Smoothed bins and running sums at a few widths take that noise away, each for a part of the budget.
# On a step of `reach` positions, with noise of scale b, leaves lose 2/b, bins of width w 2 min(reach/w, 1)/b,
# running sums reach/(w b); the kernel checks that. What is left is a small search: a few shapes, and for each the
# best shares, by the exact error of least squares and its gradient.
#
# With Gaussian noise squares of these add up instead, so that a width more costs less, and more of them are worth
# it.

SPARSE = 20_000
"""Attributes up to this long are fitted to tell how good a shape is."""
GOLDEN = (math.sqrt(5) - 1) / 2
POINTS = 64
LEAST_SHARE = 0.01


@dataclass(frozen=True)
class _Kind:
    """What a law of noise makes of distances and shares.

    A distance that is moved by costs (distance / scale) ** `power` of the loss, and noise of scale 1 has `variance`.
    `leaf` is how far a step moves the leaves. Attributes of up to `direct` values are searched as they are, longer ones
    through ones that are `lift` times shorter.
    """

    power: int
    variance: float
    leaf: float
    direct: int
    lift: int

    def bins(self, reach: float, width: int) -> float:
        """How far bins of a width are moved by a step of `reach`."""
        return self.leaf * min(reach / width, 1.0)

    def running(self, reach: float, width: int) -> float:
        """The same for running sums: about reach / width of them, each by at most one record."""
        passed = reach / width
        return passed if self.power == 1 or passed < 1 else math.sqrt(passed)

    def scale(self, distance: float, share: float) -> float:
        """The scale at which that costs a share of the loss."""
        return float(distance / share ** (1 / self.power))


KINDS: dict[NoiseLaw, _Kind] = {
    LAPLACE: _Kind(1, 2.0, 2.0, direct=SPARSE, lift=16),
    GAUSSIAN: _Kind(2, 1.0, math.sqrt(2), direct=1200, lift=4),
}


@dataclass(frozen=True)
class Shape:
    """Shares of the loss: of the leaves, of bins by width, of running sums by width. They add up to one."""

    leaves: float
    bins: tuple[tuple[int, float], ...] = ()
    running: tuple[tuple[int, float], ...] = ()
    noise: NoiseLaw = LAPLACE

    def scales(self, reach: int) -> tuple[float, dict[int, float], dict[int, float]]:
        """Scales of noise, in records, that lose one in all on a step of `reach` positions."""
        kind = KINDS[self.noise]
        return (
            kind.scale(kind.leaf, self.leaves),
            {w: kind.scale(kind.bins(reach, w), share) for w, share in self.bins},
            {w: kind.scale(kind.running(reach, w), share) for w, share in self.running},
        )

    def fit(self, size: int, reach: int) -> SmoothFit:
        """Its least squares when one is lost, with continuous noise and a known total."""
        leaves, bins, running = self.scales(min(reach, size - 1))
        times = KINDS[self.noise].variance
        variances = ([(w, times * scale**2) for w, scale in scales.items()] for scales in (bins, running))
        return SmoothFit(size, times * leaves**2, levels_of(*variances))


def sample(size: int, points: int) -> Ints:
    """Positions spread evenly without a period."""
    return np.unique((np.arange(1, points + 1) * GOLDEN % 1 * size).astype(np.int64))


def mean_range_variance(fit: SmoothFit | WeightedFit | BandedFit | RunningFit, positions: Ints) -> float:
    """Mean variance of the count in a range drawn at random, from the running counts at some or all positions.

    Why   with z the running counts at the N + 1 points between values, the sum over pairs of Var(z_h - z_l) is
          (N + 1) tr Cov(z) - 1' Cov(z) 1.
    """
    size = fit.size
    trace = float(np.mean(fit.running_variances(positions))) * size
    after = (size - np.arange(size)).astype(np.float64)
    whole = float(fit.covariance_times(after[None, :])[0] @ after)
    return ((size + 1) * trace - whole) / (size * (size + 1) / 2)


@lru_cache(maxsize=256)
def best_shape(size: int, reach: int, noise: NoiseLaw = LAPLACE) -> Shape | None:
    """The shape with the least error for a range drawn at random; None where nothing beats single values or plain
    running counts.
    """
    if size < 8 or reach < 2:
        return None
    reach = min(reach, size - 1)
    local = max(24 * reach, 400)  # beyond that, running sums have cut the attribute into pieces that are alike
    kind = KINDS[noise]
    if min(size, local) <= kind.direct:
        return _best_of_few(min(size, local), reach, noise)
    fewer, nearer = -(-size // kind.lift), max(2, reach // kind.lift)
    coarse = best_shape(fewer, nearer, noise)
    return None if coarse is None else _one_finer(coarse, fewer, nearer)


def _one_finer(coarse: Shape, size: int, reach: int) -> Shape:
    """The same shape seen from closer: what was single values becomes bins, and new leaves get their share.

    Why   errors within a bin and between bins add up, each falling with the square of its share, so the shares
          stand as the cube roots of the errors at a whole share; with Gaussian noise, as the square roots.
    """
    kind = KINDS[coarse.noise]
    within, root = _within(coarse.noise), 1 + 2 / kind.power
    between = mean_range_variance(coarse.fit(size, reach), sample(size, POINTS)) if size <= SPARSE else None
    if between is None:
        between = within * (1 / coarse.leaves) ** root / 2
    ratio = (within / between) ** (1 / root)
    leaves, rest = ratio / (1 + ratio), 1 / (1 + ratio)
    bins = ((kind.lift, rest * coarse.leaves), *((w * kind.lift, rest * share) for w, share in coarse.bins))
    return Shape(leaves, bins, tuple((w * kind.lift, rest * share) for w, share in coarse.running), coarse.noise)


@lru_cache(maxsize=2)
def _within(noise: NoiseLaw) -> float:
    """The error within bins of width `lift` when the bins are known and leaves have the whole budget."""
    kind = KINDS[noise]
    size = 40 * kind.lift
    fit = SmoothFit(size, kind.variance * kind.leaf**2, (Level(kind.lift, 1e-6),))
    return mean_range_variance(fit, np.arange(size))


def _best_of_few(size: int, reach: int, noise: NoiseLaw) -> Shape | None:
    best: tuple[float, Shape] | None = None
    for bins, running in _outlines(size, reach, noise):
        error, shape = _with_best_shares(size, reach, bins, running, noise)
        if (shape.bins or shape.running) and (best is None or error < best[0]):
            best = (error, shape)
    return None if best is None else best[1]


def _outlines(size: int, reach: int, noise: NoiseLaw) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Widths worth trying: bins, then running sums; each divides the next."""
    seen: set[tuple[tuple[int, ...], tuple[int, ...]]] = set()

    def new(bins: Sequence[int], running: Sequence[int]) -> bool:
        key = (tuple(bins), tuple(running))
        widths = sorted({*bins, *running})
        good = bool(widths) and widths[0] >= 2 and widths[-1] < size and key not in seen
        good = good and all(b % a == 0 for a, b in pairwise(widths))
        seen.add(key)
        return good

    if noise == GAUSSIAN:
        for times in (3, 4):
            every = [times**level for level in range(1, 10) if times**level < min(size, 2 * reach)]
            for bins, running in ((every, []), (every[:-1], every[-1:]), (every[:-2], every[-2:-1])):
                if new(bins, running):
                    yield tuple(bins), tuple(running)
    for factor in (0.6, 0.8, 1.0, 1.25):
        width = max(2, round(factor * reach))
        if reach <= 120 and 2 * width <= size and new((), (width,)):
            yield (), (width,)
    for fineness in (0.8, 1.1):
        fine = max(4, round(fineness * math.sqrt(reach)))
        for factor in (0.55, 0.8, 1.1):
            width = fine * round(factor * reach / fine)
            if reach > 40 and 2 * width <= size and new((fine,), (width,)):
                yield (fine,), (width,)
    if 8 * reach < size:
        return
    for fineness in (0.6, 0.85):
        width = round(fineness * math.sqrt(size))
        if size <= 1500 and new((width,), ()):
            yield (width,), ()
    third = size ** (1 / 3)
    for fineness in (0.7, 1.0):
        for coarseness in (0.7, 1.0):
            fine, times = round(fineness * third), round(coarseness * third)
            if size >= 200 and new((fine, fine * times), ()):
                yield (fine, fine * times), ()
    fine = round(0.9 * size**0.25)
    if size >= 3000 and new((fine, fine**2, fine**3), ()):
        yield (fine, fine**2, fine**3), ()


@searching
def _with_best_shares(
    size: int, reach: int, bins: tuple[int, ...], running: tuple[int, ...], noise: NoiseLaw
) -> tuple[float, Shape]:
    from scipy.optimize import minimize

    problem = _Shares(size, reach, bins, running, noise)
    start = np.zeros(len(bins) + len(running))
    found = minimize(problem.log_error, start, jac=True, method="L-BFGS-B", bounds=[(-6.0, 4.0)] * len(start), tol=1e-4)
    parts = np.exp(np.append(0.0, found.x))
    parts = np.round(parts / parts.sum(), 4)
    keep = parts >= LEAST_SHARE
    parts = parts * keep / (parts * keep).sum()
    shares = dict(zip([*(("b", w) for w in bins), *(("r", w) for w in running)], parts[1:].tolist(), strict=True))
    chosen = {kind: tuple((w, s) for (k, w), s in shares.items() if k == kind and s > 0) for kind in "br"}
    return float(np.exp(found.fun)), Shape(float(parts[0]), chosen["b"], chosen["r"], noise)


class _Shares:
    """The logarithm of a shape's error as a function of log(share / leaves' share), with its gradient.

    With B the coarse rows in terms of single values, V their variances over that of a leaf, and S = B times the
    functionals, the variances are those of the leaves less S' (B B' + V)^-1 S; the total is a row with V = 0.
    """

    def __init__(
        self, size: int, reach: int, bins: tuple[int, ...], running: tuple[int, ...], noise: NoiseLaw = LAPLACE
    ) -> None:
        width = min((*bins, *running))
        fine = hats_matrix(size, width)
        knots = fine.shape[0]
        rows = [hats_matrix(knots, w // width).toarray() for w in bins]
        rows += [np.cumsum(hats_matrix(knots, w // width).toarray(), axis=0)[:-1] for w in running]
        self.ends = np.cumsum([0, *(len(block) for block in rows)])
        coarse = np.vstack([*rows, np.ones((1, knots))])
        self.gram = coarse @ (fine @ fine.T).toarray() @ coarse.T
        self.kind = KINDS[noise]
        self.costs = np.array([self.kind.bins(reach, w) for w in bins] + [self.kind.running(reach, w) for w in running])
        positions = sample(size, POINTS)
        after = (size - np.arange(size)).astype(np.float64)
        reached = prefix_bins(positions, width, knots)
        self.functionals = coarse @ np.column_stack([reached, fine @ after])
        scale = 2 / (size * (size + 1))
        self.weights = np.append(np.full(len(positions), scale * (size + 1) * size / len(positions)), -scale)
        self.plain = float(self.weights @ np.append(positions + 1.0, float(after @ after)))

    def log_error(self, shares: Floats) -> tuple[float, Floats]:
        from scipy.linalg import cho_factor, cho_solve

        leaf, falls = self.kind.leaf, 2 / self.kind.power
        ratio = (self.costs / leaf) ** 2 / np.exp(falls * shares)
        variances = np.append(np.repeat(ratio, np.diff(self.ends)), 0.0)
        factor = cho_factor(self.gram + np.diag(variances), check_finite=False)
        solved = cho_solve(factor, self.functionals, check_finite=False)
        error = self.plain - float(self.weights @ np.einsum("ij,ij->j", self.functionals, solved))
        by_row = solved**2 @ self.weights
        by_group = np.add.reduceat(by_row[:-1], self.ends[:-1])
        whole = 1 + float(np.exp(shares).sum())
        slope = falls * (np.exp(shares) / whole - ratio * by_group / error)
        return math.log(error) + falls * math.log(whole) + math.log(self.kind.variance * leaf**2), slope


# -- intervals ---------------------------------------------------------------------------------------
# How far answers read from smoothed counts can be off, from the noise alone.

EXACT_SIZE = 6000
"""Up to this many values the noise of every running count is worked out; above, it is bounded."""
TOGETHER = 256
PRODUCTS = 2
"""Products of numbers that take as long as one comparison of a query on a step."""


@lru_cache(maxsize=8)
def fit_of(at: Scaled) -> SmoothFit | WeightedFit | BandedFit | RunningFit:
    """Least squares for a strategy's measurements."""
    strategy = at.strategy
    known = LinearQuery(One(), strategy.table[:-1]) in strategy.exact
    leaves, total = strategy.noise.variance(at.scale), 0.0 if known else None
    sums = strategy.noisy[0].contribution
    if isinstance(sums, WeightedSums):
        return WeightedFit(sums.single.astype(np.float64), sums.sums.astype(np.float64), leaves, total)
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
def running_noise(at: Scaled) -> tuple[Floats, Floats]:
    """For every running count of one line: its variance and its largest single part, as `NoiseLaw.reach` wants them."""
    fit = fit_of(at)
    if fit.size > EXACT_SIZE and isinstance(fit, SmoothFit | WeightedFit):
        if isinstance(fit, SmoothFit):
            variance = running_variance_bounds(fit) * at.above_discrete
        else:
            variance = fit.running_variances(np.arange(fit.size)) * at.above_discrete
        return variance, np.sqrt(variance / 2)
    variance, largest = np.zeros(fit.size), np.zeros(fit.size)
    if at.strategy.noise == GAUSSIAN:  # which asks for variances alone
        return fit.running_variances(np.arange(fit.size)) * at.above_discrete, largest
    codes = np.arange(fit.size)
    for start in range(0, fit.size, TOGETHER):
        part = slice(start, start + TOGETHER)
        spend(len(codes[part]) * fit.size // PRODUCTS)
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
SEEN_WHOLE = 2_000_000
"""Above so many values, predictions look at bins and at ranges inside them apart."""
LONGEST = 20_000_000
"""Values for which smoothed counts are proposed: least squares takes some 160 bytes for each."""


@dataclass(frozen=True)
class Hierarchical(Mechanism):
    """Noise on single values, the first query, and on smoothed counts of several widths."""

    name = "hierarchical"
    answers = (RunningCounts, EveryRange, ListedRanges)
    words = "noise on counts and smoothed counts"

    def propose(self, query: Query, policy: Policy) -> Iterator[Strategy]:
        """Smoothed counts for a question about an ordered attribute whose secrets are all values, or near ones."""
        *by, last = table = query.table(policy.domain)
        attribute = policy.domain[last.name]
        graph = policy.graph.factor_of(last.name).graph
        if not attribute.ordered or attribute.size > LONGEST or not isinstance(graph, Everything | Within):
            return
        _, exact, known = exact_totals(tuple(by), table, policy)
        # without known totals somebody may appear in a group: that moves all running sums, but only one bin a width
        far = attribute.size - 1
        near = min(graph.reach, far) if isinstance(graph, Within) and known else far
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
        variance, largest = running_noise(at)
        factor = 2 if isinstance(query.reading(at.domain), EveryRange | ListedRanges) else 1
        worst = np.array([factor**2 * float(variance.max())])
        return math.ceil(
            float(at.strategy.noise.reach(worst, np.array([factor * float(largest.max())]), confidence)[0])
        )

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

    def box_reach(self, at: Scaled, low: Ends, high: Ends, confidence: Fraction) -> Floats:
        """Quick, and not the shortest.

        Why   deviations of a difference add up at most. And least squares has the least variance of all linear
              estimates without bias, so no more than the sum of the single values; no part of a sum has more variance
              than the sum.
        """
        lines, law = np.asarray(math.prod(lengths(low[:-1], high[:-1]))), at.strategy.noise
        first, last = np.broadcast_arrays(low[-1], high[-1])
        variance, largest = running_noise(at)
        if not first.any():
            return law.reach(lines * variance[last], largest[last] + 0 * lines, confidence)
        deviation, largest, fit = np.append(0.0, np.sqrt(variance)), np.append(0.0, largest), fit_of(at)
        up_to = np.append(0.0, np.cumsum(np.broadcast_to(fit.leaves * at.above_discrete, fit.size)))
        together = np.minimum((deviation[last + 1] + deviation[first]) ** 2, up_to[last + 1] - up_to[first])
        part = np.minimum(largest[last + 1] + largest[first], np.sqrt(together / 2))
        return law.reach(lines * together, part + 0 * lines, confidence)


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
    fit, reading, inside = fit_of(at), query.reading(at.domain), 0.0
    if isinstance(fit, SmoothFit) and fit.size > SEEN_WHOLE and not isinstance(reading, ListedRanges):
        fit, inside = _from_afar(fit)
    every = fit.size <= EVERY_POSITION
    positions = np.arange(fit.size) if every else sample(fit.size, SAMPLED)
    match reading:
        case RunningCounts():
            return float(np.mean(fit.running_variances(positions))) + inside / 2  # a range has two ends
        case ListedRanges(ends):
            codes = np.arange(fit.size)
            rows = [((low <= codes) & (codes <= high)).astype(np.float64) for low, high in ends]
            return float(np.mean([fit.covariance_times(row[None, :])[0] @ row for row in rows]))
        case EveryRange():
            return mean_range_variance(fit, positions) + inside
        case _:
            raise AssertionError("only questions about order are answered this way")


def _from_afar(fit: SmoothFit) -> tuple[SmoothFit, float]:
    """A long attribute with its finest bins for values, and the mean variance of ranges inside such bins.

    Why   as for `_one_finer`: errors within bins and between them add up, here to within one percent. Where running
          sums are finest, they cut the attribute into pieces that are alike, and some of these speak for all.
    """
    finest, *others = fit.levels
    if finest.bins is None or finest.running is not None:
        return replace(fit, size=min(fit.size, SEEN_WHOLE)), 0.0
    levels = tuple(replace(one, width=one.width // finest.width) for one in others)
    short = SmoothFit(40 * finest.width, fit.leaves, (Level(finest.width, 1e-6 * fit.leaves),))
    inside = mean_range_variance(short, np.arange(short.size))
    return SmoothFit(-(-fit.size // finest.width), finest.bins, levels, fit.total), inside
