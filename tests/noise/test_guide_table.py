"""Guide tables: the weights of laws, bounds on distribution functions, and draws."""

from __future__ import annotations

from bisect import bisect_right
from fractions import Fraction
from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.noise import truth
from tests.noise.truth import zigzag
from tests.noise.walk import Script, agrees, walk

from tetraodon.errors import NoiseError
from tetraodon.noise import guide_table as table
from tetraodon.noise import guide_table as threshold
from tetraodon.noise.guide_table import BlockLaw, DigitLaw, GaussianLaw, build, cdf_bounds, floors, settle

# -- weights --------------------------------------------------------------------------------------


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


# -- bounds ---------------------------------------------------------------------------------------


few_scales = st.fractions(min_value=Fraction(1, 20), max_value=20, max_denominator=1000)


def cdf(pmf, count):
    return list(accumulate(pmf(zigzag(outcome)) for outcome in range(count)))


@settings(max_examples=20, deadline=None)
@given(few_scales, st.booleans())
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


# -- draws ----------------------------------------------------------------------------------------


LAPLACE = [Fraction(1, 3), Fraction(1), Fraction(7, 3)]
GAUSSIAN = [Fraction(2, 5), Fraction(1), Fraction(5, 2)]


def cases():
    for scale in LAPLACE:
        yield pytest.param(BlockLaw(scale), lambda k, s=scale: truth.laplace(s, k), id=f"L{scale}")
    for sigma in GAUSSIAN:
        law = GaussianLaw(sigma**2)
        yield pytest.param(law, lambda k, s=sigma: truth.gaussian(s, k), id=f"G{sigma}")


@pytest.mark.parametrize(("law", "pmf"), list(cases()))
def test_every_coin_string_gives_exactly_the_law(law, pmf):
    sampler = build(law, lead=5, rest=4)
    mass, undecided = walk(lambda coins: int(sampler.draw(1, coins)[0]), depth=17)
    assert undecided < Fraction(1, 2**11)
    assert agrees(mass, undecided, pmf, around=12)


@pytest.mark.parametrize("move", [-1, 1])
@pytest.mark.parametrize("place", [0, 1, 2, 3])
def test_the_walk_catches_a_threshold_that_is_off_by_one(place, move):
    sampler = build(BlockLaw(Fraction(7, 3)), lead=5, rest=4)
    sampler.floor[place] = int(sampler.floor[place]) + move
    mass, undecided = walk(lambda coins: int(sampler.draw(1, coins)[0]), depth=17)
    assert not agrees(mass, undecided, lambda k: truth.laplace(Fraction(7, 3), k), around=12)


def test_the_walk_catches_a_guide_that_forgets_a_mark():
    sampler = build(BlockLaw(Fraction(7, 3)), lead=5, rest=4)
    cell = int(np.flatnonzero(sampler.guide == table._MARK)[0])
    sampler.guide[cell] = sampler.guide[cell - 1]
    mass, undecided = walk(lambda coins: int(sampler.draw(1, coins)[0]), depth=17)
    assert not agrees(mass, undecided, lambda k: truth.laplace(Fraction(7, 3), k), around=12)


class EveryNumber:
    """All numbers of lead + rest bits in one batch; further bits are 0."""

    def __init__(self, lead, rest):
        self.lead, self.rest = lead, rest

    def draw(self, count, bits):
        if bits == self.lead:
            return np.arange(1 << self.lead, dtype=np.uint16).repeat(1 << self.rest)
        if count == 1:
            return np.zeros(1, dtype=np.uint64)
        return np.tile(np.arange(1 << self.rest, dtype=np.uint64), count >> self.rest)


@pytest.mark.parametrize(
    "law",
    [BlockLaw(Fraction(20)), BlockLaw(Fraction(900, 7), 3), GaussianLaw(Fraction(300)), DigitLaw(Fraction(99), 2, 6)],
    ids=["laplace", "blocks", "gaussian", "digit"],
)
def test_a_batch_inverts_the_distribution_function_at_every_number(law):
    lead, rest = 9, 5
    drawn = build(law, lead=lead, rest=rest).draw(1 << (lead + rest), EveryNumber(lead, rest))
    lows, highs = cdf_bounds(law, 200, 150)
    for number, value in enumerate(drawn):
        at = number << (200 - lead - rest)
        outcome = bisect_right(lows, at)
        assert outcome == bisect_right(highs, at)  # no bound straddles a number: the truth is known
        assert value == (zigzag(outcome) if law.two_sided else outcome)


@pytest.mark.parametrize("scale", [Fraction(1, 10), Fraction(3)])
def test_full_words_next_to_each_threshold(scale):
    sampler = build(BlockLaw(scale))
    for outcome, floor in enumerate(sampler.floor.tolist()[:20]):
        for further, expected in ((0, outcome), (2**48 - 1, outcome + 1)):
            # The threshold lies inside (floor, floor + 1): further bits decide.
            if floor < 2**64 - 1:
                words = [floor >> 48, floor % 2**48, further, further, further]
                assert sampler.draw(1, Script(words))[0] == zigzag(expected)
        if floor < 2**64 - 2:
            after = floor + 1
            assert sampler.draw(1, Script([after >> 48, after % 2**48]))[0] == zigzag(outcome + 1)
        before = floor - 1
        assert zigzag(outcome) == sampler.draw(1, Script([before >> 48, before % 2**48]))[0]


def test_a_table_too_wide_for_its_guide_is_refused(monkeypatch):
    monkeypatch.setattr(table, "_MARK", -3)
    with pytest.raises(NoiseError, match="Fix: "):
        build(BlockLaw(Fraction(5)))


def test_no_values_need_no_coins_to_spare():
    assert build(BlockLaw(Fraction(1))).draw(0, Script([])).shape == (0,)
