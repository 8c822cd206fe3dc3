"""How far off an answer can be: exact quantiles of sums of noise, and bounds for weighted sums."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

import numpy as np

from tetraodon.arrays import Floats
from tetraodon.noise.laws.noise_law import NoiseLaw

LONGEST = 2**22
SLACK = 1e-9


def quantile_of_sum(
    law: NoiseLaw,
    scale: Fraction,
    terms: int,
    confidence: Fraction,
    bound: Callable[[Fraction, int, float], int],
) -> int:
    """The least t, or a little more, with P(|X_1 + ... + X_terms| <= t) >= confidence.

    Pre   `bound(scale, terms, tail)` is a t with P(|sum| > t) <= tail.

    A sum of more terms is more spread out, so beyond 64 the number of terms is rounded up to six binary digits: tables
    of a million running counts need a few hundred quantiles.
    """
    rounding = 1 << max(0, terms.bit_length() - 6)
    return _quantile(law, scale, -(-terms // rounding) * rounding, confidence, bound)


@lru_cache(maxsize=4096)
def _quantile(
    law: NoiseLaw,
    scale: Fraction,
    terms: int,
    confidence: Fraction,
    bound: Callable[[Fraction, int, float], int],
) -> int:
    """As `quantile_of_sum`.

    Why   the power of the characteristic function, sampled at N points, is the law of the sum folded modulo N, and
          folding can only add `SLACK` in the range where Chernoff's bound leaves no more outside. Where N would be too
          long, Chernoff's bound itself is the answer: safe, and about a third too wide.
    """
    if terms == 0 or scale == 0:
        return 0
    if terms == 1:
        return law.quantile(scale, confidence)
    reach = bound(scale, terms, SLACK)
    length = 1 << max(4, math.ceil(math.log2(2 * reach + 2)))
    if length > LONGEST:
        return bound(scale, terms, 1 - float(confidence))
    angles = 2 * np.pi * np.arange(length // 2 + 1) / length
    folded = np.fft.irfft(law.characteristic(scale, angles) ** terms, n=length)
    inside = folded[0] + 2 * np.concatenate([[0.0], np.cumsum(folded[1 : length // 2])])
    return int(np.searchsorted(inside, float(confidence) + 2 * SLACK))


TILTS = np.concatenate([size * np.linspace(0.005, 0.995, 199) for size in (1.0, 0.1, 0.01)])
"""Many small parts want small tilts."""
LOGARITHMS = np.array([math.log1p(-(tilt**2)) for tilt in TILTS])
AT_ONCE = 1024
"""Sums that are tried with all tilts together."""


def laplace_reach(variance: Floats, largest: Floats, confidence: Fraction) -> Floats:
    """Distances t with P(|sum| <= t) >= confidence, for sums of independent noise with known variances.

    Pre   `variance` is 2 * sum of (weight * scale)^2 or more, `largest` is the largest |weight| * scale or more.
    Why   the moments of discrete Laplace noise of scale b are below those of the continuous: for s b <= 1,
          sinh(s/2) / sinh(1/2b) <= s b, so log E e^{sX} <= -log(1 - (s b)^2). That is convex in (s b)^2, so a sum
          with a given variance has the largest bound when its parts are as large as allowed; Chernoff's bound for
          that sum, at the best of many tilts.

    >>> float(laplace_reach(np.array([2.0]), np.array([1e-3]), Fraction(95, 100))[0].round(2))    # 2.7 deviations
    3.84
    """
    variance, largest = np.asarray(variance, np.float64), np.asarray(largest, np.float64)
    flat_variance = variance.ravel()
    biggest = np.clip(largest.ravel(), np.sqrt(flat_variance / 2) * 1e-3, np.sqrt(flat_variance / 2))
    reach = np.zeros(len(flat_variance))
    noisy = flat_variance > 0
    parts = flat_variance[noisy] / (2 * biggest[noisy] ** 2)
    doubt = math.log(2 / (1 - float(confidence)))
    best = np.empty(len(parts))
    for start in range(0, len(parts), AT_ONCE):
        some = slice(start, start + AT_ONCE)
        best[some] = ((doubt - parts[some, None] * LOGARITHMS) / TILTS).min(axis=1)
    reach[noisy] = best * biggest[noisy]
    return reach.reshape(variance.shape)


def gaussian_reach(variance: Floats, confidence: Fraction) -> Floats:
    """The same for sums of discrete Gaussian noise.

    Pre   `variance` is the sum of (weight * sigma)^2 or more.
    Why   exponential moments of discrete Gaussian noise are at most those of the continuous ([CKS20]): Chernoff.

    >>> float(gaussian_reach(np.array([2.0]), Fraction(95, 100))[0].round(2))
    3.84
    """
    return np.sqrt(2 * np.asarray(variance, np.float64) * math.log(2 / (1 - float(confidence))))
