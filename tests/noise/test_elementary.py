"""Elementary exact draws: bounds on exponentials, coins of any chance, whole numbers below a bound, waiting times."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2
from tests.noise import truth
from tests.noise.walk import Script, agrees, walk

from tetraodon.errors import NoiseError
from tetraodon.exact.arrays import Ints
from tetraodon.noise.coins import SystemCoins, system_coins
from tetraodon.noise.elementary import (
    MARGIN,
    IntegerBounds,
    below_exp,
    choose_by_score,
    exp_bounds,
    heads,
    power_bounds,
    rational_heads,
    shifted_up,
    times,
    uniform_below,
    waiting_times,
)

# -- exponentials ---------------------------------------------------------------------------------


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


# -- coins ----------------------------------------------------------------------------------------


GAMMAS = [Fraction(0), Fraction(1, 100), Fraction(2, 3), Fraction(5), Fraction(40)]
ALWAYS_EXACT = 2.0**64


@pytest.mark.parametrize("margin", [MARGIN, ALWAYS_EXACT])
@pytest.mark.parametrize("gamma", GAMMAS)
def test_every_coin_string_gives_exactly_the_probability(gamma, margin):
    def draw(coins):
        as_float = np.array([float(gamma)])
        return int(heads(as_float, lambda _: gamma, coins, margin=margin, width=7)[0])

    mass, undecided = walk(draw, depth=14)
    assert undecided <= Fraction(1, 2**14)
    p = truth.exp_minus(gamma)
    assert agrees(mass, undecided, lambda k: {0: 1 - p, 1: p}.get(k, Fraction(0)), around=1)


def test_the_walk_catches_a_gamma_that_is_a_little_wrong():
    wrong = Fraction(2, 3) + Fraction(1, 1000)
    mass, undecided = walk(lambda coins: below_exp(wrong, 0, 0 + 1, coins), depth=13)
    p = truth.exp_minus(Fraction(2, 3))
    assert not agrees(mass, undecided, lambda k: {0: 1 - p, 1: p}.get(k, Fraction(0)), around=1)


def test_words_at_the_bar_go_to_the_exact_path():
    gamma = Fraction(2, 3)
    bar = truth.exp_minus(gamma) * 2**64
    whole, part = int(bar), int((bar - int(bar)) * 2**64)
    words = [whole - 1, whole + 1, whole, whole, part - 1, part + 1]
    found = heads(np.full(4, 2 / 3), lambda _: gamma, Script(words))
    assert found.tolist() == [True, False, True, False]


def test_the_exact_path_is_rare():
    asked = []

    def exact(place):
        asked.append(place)
        return Fraction(1, 2)

    # Expected number of calls 2**17 * 2**-35: one or more with probability 4e-6, four below 1e-22.
    heads(np.full(1 << 17, 0.5), exact, SystemCoins())
    assert len(asked) < 4


def test_the_float_exponential_keeps_its_promise():
    # The margin of 2**-36 grants the exponential an error of 2**-48.
    for k in range(0, 4000, 7):
        gamma = k / 100
        true = truth.exp_minus(Fraction(gamma))
        assert abs(Fraction(float(np.exp(np.array([-gamma]))[0])) / true - 1) < Fraction(1, 2**48)


def test_a_word_on_the_bar_is_settled_by_the_next() -> None:
    third = 2**64 // 3  # 1/3 is 0.0101... in binary: the rest after 64 bits is 1/3 again
    assert rational_heads(Fraction(1, 3), 2, Script([third - 1, third + 1])).tolist() == [True, False]
    assert rational_heads(Fraction(1, 3), 1, Script([third, third, third - 1])).tolist() == [True]
    assert rational_heads(Fraction(1, 3), 1, Script([third, third + 1])).tolist() == [False]
    assert rational_heads(Fraction(1, 2), 2, Script([2**63 - 1, 2**63])).tolist() == [True, False]


def test_certainties_need_no_coins() -> None:
    assert rational_heads(Fraction(1), 2, Script([])).all()
    assert not rational_heads(Fraction(0), 2, Script([])).any()
    with pytest.raises(NoiseError):
        rational_heads(Fraction(3, 2), 1, Script([]))


def test_the_share_of_heads() -> None:
    count, chance = 200_000, Fraction(3, 7)
    heads = int(rational_heads(chance, count, system_coins()).sum())
    # Hoeffding: P(|heads/count - chance| > t) <= 2 exp(-2 count t^2) = 2e-10 here
    assert abs(heads / count - chance) < (np.log(1e10) / (2 * count)) ** 0.5


def test_words_are_taken_by_their_rest() -> None:
    assert uniform_below(10, 3, Script([7, 23, 10**18])).tolist() == [7, 3, 0]


def test_a_word_beyond_is_drawn_again() -> None:
    last = 2**64 // 10 * 10 - 1
    assert uniform_below(10, 2, Script([last + 1, last, 2**64 - 1, 4])).tolist() == [4, 9]


@pytest.mark.parametrize("bound", [0, 2**63])
def test_bounds_out_of_reach(bound: int) -> None:
    with pytest.raises(NoiseError):
        uniform_below(bound, 1, system_coins())


def test_every_number_is_as_likely() -> None:
    count = 100_000
    shares = np.bincount(uniform_below(7, count, system_coins()).astype(np.int64), minlength=7) / count
    reach = math.sqrt(math.log(14 * 1e9) / (2 * count))  # Hoeffding over 7 numbers: false alarms below 1e-9
    assert (abs(shares - 1 / 7) < reach).all()


class Given:
    """Coins that fall as a test says."""

    def __init__(self, *words: int) -> None:
        self.words = list(words)

    def draw(self, count: int, bits: int) -> Ints:
        assert (count, bits) == (1, 64)
        return np.array([self.words.pop(0)], np.uint64)


def test_chances_are_those_of_the_scores() -> None:
    """False alarms: 1e-9."""
    scores, scale, draws = [0, 3, -2, 3, 1], Fraction(5, 2), 6000
    weights = np.exp(np.array(scores) / float(scale))
    expected = draws * weights / weights.sum()
    coins = system_coins()
    found = np.bincount([choose_by_score(scores, scale, coins) for _ in range(draws)], minlength=5)
    assert ((found - expected) ** 2 / expected).sum() < chi2.isf(1e-9, 4)


@pytest.mark.parametrize("word", [0, 1, 2**63, 2**64 - 1, 123456789])
def test_a_uniform_number_falls_where_the_sums_of_weights_say(word: int) -> None:
    scores, scale = [2, 0, 1], Fraction(1)
    ends = np.cumsum([math.exp(score) for score in scores])
    wanted = int(np.searchsorted(ends / ends[-1], (word + 0.5) / 2**64))
    assert choose_by_score(scores, scale, Given(word, *(0,) * 9)) == wanted


def test_more_coins_are_drawn_where_they_decide() -> None:
    """Equal scores: one half begins where the first word is 2^63 - 1 and all that follow are ones, or 2^63."""
    coins = Given(2**63 - 1, 2**64 - 1, 5)
    assert choose_by_score([7, 7], Fraction(1), coins) == 0
    assert choose_by_score([7, 7], Fraction(1), Given(2**63)) == 1
    assert choose_by_score([10**9], Fraction(1), Given(5)) == 0
    assert choose_by_score([0, -(10**9)], Fraction(1), Given(2**63)) == 0


# -- waiting times --------------------------------------------------------------------------------


CHANCES = [
    Fraction(1, 2),
    Fraction(1, 3),
    Fraction(9, 10),
    Fraction(1, 10**4),
    Fraction(7, 10**12),
    Fraction(1, 10**17),
]


def by_definition(success: Fraction, word: int, limit: int) -> set[int]:
    """Every g that some U in [word, word + 1) / 2**64 stands for, by exact powers."""
    q, found = 1 - success, set()
    for u in (Fraction(word, 2**64), Fraction(word + 1, 2**64) - Fraction(1, 2**200)):
        g = 0
        while g < limit and u < q ** (g + 1):
            g += 1
        found.add(g)
    return set(range(min(found), max(found) + 1))


@pytest.mark.parametrize("success", CHANCES[:3])
def test_words_beside_every_threshold_are_read_right(success: Fraction) -> None:
    limit = 40
    for g in range(1, limit):
        bar = int((1 - success) ** g * 2**64)
        for word in {max(0, bar - 1), bar, bar + 1} - {2**64}:
            for more in (0, 2**64 - 1):
                found = int(waiting_times(success, 1, limit, Script([word, *[more] * 8]))[0])
                assert found in by_definition(success, word, limit)


@given(st.sampled_from(CHANCES), st.integers(0, 2**64 - 1))
def test_any_word_is_read_right(success: Fraction, word: int) -> None:
    limit = 10**18
    found = int(waiting_times(success, 1, limit, Script([word, *[2**63] * 8]))[0])
    q, bits = 1 - success, 300
    u = (word << 64 | 2**63) << (bits - 128)
    if found < limit:
        assert u >= power_bounds(q, found + 1, bits).low - (1 << (bits - 128))
    assert u <= power_bounds(q, found, bits).high


def test_the_limit_cuts() -> None:
    assert waiting_times(Fraction(1, 10**18), 2, 1000, Script([0, 1])).tolist() == [1000, 1000]


@pytest.mark.parametrize(("success", "limit"), [(Fraction(0), 5), (Fraction(1), 5), (Fraction(1, 2), 0)])
def test_what_is_not_defined_is_refused(success: Fraction, limit: int) -> None:
    with pytest.raises(NoiseError):
        waiting_times(success, 1, limit, system_coins())


def test_powers_are_bounded() -> None:
    for exponent in (0, 1, 7, 1000):
        exact = Fraction(2, 3) ** exponent * 2**200
        low, high = power_bounds(Fraction(2, 3), exponent, 200)
        assert low <= exact <= high
        assert high - low <= 64


@pytest.mark.parametrize("success", [Fraction(1, 3), Fraction(1, 1000)])
def test_the_law_is_right_at_large(success: Fraction) -> None:
    count = 100_000
    drawn = waiting_times(success, count, 10**12, system_coins())
    bar = math.ceil(math.log(2) / float(success))  # about the median
    share, true = float((drawn < bar).mean()), 1 - float(1 - success) ** bar
    assert abs(share - true) < math.sqrt(math.log(1e10) / (2 * count))  # Hoeffding: false alarms below 2e-10
