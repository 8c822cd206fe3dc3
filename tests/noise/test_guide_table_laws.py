from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.noise import truth
from tests.noise.truth import zigzag

from tetraodon.noise.guide_table import BlockLaw, DigitLaw, GaussianLaw

scales = st.fractions(min_value=Fraction(1, 50), max_value=40, max_denominator=1000)


def holds(weights, true, bits):
    blur = Fraction(1, 10**90)
    for outcome, (low, high) in enumerate(zip(weights.lows, weights.highs, strict=True)):
        assert low <= (true(outcome) + blur) * 2**bits
        assert high >= (true(outcome) - blur) * 2**bits


@settings(max_examples=25, deadline=None)
@given(scales, st.integers(0, 4))
def test_blocks_weigh_what_their_values_weigh(scale, shift):
    def true(outcome):
        block = zigzag(outcome)
        values = range(block << shift, (block + 1) << shift)
        return sum(truth.exp_minus(abs(k) / scale) for k in values) / first

    first = sum(truth.exp_minus(k / scale) for k in range(1 << shift))
    weights = BlockLaw(scale, shift).weights(90, 40)
    holds(weights, true, 90)
    assert weights.rest <= 1 << 50


@settings(max_examples=25, deadline=None)
@given(scales, st.integers(0, 6), st.integers(1, 5))
def test_digits_weigh_what_their_place_says(scale, place, width):
    weights = DigitLaw(scale, place, width).weights(90, 40)
    assert len(weights.lows) == 1 << width
    assert weights.rest == 0
    holds(weights, lambda digit: truth.exp_minus((digit << place) / scale), 90)


@settings(max_examples=25, deadline=None)
@given(scales.filter(lambda sigma: sigma > Fraction(1, 5)))
def test_gaussian_weights_and_rest(sigma):
    weights = GaussianLaw(sigma**2).weights(90, 40)
    holds(weights, lambda outcome: truth.gaussian_weight(sigma, zigzag(outcome)), 90)
    after = len(weights.lows) // 2 + 1
    rest = 2 * sum(truth.gaussian_weight(sigma, k) for k in range(after, after + 10))
    assert rest * 2**90 <= weights.rest <= 1 << 50


@pytest.mark.parametrize("law", [BlockLaw(Fraction(10**4)), GaussianLaw(Fraction(10**6))])
def test_too_few_bits_end_early_but_still_hold(law):
    weights = law.weights(30, 28)
    true = sum(weights.lows)
    wide = law.weights(120, 60)
    assert true <= (sum(wide.highs) + wide.rest) >> 90
    assert sum(wide.lows) >> 90 <= sum(weights.highs) + weights.rest
