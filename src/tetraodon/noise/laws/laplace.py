"""Discrete Laplace noise, which others call the two-sided geometric mechanism."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

from tetraodon.arrays import Floats
from tetraodon.noise.argument import Size
from tetraodon.noise.distribution import laplace_pmf, laplace_quantile, laplace_variance
from tetraodon.noise.guide_table import Integers
from tetraodon.noise.laplace import discrete_laplace
from tetraodon.noise.laws.noise_law import NEGLIGIBLE, Currency, NoiseLaw
from tetraodon.noise.laws.quantiles import laplace_reach, quantile_of_sum


class LaplaceNoise(NoiseLaw):
    """P(k) is proportional to e**(-|k| / scale), so that a shift by s costs |s| / scale, exactly ([HMD14] Thm 5.1).

    >>> round(LAPLACE.variance(Fraction(10)), 3), LAPLACE.rate(Fraction(4))
    (199.833, Fraction(1, 4))
    """

    __slots__ = ()

    @property
    def currency(self) -> Currency:
        return Currency.PURE

    def rate(self, scale: Fraction) -> Fraction:
        return 1 / scale

    def draw(self, scale: Fraction, size: Size) -> Integers:
        return discrete_laplace(scale, size)

    def pmf(self, scale: Fraction, k: int) -> float:
        return laplace_pmf(scale, k)

    def variance(self, scale: Fraction) -> float:
        return max(laplace_variance(scale), NEGLIGIBLE * self.smooth_variance(scale))

    def smooth_variance(self, scale: Fraction) -> float:
        return 2 * float(scale) ** 2

    def characteristic(self, scale: Fraction, angles: Floats) -> Floats:
        """(1 - p)^2 / (1 - 2 p cos(angle) + p^2), p being e^(-1/scale), so that no digits cancel at large scales."""
        gap = -math.expm1(-1 / scale)
        return np.asarray(gap**2 / (gap**2 + 4 * (1 - gap) * np.sin(angles / 2) ** 2))

    def quantile(self, scale: Fraction, confidence: Fraction) -> int:
        return laplace_quantile(scale, confidence)

    def sum_quantile(self, scale: Fraction, terms: int, confidence: Fraction) -> int:
        return quantile_of_sum(self, scale, terms, confidence, _chernoff)

    def reach(self, variance: Floats, largest: Floats, confidence: Fraction) -> Floats:
        return laplace_reach(variance, largest, confidence)


@lru_cache(maxsize=4096)
def _chernoff(scale: Fraction, terms: int, tail: float) -> int:
    """A t with P(|sum| > t) <= tail, from the best of many exponential moments."""
    s = float(scale)
    tilt = np.geomspace(1e-6, 0.999999, 2000) / s
    # log E e^{wX} = 2 log(1-p) - log(1 - p e^w) - log(1 - p e^-w)
    log_moment = 2 * math.log(-math.expm1(-1 / s)) - np.log(-np.expm1(tilt - 1 / s)) - np.log(-np.expm1(-tilt - 1 / s))
    bounds = (terms * log_moment + math.log(2 / tail)) / tilt
    return math.ceil(float(np.min(bounds)))


LAPLACE = LaplaceNoise("laplace", "discrete Laplace")
