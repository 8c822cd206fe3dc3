"""Elementary exact draws, many at once: coins of any chance, and whole numbers below a bound."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chi2
from tests.noise import truth
from tests.noise.walk import Script, agrees, walk

from tetraodon.errors import NoiseError
from tetraodon.exact.arrays import Ints
from tetraodon.noise.coins import SystemCoins, system_coins
from tetraodon.noise.elementary import MARGIN, below_exp, choose_by_score, heads, rational_heads, uniform_below

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
