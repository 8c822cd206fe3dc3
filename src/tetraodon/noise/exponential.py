"""Integer bounds on e**-q for a rational q: the only place where an exponential decides anything."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple


class IntegerBounds(NamedTuple):
    """Two integers around a real number that was scaled by a power of two."""

    low: int
    high: int


def shifted_up(number: int, bits: int) -> int:
    """number / 2**bits, rounded up."""
    return -(-number >> bits)


def times(left: IntegerBounds, right: IntegerBounds, bits: int) -> IntegerBounds:
    """IntegerBounds on the product of two numbers that are not negative, all scaled by 2**bits."""
    return IntegerBounds(left.low * right.low >> bits, shifted_up(left.high * right.high, bits))


def exp_bounds(exponent: Fraction, bits: int) -> IntegerBounds:
    """Integers around e**-exponent * 2**bits.

    Pre   exponent >= 0, bits >= 1.
    Post  low <= e**-exponent * 2**bits <= high and high - low <= 2.
    Why   x = exponent / 2**k is below 1/16, so the terms x**j / j! fall and alternate: a partial sum
          errs by less than the first term left out. Every product is rounded outwards; squaring k
          times gives e**-exponent and loses at most k bits and the few units that 32 guard bits cover.

    >>> exp_bounds(Fraction(0), 8)
    IntegerBounds(low=256, high=256)
    >>> exp_bounds(Fraction(1), 16)          # 65536 / e = 24109.3...
    IntegerBounds(low=24109, high=24110)
    """
    one = 1 << bits
    if exponent == 0:
        return IntegerBounds(one, one)
    if exponent >= bits:  # e**-bits < 2**-bits
        return IntegerBounds(0, 1)
    top, bottom = exponent.numerator, exponent.denominator
    halvings = max(0, top.bit_length() - bottom.bit_length() + 5)
    guard = halvings + 32
    fine = bits + guard
    x = _divided(top << fine, bottom << halvings)
    root = _alternating_series(x, fine)
    for _ in range(halvings):
        root = times(root, root, fine)
    return IntegerBounds(root.low >> guard, min(one, shifted_up(root.high, guard)))


def _divided(top: int, bottom: int) -> IntegerBounds:
    return IntegerBounds(top // bottom, -(-top // bottom))


def _alternating_series(x: IntegerBounds, bits: int) -> IntegerBounds:
    """IntegerBounds on e**-x for x scaled by 2**bits and below 2**bits / 16."""
    term = IntegerBounds(1 << bits, 1 << bits)
    low = high = 0
    order = 0
    while term.high > 1:
        if order % 2 == 0:
            low, high = low + term.low, high + term.high
        else:
            low, high = low - term.high, high - term.low
        order += 1
        product = times(term, x, bits)
        term = IntegerBounds(product.low // order, -(-product.high // order))
    return IntegerBounds(low - 1, high + 1)
