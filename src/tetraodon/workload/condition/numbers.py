"""Exact numbers in conditions: every one is a whole number over another, so that nothing is ever rounded."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from tetraodon.errors import QueryError
from tetraodon.workload.condition.nodes import (
    Arithmetic,
    Choice,
    Constant,
    Extreme,
    NumberComparison,
    Operation,
    Sign,
    Sizes,
    Truth,
    Whole,
)

FOLDED: Final[dict[Operation, Callable[[int, int], int]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": lambda a, b: abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1),
    "%": lambda a, b: abs(a) % abs(b) * (-1 if a < 0 else 1),
}
TURNED: Final[dict[Sign, Sign]] = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
ONE: Final = Constant(1)
POWERS = 16
"""The largest exponent."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """`over` / `under`, where `under` is above 0, and unknown only where `over` is."""

    over: Whole
    under: Whole = ONE

    @property
    def sizes(self) -> Sizes:
        return self.over.sizes | self.under.sizes

    @property
    def constant(self) -> Fraction | None:
        """Its value, if it is the same for every record."""
        if isinstance(self.over, Constant) and isinstance(self.under, Constant) and self.over.number is not None:
            return Fraction(self.over.number, self.under.number)
        return None


def number(value: Fraction | int) -> Ratio:
    """A number that is always the same."""
    exact = Fraction(value)
    return Ratio(Constant(exact.numerator), Constant(exact.denominator))


NULL: Final = Ratio(Constant(None))


def whole(operation: Operation, left: Whole, right: Whole) -> Whole:
    """An operation on whole numbers, computed at once where both are known.

    >>> whole("//", Constant(-7), Constant(2)), whole("%", Constant(-7), Constant(2)), whole("%", ONE, Constant(0))
    (Constant(number=-3), Constant(number=-1), Constant(number=None))
    """
    if isinstance(left, Constant) and isinstance(right, Constant):
        if left.number is None or right.number is None or (operation in ("//", "%") and right.number == 0):
            return Constant(None)
        return Constant(FOLDED[operation](left.number, right.number))
    if (operation in ("+", "-") and right == Constant(0)) or (operation in ("*", "//") and right == ONE):
        return left
    if (operation == "+" and left == Constant(0)) or (operation == "*" and left == ONE):
        return right
    return Arithmetic(operation, left, right)


def added(left: Ratio, right: Ratio, operation: Operation = "+") -> Ratio:
    """The sum of two numbers, or with "-" or "%" their difference or what division leaves."""
    (a, b), under = _common([left, right])
    return Ratio(whole(operation, a, b), under)


def multiplied(left: Ratio, right: Ratio) -> Ratio:
    """The product of two numbers."""
    return Ratio(whole("*", left.over, right.over), whole("*", left.under, right.under))


def divided(left: Ratio, right: Ratio) -> Ratio:
    """The exact quotient; unknown where the second number is 0."""
    over, under = whole("*", left.over, right.under), whole("*", right.over, left.under)
    if isinstance(under, Constant):
        if not under.number:
            return NULL
        sign: Whole = Constant(1 if under.number > 0 else -1)
    else:
        zero = Constant(0)
        cases = (NumberComparison("<", under, zero), NumberComparison(">", under, zero))
        sign = Choice(cases, (Constant(-1), ONE, Constant(None)))
    return Ratio(whole("*", over, sign), whole("*", under, sign))


def cut_off(left: Ratio, right: Ratio) -> Ratio:
    """The whole part of a quotient, towards 0."""
    (a, b), _ = _common([left, right])
    return Ratio(whole("//", a, b))


def power(base: Ratio, exponent: Ratio) -> Ratio:
    """A number multiplied with itself."""
    times = exponent.constant
    if times is None or times.denominator != 1 or not 0 <= times <= POWERS:
        raise QueryError("this power is not offered", fix=f"use a whole exponent from 0 to {POWERS}")
    found = number(1)
    for _ in range(int(times)):
        found = multiplied(found, base)
    return found


def floor(one: Ratio) -> Ratio:
    """The largest whole number that is not above."""
    least = whole("//", one.over, one.under)
    below = NumberComparison("<", whole("%", one.over, one.under), Constant(0))
    return Ratio(Choice((below,), (whole("-", least, ONE), least)))


def negative(one: Ratio) -> Ratio:
    """The number with the other sign."""
    return Ratio(whole("-", Constant(0), one.over), one.under)


def absolute(one: Ratio) -> Ratio:
    """The number without its sign."""
    return extreme([one, negative(one)], True)


def rounded(one: Ratio, decimals: Ratio | None = None) -> Ratio:
    """The nearest number with so many decimals; halves go away from 0."""
    places = Fraction(0) if decimals is None else decimals.constant
    if places is None or places.denominator != 1 or not 0 <= places <= POWERS:
        raise QueryError("this rounding is not offered", fix=f"round to a whole number of decimals, 0 to {POWERS}")
    scale = number(10 ** int(places))
    half = chosen([NumberComparison("<", one.over, Constant(0))], [number(Fraction(-1, 2)), number(Fraction(1, 2))])
    return divided(cut_off(added(multiplied(one, scale), half), number(1)), scale)


def extreme(numbers: Sequence[Ratio], largest: bool) -> Ratio:
    """The least of the known numbers, or the largest."""
    overs, under = _common(numbers)
    return Ratio(Extreme(largest, tuple(overs)), under)


def common_denominator(numbers: Sequence[Fraction]) -> int:
    """The least number that all of some fractions can be written over."""
    return math.lcm(1, *(one.denominator for one in numbers))


def chosen(conditions: Sequence[Truth], numbers: Sequence[Ratio]) -> Ratio:
    """The number beside the first condition that is true, or the last number."""
    if all(isinstance(one.under, Constant) for one in numbers):
        overs, under = _common(numbers)
        return Ratio(Choice(tuple(conditions), tuple(overs)), under)
    overs, unders = [one.over for one in numbers], [one.under for one in numbers]
    return Ratio(Choice(tuple(conditions), tuple(overs)), Choice(tuple(conditions), tuple(unders)))


def compared(sign: Sign, left: Ratio, right: Ratio) -> Truth:
    """The comparison of two numbers as one of whole numbers.

    >>> from tetraodon.workload.condition.nodes import Code
    >>> compared("<", Ratio(Code(0, 9), Constant(10)), number(Fraction("0.25")))    # tenths: below 2.5
    NumberComparison(sign='<', left=Code(place=0, size=9), right=Constant(number=3))
    """
    if left.constant is not None and right.constant is None:
        return compared(TURNED[sign], right, left)
    if right.constant is not None and isinstance(left.under, Constant):
        return _with_constant(sign, left.over, right.constant * (left.under.number or 1))
    (a, b), _ = _common([left, right])
    return NumberComparison(sign, a, b)


def _with_constant(sign: Sign, left: Whole, right: Fraction) -> Truth:
    """A whole number compared with a fraction: the whole number next to it will do, and none far away is needed."""
    match left:
        case Arithmetic("+", inner, Constant(shift)) if shift is not None:
            return _with_constant(sign, inner, right - shift)
        case _:
            limit = left.bound + 1
            if right.denominator != 1 and sign in ("=", "<>"):
                right = Fraction(limit)  # nothing is equal to it
            near = math.ceil(right) if sign in ("<", ">=") else math.floor(right)
            return NumberComparison(sign, left, Constant(min(max(near, -limit), limit)))


def _common(numbers: Sequence[Ratio]) -> tuple[list[Whole], Whole]:
    """The numbers over one denominator."""
    unders = [one.under for one in numbers]
    if all(isinstance(under, Constant) for under in unders):
        fixed = [under.number or 1 for under in unders if isinstance(under, Constant)]
        common = math.lcm(*fixed)
        shares = [Constant(common // under) for under in fixed]
        return [whole("*", one.over, share) for one, share in zip(numbers, shares, strict=True)], Constant(common)
    if len(numbers) != 2:
        raise QueryError("several quotients are not compared at once", fix="divide by a number, or compare two by two")
    left, right = numbers
    overs = [whole("*", left.over, right.under), whole("*", right.over, left.under)]
    return overs, whole("*", left.under, right.under)
