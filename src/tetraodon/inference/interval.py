"""How far off an answer can be: exact quantiles of sums of discrete Laplace noise."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

from tetraodon.noise import laplace_quantile

LONGEST = 2**22
SLACK = 1e-9


def sum_quantile(scale: Fraction, terms: int, confidence: Fraction) -> int:
    """The least t, or a little more, with P(|X_1 + ... + X_terms| <= t) >= confidence.

    A sum of more terms is more spread out, so beyond 64 the number of terms is rounded up to six binary digits: tables
    of a million running counts need a few hundred quantiles.
    """
    rounding = 1 << max(0, terms.bit_length() - 6)
    return _quantile(scale, -(-terms // rounding) * rounding, confidence)


@lru_cache(maxsize=4096)
def _quantile(scale: Fraction, terms: int, confidence: Fraction) -> int:
    """As `sum_quantile`.

    Why   the characteristic function of one term is (1-p)^2 / (1 - 2 p cos w + p^2) with p = e^(-1/scale); its
          power, sampled at N points, is the law of the sum folded modulo N, and folding can only add `SLACK` in the
          range where Chernoff's bound leaves no more outside. Where N would be too long, Chernoff's bound
          itself is the answer: safe, and about a third too wide.
    """
    if terms == 0 or scale == 0:
        return 0
    if terms == 1:
        return laplace_quantile(scale, confidence)
    reach = _chernoff(scale, terms, SLACK)
    length = 1 << max(4, math.ceil(math.log2(2 * reach + 2)))
    if length > LONGEST:
        return _chernoff(scale, terms, 1 - float(confidence))
    angle = 2 * np.pi * np.arange(length // 2 + 1) / length
    decay = math.exp(-1 / float(scale))
    law = (1 - decay) ** 2 / (1 - 2 * decay * np.cos(angle) + decay**2)
    folded = np.fft.irfft(law**terms, n=length)
    inside = folded[0] + 2 * np.concatenate([[0.0], np.cumsum(folded[1 : length // 2])])
    return int(np.searchsorted(inside, float(confidence) + 2 * SLACK))


def _chernoff(scale: Fraction, terms: int, tail: float) -> int:
    """A t with P(|sum| > t) <= tail, from the best of many exponential moments."""
    s = float(scale)
    tilt = np.geomspace(1e-6, 0.999999, 2000) / s
    # log E e^{wX} = 2 log(1-p) - log(1 - p e^w) - log(1 - p e^-w)
    log_moment = 2 * math.log(-math.expm1(-1 / s)) - np.log(-np.expm1(tilt - 1 / s)) - np.log(-np.expm1(-tilt - 1 / s))
    bounds = (terms * log_moment + math.log(2 / tail)) / tilt
    return math.ceil(float(np.min(bounds)))
