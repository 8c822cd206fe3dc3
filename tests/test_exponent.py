"""Bounds lie on the side they are named after, and signs of sums of exponentials are exact."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tetraodon.exact.exponent import display, exp_above, exp_below, is_at_most_exp, log_above, log_below, sign_of_sum

TINY = Fraction(1, 10**30)


@given(st.fractions(-20, 20, max_denominator=1000))
def test_exponentials_are_enclosed(number):
    low, high = exp_below(number), exp_above(number)
    assert low <= high
    assert high - low <= high * TINY
    assert float(low) == pytest.approx(math.exp(number), rel=1e-13)
    assert (low == high) == (number == 0)


@given(st.fractions(Fraction(1, 1000), 1000, max_denominator=1000))
def test_logarithms_are_enclosed(number):
    low, high = log_below(number), log_above(number)
    assert low <= high
    assert high - low <= TINY
    assert exp_below(low) <= number <= exp_above(high)


def test_numbers_next_to_one():
    close = 1 + Fraction(1, 10**400)
    assert log_below(close) == 0 < log_above(close) < TINY
    assert log_below(1 / close) < 0 == log_above(1 / close)
    assert log_below(Fraction(1)) == log_above(Fraction(1)) == 0


def test_odds_are_compared_with_e_to_the_epsilon_exactly():
    epsilon = Fraction(1, 2)
    assert is_at_most_exp(exp_below(epsilon, 100), epsilon)
    assert not is_at_most_exp(exp_above(epsilon, 100), epsilon)
    assert is_at_most_exp(Fraction(1), Fraction(0))
    assert not is_at_most_exp(Fraction(10**60 + 1, 10**60), Fraction(0))


def test_signs():
    assert sign_of_sum({}) == sign_of_sum({Fraction(1): Fraction(0)}) == 0
    # e^1 - (a rational forty digits below e) is above zero, and the rational above it is not
    assert sign_of_sum({Fraction(1): Fraction(1), Fraction(0): -exp_below(Fraction(1), 60)}) == 1
    assert sign_of_sum({Fraction(1): Fraction(1), Fraction(0): -exp_above(Fraction(1), 60)}) == -1


def test_display_survives_anything():
    assert display(Fraction(10) ** 400) == math.inf
    assert display(Fraction(1, 2)) == 0.5
