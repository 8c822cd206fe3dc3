"""How far the noise reaches: the least t that holds it with a given confidence."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate

from tetraodon.noise.argument import positive, probability
from tetraodon.noise.exponential import exp_bounds
from tetraodon.noise.law import GaussianLaw
from tetraodon.rational import Number

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
