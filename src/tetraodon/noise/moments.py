"""Probabilities and variances of the noise, as floats good to the last places."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import SupportsIndex

from tetraodon.noise.argument import positive, whole
from tetraodon.noise.exponential import exp_bounds
from tetraodon.noise.law import GaussianLaw
from tetraodon.rational import Number

_BITS = 128
_VANISHES = 800  # e**-800 is below every positive float
_SMOOTH = 2  # from this sigma on, sums over the integers are integrals to within 1e-32


def laplace_pmf(scale: Number, k: SupportsIndex) -> float:
    """P(X = k) = (1 - p) / (1 + p) * p**|k| with p = e**(-1/scale), to within a few units of 1e-16.

    >>> round(laplace_pmf(1, 0), 12)          # tanh(1/2)
    0.46211715726
    """
    value = positive(scale, name="scale")
    place = abs(whole(k)) / value
    if place > _VANISHES:
        return 0.0
    p = _exp(1 / value)
    return float((1 - p) / (1 + p) * _exp(place))


@lru_cache(maxsize=1024)
def _laplace_variance(scale: Fraction) -> float:
    if scale * _VANISHES < 1:
        return 0.0
    p = _exp(1 / scale)
    return float(2 * p / (1 - p) ** 2)


def laplace_variance(scale: Number) -> float:
    """2p / (1 - p)**2 with p = e**(-1/scale), to within a few units of 1e-16; about 2 * scale**2.

    >>> round(laplace_variance(10), 9)
    199.833416634
    """
    return _laplace_variance(positive(scale, name="scale"))


def gaussian_pmf(sigma: Number, k: SupportsIndex) -> float:
    """P(X = k), the weight e**(-k**2 / (2 sigma**2)) over the sum of all, to a few units of 1e-16.

    >>> round(gaussian_pmf(10, 0), 12)        # 1 / (10 * sqrt(2 pi))
    0.03989422804
    """
    value = positive(sigma, name="sigma")
    place = whole(k) ** 2 / (2 * value**2)
    if place > _VANISHES:
        return 0.0
    if value >= _SMOOTH:
        return float(_exp(place) / Fraction(math.sqrt(2 * math.pi)) / value)
    return float(_exp(place) / sum(_gaussian_weights(value)))


def gaussian_variance(sigma: Number) -> float:
    """The exact variance, to within a few units of 1e-16; never above sigma**2 ([CKS20]).

    Why   for sigma >= 2 the Poisson summation formula puts it within 1e-30 of sigma**2, relatively.

    >>> gaussian_variance(10), round(gaussian_variance("1/2"), 6)
    (100.0, 0.215013)
    """
    value = positive(sigma, name="sigma")
    if value >= _SMOOTH:
        return float(value**2)
    weights = _gaussian_weights(value)
    return float(sum(((j + 1) // 2) ** 2 * weight for j, weight in enumerate(weights)) / sum(weights))


def _gaussian_weights(sigma: Fraction) -> list[Fraction]:
    """Weights of 0, -1, 1, -2, 2, ...; that of 1 is known to 128 bits while it is not negligible."""
    bits = _BITS + 2 * min(math.ceil(1 / (2 * sigma**2)), _VANISHES)
    lows = GaussianLaw(sigma**2).weights(2 * bits, bits).lows
    return [Fraction(low, 1 << 2 * bits) for low in lows]


def _exp(exponent: Fraction) -> Fraction:
    """e**-exponent; it and 1 minus it are good to 128 bits, or too small for a float."""
    if exponent == 0 or exponent > 2 * _VANISHES:
        return Fraction(exponent == 0)
    bits = _BITS + 2 * math.ceil(exponent) + math.ceil(1 / exponent).bit_length()
    return Fraction(exp_bounds(exponent, bits).low, 1 << bits)
