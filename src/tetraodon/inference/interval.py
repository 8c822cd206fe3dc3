"""How far off an answer can be: exact quantiles of sums of discrete noise."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tetraodon.noise.kind import Noise, noise_quantile

LONGEST = 2**22
SLACK = 1e-9


def sum_quantile(scale: Fraction, terms: int, confidence: Fraction, noise: Noise = "laplace") -> int:
    """The least t, or a little more, with P(|X_1 + ... + X_terms| <= t) >= confidence.

    A sum of more terms is more spread out, so beyond 64 the number of terms is rounded up to six binary digits: tables
    of a million running counts need a few hundred quantiles.
    """
    rounding = 1 << max(0, terms.bit_length() - 6)
    return _quantile(scale, -(-terms // rounding) * rounding, confidence, noise)


@lru_cache(maxsize=4096)
def _quantile(scale: Fraction, terms: int, confidence: Fraction, noise: Noise) -> int:
    """As `sum_quantile`.

    Why   the characteristic function of one Laplace term is (1-p)^2 / (1 - 2 p cos w + p^2) with p = e^(-1/scale), and
          that of a Gaussian one is added up from its weights. The power of either, sampled at N points, is the law of
          the sum folded modulo N, and folding can only add `SLACK` in the range where Chernoff's bound leaves no more
          outside. Where N would be too long, Chernoff's bound itself is the answer: safe, and about a third too wide.
    """
    if terms == 0 or scale == 0:
        return 0
    if terms == 1:
        return noise_quantile(noise, scale, confidence)
    bound = _chernoff if noise == "laplace" else below_gaussian
    reach = bound(scale, terms, SLACK)
    length = 1 << max(4, math.ceil(math.log2(2 * reach + 2)))
    if length > LONGEST:
        return bound(scale, terms, 1 - float(confidence))
    law = _laplace_law(float(scale), length) if noise == "laplace" else _gaussian_law(float(scale), length)
    folded = np.fft.irfft(law**terms, n=length)
    inside = folded[0] + 2 * np.concatenate([[0.0], np.cumsum(folded[1 : length // 2])])
    return int(np.searchsorted(inside, float(confidence) + 2 * SLACK))


def _laplace_law(scale: float, length: int) -> NDArray[np.float64]:
    angle = 2 * np.pi * np.arange(length // 2 + 1) / length
    decay = math.exp(-1 / scale)
    return (1 - decay) ** 2 / (1 - 2 * decay * np.cos(angle) + decay**2)


def _gaussian_law(sigma: float, length: int) -> NDArray[np.float64]:
    """The characteristic function of one term at multiples of 2 pi / length; beyond the length its weights vanish."""
    place = np.minimum(np.arange(length), length - np.arange(length))
    weight = np.exp(-((place / sigma) ** 2) / 2)
    return np.asarray(np.fft.rfft(weight / weight.sum()).real)


def below_gaussian(scale: Fraction, terms: int, tail: float) -> int:
    """A t with P(|sum| > t) <= tail, by Chernoff's bound.

    Why   E e^{wX} is e^(w^2 sigma^2 / 2) times the sum of e^(-(k - w sigma^2)^2 / (2 sigma^2)) over the same sum
          without a shift, which is the largest (Poisson summation, [CKS20]). So it is at most that of a Gaussian.
    """
    return math.ceil(float(scale) * math.sqrt(2 * terms * math.log(2 / tail)))


def _chernoff(scale: Fraction, terms: int, tail: float) -> int:
    """A t with P(|sum| > t) <= tail, from the best of many exponential moments."""
    s = float(scale)
    tilt = np.geomspace(1e-6, 0.999999, 2000) / s
    # log E e^{wX} = 2 log(1-p) - log(1 - p e^w) - log(1 - p e^-w)
    log_moment = 2 * math.log(-math.expm1(-1 / s)) - np.log(-np.expm1(tilt - 1 / s)) - np.log(-np.expm1(-tilt - 1 / s))
    bounds = (terms * log_moment + math.log(2 / tail)) / tilt
    return math.ceil(float(np.min(bounds)))
