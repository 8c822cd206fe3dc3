"""The distributions once more, by `decimal` with 120 digits: nothing here comes from the source."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache

DIGITS = 120


@cache
def exp_minus(exponent: Fraction) -> Fraction:
    """e**-exponent to 120 digits."""
    with localcontext() as context:
        context.prec = DIGITS
        ratio = Decimal(exponent.numerator) / Decimal(exponent.denominator)
        return Fraction((-ratio).exp())


def laplace(scale: Fraction, k: int) -> Fraction:
    p = exp_minus(1 / scale)
    return (1 - p) / (1 + p) * exp_minus(abs(k) / scale)


def laplace_tail(scale: Fraction, t: int) -> Fraction:
    """P(|X| > t)."""
    return 2 * exp_minus((t + 1) / scale) / (1 + exp_minus(1 / scale))


@cache
def gaussian_total(sigma: Fraction) -> Fraction:
    far = int(sigma * 25) + 2  # e**-(25**2 / 2) is below 1e-135
    return 1 + 2 * sum(gaussian_weight(sigma, k) for k in range(1, far))


def gaussian_weight(sigma: Fraction, k: int) -> Fraction:
    return exp_minus(k * k / (2 * sigma**2))


def gaussian(sigma: Fraction, k: int) -> Fraction:
    return gaussian_weight(sigma, k) / gaussian_total(sigma)


def zigzag(outcome: int) -> int:
    """The integer an outcome of a two-sided law stands for."""
    return (outcome >> 1) ^ -(outcome & 1)
