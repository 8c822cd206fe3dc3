"""Numbers are exact: every operation equals that of Python's fractions, for every sign."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest

from tetraodon.query.condition import values as exact
from tetraodon.query.condition.values import Ratio, number

SOME = [Fraction(n, d) for n, d in itertools.product(range(-7, 8), (1, 2, 3))]


def value(found: Ratio) -> Fraction | None:
    return found.constant


def cut(one: Fraction) -> int:
    return math.trunc(one)


@pytest.mark.parametrize(("a", "b"), list(itertools.product(SOME[::4], SOME[::5])))
def test_two_numbers(a: Fraction, b: Fraction) -> None:
    left, right = number(a), number(b)
    assert value(exact.added(left, right)) == a + b
    assert value(exact.added(left, right, "-")) == a - b
    assert value(exact.multiplied(left, right)) == a * b
    assert value(exact.divided(left, right)) == (None if b == 0 else a / b)
    assert value(exact.cut_off(left, right)) == (None if b == 0 else cut(a / b))
    assert value(exact.added(left, right, "%")) == (None if b == 0 else a - b * cut(a / b))


@pytest.mark.parametrize("a", SOME)
def test_powers(a: Fraction) -> None:
    assert value(exact.power(number(a), number(3))) == a**3
    assert value(exact.negative(number(a))) == -a
    assert exact.common_denominator([a, Fraction(1, 4)]) == math.lcm(a.denominator, 4)
