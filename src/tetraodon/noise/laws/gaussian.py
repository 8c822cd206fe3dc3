"""Discrete Gaussian noise ([CKS20])."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from tetraodon.arrays import Floats
from tetraodon.noise.argument import Size
from tetraodon.noise.distribution import gaussian_pmf, gaussian_quantile, gaussian_variance
from tetraodon.noise.gaussian import discrete_gaussian
from tetraodon.noise.guide_table import Integers
from tetraodon.noise.laws.noise_law import NEGLIGIBLE, Currency, NoiseLaw
from tetraodon.noise.laws.quantiles import gaussian_reach, quantile_of_sum


class GaussianNoise(NoiseLaw):
    """P(k) is proportional to e**(-k**2 / (2 scale**2)), so that a shift by s costs rho = (s / scale)^2 / 2 in zCDP
    ([CKS20] Thm 4). It has no finite epsilon without a delta.

    >>> GAUSSIAN.variance(Fraction(10)), GAUSSIAN.quantile(Fraction(10), Fraction(95, 100))
    (100.0, 20)
    """

    __slots__ = ()

    @property
    def currency(self) -> Currency:
        return Currency.ZCDP

    def rate(self, scale: Fraction) -> Fraction:
        return 1 / scale

    def draw(self, scale: Fraction, size: Size) -> Integers:
        return discrete_gaussian(scale, size)

    def pmf(self, scale: Fraction, k: int) -> float:
        return gaussian_pmf(scale, k)

    def variance(self, scale: Fraction) -> float:
        return max(gaussian_variance(scale), NEGLIGIBLE * self.smooth_variance(scale))

    def smooth_variance(self, scale: Fraction) -> float:
        return float(scale) ** 2

    def characteristic(self, scale: Fraction, angles: Floats) -> Floats:
        """Why  by Poisson summation it is a sum of bells around the multiples of 2 pi ([CKS20])."""
        sigma = float(scale)
        near = np.remainder(np.asarray(angles) + np.pi, 2 * np.pi) - np.pi
        around = 2 * np.pi * np.arange(-(most := 1 + math.ceil(1.5 / sigma)), most + 1)
        bells = sum(np.exp(-((sigma * (near + place)) ** 2) / 2) for place in around)
        return np.asarray(bells / np.exp(-((sigma * around) ** 2) / 2).sum())

    def quantile(self, scale: Fraction, confidence: Fraction) -> int:
        return gaussian_quantile(scale, confidence)

    def sum_quantile(self, scale: Fraction, terms: int, confidence: Fraction) -> int:
        return quantile_of_sum(self, scale, terms, confidence, _chernoff)

    def reach(self, variance: Floats, largest: Floats, confidence: Fraction) -> Floats:  # noqa: ARG002 - variance is all
        return gaussian_reach(variance, confidence)


def _chernoff(scale: Fraction, terms: int, tail: float) -> int:
    """A t with P(|sum| > t) <= tail, by Chernoff's bound.

    Why   E e^{wX} is e^(w^2 sigma^2 / 2) times the sum of e^(-(k - w sigma^2)^2 / (2 sigma^2)) over the same sum
          without a shift, which is the largest (Poisson summation, [CKS20]). So it is at most that of a Gaussian.
    """
    return math.ceil(float(scale) * math.sqrt(2 * terms * math.log(2 / tail)))


GAUSSIAN = GaussianNoise("gaussian", "discrete Gaussian", "standard deviation", "sigma")
