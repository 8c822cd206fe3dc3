"""One of several outcomes by its score, against the exact chances."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chi2

from tetraodon.arrays import Ints
from tetraodon.noise.choice import choose_by_score
from tetraodon.noise.coins import system_coins


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
