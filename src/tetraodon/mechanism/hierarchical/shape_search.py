"""Which smoothed counts to measure, and how to share the budget between them.

Every range of an ordered attribute can be read from counts of single values, the leaves, but long ranges then
add up much noise. Smoothed bins and running sums at a few widths take that noise away, each for a part of the
budget. On a step of `reach` positions, with noise of scale b, leaves lose 2/b, bins of width w 2 min(reach/w, 1)/b,
running sums reach/(w b); the kernel checks that. What is left is a small search: a few shapes, and for each
the best shares, by the exact error of least squares and its gradient.

With Gaussian noise squares of these add up instead, so that a width more costs less, and more of them are worth it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np

from tetraodon.exact.arrays import Floats, Ints, searching
from tetraodon.mechanism.hierarchical.fit import (
    BandedFit,
    Level,
    RunningFit,
    SmoothFit,
    WrittenOutFit,
    hats_matrix,
    prefix_bins,
)
from tetraodon.noise.laws import GAUSSIAN, LAPLACE, NoiseLaw

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
        widths, times = sorted(bins.keys() | running.keys()), KINDS[self.noise].variance
        levels = tuple(Level(w, *(times * s[w] ** 2 if w in s else None for s in (bins, running))) for w in widths)
        return SmoothFit(size, times * leaves**2, levels)


def sample(size: int, points: int) -> Ints:
    """Positions spread evenly without a period."""
    return np.unique((np.arange(1, points + 1) * GOLDEN % 1 * size).astype(np.int64))


def mean_range_variance(fit: SmoothFit | WrittenOutFit | BandedFit | RunningFit, positions: Ints) -> float:
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
