from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from tests.noise import truth
from tests.noise.walk import Script, agrees, walk

from tetraodon.noise.bernoulli import MARGIN, below_exp, heads
from tetraodon.noise.coins import SystemCoins

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
