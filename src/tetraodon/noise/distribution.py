"""What is exactly known of the noise: probabilities, variances, and how far it reaches."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from typing import SupportsIndex

from tetraodon.noise.argument import positive, probability, whole
from tetraodon.noise.exponential import exp_bounds
from tetraodon.noise.guide_table import GaussianLaw
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


_SUMMED = 512  # Gaussian widths up to here are summed term by term


def laplace_quantile(scale: Number, confidence: Number) -> int:
    """The least t with P(|X| <= t) >= confidence for discrete Laplace X.

    Post  exact: P(|X| > t) = 2 p**(t+1) / (1 + p), p = e**(-1/scale), is compared in integers.

    >>> laplace_quantile(1, 0.95), laplace_quantile(100, 0.95)
    (3, 300)
    """
    return _laplace(positive(scale, name="scale"), probability(confidence))


def gaussian_quantile(sigma: Number, confidence: Number) -> int:
    """The least t with P(|X| <= t) >= confidence for discrete Gaussian X.

    Post  exact for sigma <= 512. Above, P(|X| <= t) >= confidence still holds, and t is at most
          1 + 2e-12 * sigma above the least such.
    Why   let f be the weight. f(k) is at most the integral of f over [k - 1/2, k + 1/2] where f is
          convex, from sigma on, and exceeds it by at most 1/8 of the integral of |f''| elsewhere (Peano's
          kernel), in all e**(-1/2) / (4 sigma). The sum of all weights is at
          least sigma * sqrt(2 pi) (Poisson summation). So P(|X| > t) is at most
          erfc((t + 1/2) / (sigma sqrt 2)), plus 0.13 / sigma**2 when t + 1/2 < sigma.

    >>> gaussian_quantile(1, 0.95), gaussian_quantile(10**6, 0.95)
    (2, 1959964)
    """
    value, sure = positive(sigma, name="sigma"), probability(confidence)
    return _summed(value, sure) if value <= _SUMMED else _smooth(value, sure)


@lru_cache(maxsize=1024)
def _laplace(scale: Fraction, confidence: Fraction) -> int:
    miss = 1 - confidence

    def holds(t: int) -> bool:
        bits = 64
        while True:  # ends: e to a rational power other than 0 is no root of a rational polynomial
            bits *= 2
            p, tail = exp_bounds(1 / scale, bits), exp_bounds((t + 1) / scale, bits)
            if 2 * tail.high <= miss * ((1 << bits) + p.low):
                return True
            if 2 * tail.low > miss * ((1 << bits) + p.high):
                return False

    return _least(holds)


@lru_cache(maxsize=1024)
def _summed(sigma: Fraction, confidence: Fraction) -> int:
    law = GaussianLaw(sigma**2)
    bits = 128
    while True:
        bits *= 2
        weights = law.weights(2 * bits, bits)
        total = Fraction(sum(weights.highs) + weights.rest) * confidence
        maybe = Fraction(sum(weights.lows)) * confidence
        sure = next((j for j, part in enumerate(accumulate(weights.lows)) if part >= total), -1)
        least = next((j for j, part in enumerate(accumulate(weights.highs)) if part >= maybe), -1)
        if sure >= 0 and (sure + 1) // 2 == (least + 1) // 2:
            return (sure + 1) // 2


@lru_cache(maxsize=1024)
def _smooth(sigma: Fraction, confidence: Fraction) -> int:
    miss = float(1 - confidence) * (1 - 1e-12)  # more than the floats below can be wrong by

    def holds(t: int) -> bool:
        reach = t + Fraction(1, 2)
        more = 0.0 if reach >= sigma else 0.13 / float(sigma) ** 2
        return math.erfc(float(reach / sigma) / math.sqrt(2)) + more <= miss

    return _least(holds)


def _least(holds: Callable[[int], bool]) -> int:
    """The least t >= 0 from which `holds` is true on."""
    above = 1
    while not holds(above - 1):
        above *= 2
    below = above // 2  # the answer is in [below, above - 1]
    above -= 1
    while below < above:
        middle = (below + above) // 2
        if holds(middle):
            above = middle
        else:
            below = middle + 1
    return above
