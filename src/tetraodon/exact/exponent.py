"""Where e^epsilon meets exact numbers: bounds on exponentials and logarithms, each named by its direction.

`decimal` rounds exp and ln correctly to any number of digits, so one unit in the last place either way is a
proved bound.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, localcontext
from fractions import Fraction
from typing import Literal

DIGITS = 40
LARGEST = 10**6


def exp_below(number: Fraction, digits: int = DIGITS) -> Fraction:
    """A rational just below e^number; exactly 1 at 0.

    >>> exp_below(Fraction(0)), float(exp_below(Fraction(1)))
    (Fraction(1, 1), 2.718281828459045)
    """
    return _exp(number, digits)[0]


def exp_above(number: Fraction, digits: int = DIGITS) -> Fraction:
    """A rational just above e^number; exactly 1 at 0."""
    return _exp(number, digits)[1]


def log_below(number: Fraction, digits: int = DIGITS) -> Fraction:
    """A rational just below ln(number), number > 0; exactly 0 at 1."""
    return _log(number, digits)[0]


def log_above(number: Fraction, digits: int = DIGITS) -> Fraction:
    """A rational just above ln(number), number > 0; exactly 0 at 1.

    >>> log_above(Fraction(1)), float(log_above(Fraction(2)))
    (Fraction(0, 1), 0.6931471805599453)
    """
    return _log(number, digits)[1]


def is_at_most_exp(odds: Fraction, epsilon: Fraction) -> bool:
    """Whether odds <= e^epsilon, decided exactly.

    Why   e^epsilon is irrational for every rational epsilon but 0, so some number of digits decides.
    """
    return sign_of_sum({Fraction(0): odds, epsilon: Fraction(-1)} if epsilon else {Fraction(0): odds - 1}) <= 0


def sign_of_sum(terms: Mapping[Fraction, Fraction]) -> Literal[-1, 0, 1]:
    """The sign of the sum of c * e^r over the items r: c, decided exactly.

    Why   by Lindemann and Weierstrass the powers e^r of different rationals r are linearly independent over the
          rationals: the sum is zero only if every c is, and otherwise some number of digits decides.
    """
    left = {power: factor for power, factor in terms.items() if factor}
    if not left:
        return 0
    digits = DIGITS
    while True:
        low = high = Fraction(0)
        for power, factor in left.items():
            below, above = _exp(power, digits)
            low += factor * (below if factor > 0 else above)
            high += factor * (above if factor > 0 else below)
        if low > 0:
            return 1
        if high < 0:
            return -1
        digits *= 2


def _exp(number: Fraction, digits: int) -> tuple[Fraction, Fraction]:
    if number == 0:
        return Fraction(1), Fraction(1)
    room = digits + 5 + max(0, len(str(abs(int(number)))))  # |x| * relative error of x becomes that of e^x
    with localcontext(_context(room)):
        low = _decimal(number, ROUND_FLOOR, room).exp().next_minus()
        high = _decimal(number, ROUND_CEILING, room).exp().next_plus()
    return Fraction(low), Fraction(high)


def _log(number: Fraction, digits: int) -> tuple[Fraction, Fraction]:
    if number == 1:
        return Fraction(0), Fraction(0)
    with localcontext(_context(digits)):
        low = _decimal(number, ROUND_FLOOR, digits).ln()
        high = _decimal(number, ROUND_CEILING, digits).ln()
        # a number so near 1 that its rounding is 1 has a logarithm between 0 and that of the next decimal
        return Fraction(low.next_minus() if low else low), Fraction(high.next_plus() if high else high)


def _context(digits: int) -> Context:
    return Context(prec=digits, Emin=-LARGEST, Emax=LARGEST)


def _decimal(number: Fraction, rounding: str, digits: int) -> Decimal:
    context = Context(prec=digits, rounding=rounding, Emin=-LARGEST, Emax=LARGEST)
    return context.divide(Decimal(number.numerator), Decimal(number.denominator))


def display(number: Fraction | float) -> float:
    """The nearest float, for reading only; infinity stays."""
    try:
        return float(number)
    except OverflowError:
        return math.inf
