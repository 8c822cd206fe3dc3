"""What to measure with Gaussian noise where steps are short: running counts, each with some of those around it.

Far from the ends of a long attribute all places are alike. So what is measured of the running counts is a kernel, the
same everywhere, and the convex problem of `dual_search` falls apart into waves. A step over k values moves a wave of
frequency v by F_k = (sin(k v / 2) / sin(v / 2))^2, a strategy with spectrum X loses the mean of F_k X and errs by the
mean of 1 / X in every running count. For weights of the steps that add up to 1, and m the sum of weight times F_k, no
spectrum that loses 1 errs less than (mean of m^1/2)^2, and X = m^-1/2 is best for them. Weights rise where it loses
more than average.

Near the ends a step has fewer running counts to move, so that what is lost there is no more, nor is the error.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np

from tetraodon.arrays import Floats
from tetraodon.workload.smooth_running import SmoothRunning

ROUNDS, NEAR = 400, 1.0003
"""Rounds of the search, and how near to the bound it may stop."""
WAVES = 32
"""Frequencies that are looked at, for each value that a step may pass and 64 times more."""
REACH, MORE = 4, 32
"""How many steps, and values more, a kernel reaches to each side: what is beyond is below 1 / PARTS."""
PARTS = 5000
"""Weights are rounded to multiples of 1 / PARTS of the largest."""


def running_sums(name: str, size: int, reach: int) -> SmoothRunning:
    """Running counts that were added up by the kernel for steps over at most `reach` values."""
    kernel = np.rint(PARTS * _kernel(reach)).astype(np.int64)
    inside = np.flatnonzero(kernel)
    return SmoothRunning(name, size, kernel[inside[0] : inside[-1] + 1], Fraction(1, PARTS))


@lru_cache(maxsize=64)
def _kernel(reach: int) -> Floats:
    """A kernel, largest in the middle, whose products with itself have the best spectrum."""
    _, _, spectrum = best_spectrum(reach)
    whole = np.fft.irfft(np.sqrt(spectrum))
    middle = REACH * reach + MORE
    kernel = np.roll(whole, middle)[: 2 * middle + 1]
    return np.asarray(kernel / kernel.max())


def best_spectrum(reach: int) -> tuple[float, float, Floats]:
    """A bound on the error of each running count, at a loss of 1, that of a spectrum, and the spectrum."""
    many = WAVES * (reach + 64)
    half, lengths = np.pi * np.arange(many // 2 + 1) / many, np.arange(1, reach + 1)[:, None]
    moved = np.square(np.where(half == 0, lengths, np.sin(lengths * half) / np.sin(np.where(half == 0, 1, half))))
    share = np.where((half == 0) | (half == np.pi / 2), 1.0, 2.0) / many  # waves in both directions
    weights, best, least, found = np.full(reach, 1 / reach), 0.0, np.inf, np.ones(len(half))
    for _ in range(ROUNDS):
        spread = weights @ moved
        error = float(share @ np.sqrt(spread))
        lost = moved @ (share / np.sqrt(spread))
        best, now = max(best, error**2), error * float(lost.max())
        if now < least:
            least, found = now, 1 / np.sqrt(spread) / float(lost.max())
        if least <= NEAR * best:
            break
        weights = weights * (lost / error) ** 1.3
        weights /= weights.sum()
    return best, least, found
