from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.noise import truth

from tetraodon.noise.elementary import IntegerBounds, exp_bounds, shifted_up, times

rationals = st.fractions(min_value=0, max_value=200, max_denominator=10**9)


@settings(max_examples=200, deadline=None)
@given(rationals, st.integers(1, 300))
def test_the_bounds_hold_the_true_value_and_are_close(exponent, bits):
    low, high = exp_bounds(exponent, bits)
    true = truth.exp_minus(exponent) * 2**bits
    blur = true / 10**110
    assert low <= true + blur
    assert true - blur <= high
    assert 0 <= high - low <= 2


@pytest.mark.parametrize("exponent", [Fraction(1, 10**30), Fraction(10**6), Fraction(10**40, 3)])
def test_extreme_exponents(exponent):
    low, high = exp_bounds(exponent, 100)
    assert 0 <= low <= high <= 1 << 100
    assert high - low <= 2


def test_zero_gives_one():
    assert exp_bounds(Fraction(0), 10) == IntegerBounds(1024, 1024)


@given(st.integers(0, 999), st.integers(0, 9), st.integers(0, 999), st.integers(0, 9))
def test_products_are_rounded_outwards(left, more, right, further):
    product = times(IntegerBounds(left, left + more), IntegerBounds(right, right + further), 5)
    assert product.low * 32 <= left * right
    assert product.high * 32 >= (left + more) * (right + further)
    assert shifted_up(left, 3) == -(-left // 8)
