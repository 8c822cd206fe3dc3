from __future__ import annotations

from fractions import Fraction
from itertools import accumulate

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.noise import truth
from tests.noise.truth import zigzag
from tests.noise.walk import Script

from tetraodon.errors import NoiseError
from tetraodon.noise import guide_table as threshold
from tetraodon.noise.guide_table import BlockLaw, DigitLaw, GaussianLaw, cdf_bounds, floors, settle

scales = st.fractions(min_value=Fraction(1, 20), max_value=20, max_denominator=1000)


def cdf(pmf, count):
    return list(accumulate(pmf(zigzag(outcome)) for outcome in range(count)))


@settings(max_examples=20, deadline=None)
@given(scales, st.booleans())
def test_bounds_hold_the_true_distribution_function(scale, laplace):
    law = BlockLaw(scale) if laplace else GaussianLaw(scale**2)
    lows, highs = cdf_bounds(law, 120, 100)
    true = cdf(lambda k: (truth.laplace if laplace else truth.gaussian)(scale, k), len(lows))
    blur = Fraction(1, 10**90)
    for low, high, value in zip(lows, highs, true, strict=True):
        assert low <= (value + blur) * 2**120
        assert high >= (value - blur) * 2**120
    assert lows == sorted(lows)
    assert highs == sorted(highs)


@pytest.mark.parametrize("scale", [Fraction(1, 10), Fraction(7, 3), Fraction(30)])
def test_floors_are_exact_at_64_bits(scale):
    found = floors(BlockLaw(scale), 64)
    true = cdf(lambda k: truth.laplace(scale, k), len(found))
    assert found == [int(value * 2**64) for value in true]
    assert found[-1] == 2**64 - 1


def test_a_finite_law_ends_at_one():
    lows, highs = cdf_bounds(DigitLaw(Fraction(5), 0, 3), 80, 60)
    assert lows[-1] == highs[-1] == 1 << 80
    assert floors(DigitLaw(Fraction(5), 0, 3), 10)[-1] == 1023


def test_settle_takes_no_coin_when_the_prefix_decides():
    assert settle(BlockLaw(Fraction(1)), 0, 64, Script([]), 64) == 0


def test_settle_follows_the_threshold_itself_for_as_long_as_the_coins_do():
    law = BlockLaw(Fraction(7, 3))
    true = cdf(lambda k: truth.laplace(Fraction(7, 3), k), 4)[3]
    words = [int(true * 2 ** (64 * n)) % 2**64 for n in range(1, 5)]
    first, *rest = words
    below, above = [*rest[:-1], rest[-1] - 1], [*rest[:-1], rest[-1] + 1]
    assert settle(law, first, 64, Script(below), 64) == 3
    assert settle(law, first, 64, Script(above), 64) == 4


def test_a_value_too_far_out_is_refused(monkeypatch):
    monkeypatch.setattr(threshold, "_FARTHEST", 3)
    with pytest.raises(NoiseError, match="Fix: "):
        settle(BlockLaw(Fraction(30)), 2**64 - 2**50, 64, Script([]), 64)
