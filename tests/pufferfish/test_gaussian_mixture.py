"""The excess of two mixtures of normal laws, beside quadrature and the closed form."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from itertools import pairwise

import numpy as np
from scipy.integrate import quad
from scipy.stats import norm

from tetraodon.pufferfish import Additive, Definition, Gaussian, World, pairs, scenarios, verify
from tetraodon.pufferfish.gaussian import Mixture, delta_of, excess


def integrated(one: Mixture, other: Mixture, sigma: float, epsilon: float) -> float:
    def inside(w: float) -> float:
        p, q = (float(norm.pdf((w - side.answers) / sigma) @ side.chances) / sigma for side in (one, other))
        return max(0.0, p - math.exp(epsilon) * q)

    ends = np.linspace(-10 * sigma - 5, 10 * sigma + 15, 60)
    return sum(quad(inside, a, b, limit=200)[0] for a, b in pairwise(ends))


def test_two_points_have_the_closed_form() -> None:
    for distance, epsilon in ((1.0, 1.0), (0.2, 0.5), (3.0, 0.1), (2.0, 4.0)):
        points = Mixture(np.array([0.0]), np.ones(1)), Mixture(np.array([distance]), np.ones(1))
        found = excess(*points, 1.0, epsilon)
        assert found.low <= delta_of(distance, epsilon) <= found.high
        assert found.high - found.low < 1e-7


def test_mixtures_are_enclosed() -> None:
    chance = random.Random(3)
    for _ in range(6):
        sides = []
        for _ in range(2):
            answers = np.array(sorted(chance.sample(range(10), 4)), float)
            weights = np.array([chance.random() for _ in answers])
            sides.append(Mixture(answers, weights / weights.sum()))
        sigma, epsilon = chance.uniform(0.5, 4), chance.uniform(0.05, 1)
        found = excess(*sides, sigma, epsilon)
        assert found.low - 1e-7 <= integrated(*sides, sigma, epsilon) <= found.high + 1e-7
        assert found.high - found.low < 1e-6


def test_equal_laws_need_no_delta() -> None:
    side = Mixture(np.array([0.0, 1.0]), np.array([0.5, 0.5]))
    assert excess(side, side, 1.0, 0.5).high < 1e-11


def test_a_chain_of_eight_is_decided_where_it_is_in_doubt() -> None:
    """Two datasets at the largest distance would leave it open up to sigma 28."""
    world = World.product((0, 1), individuals=8)
    chain = scenarios.chain(transition=[["0.9", "0.1"], ["0.1", "0.9"]], source="a study")
    level = Definition(pairs.values(), chain, epsilon=1, delta=Fraction(1, 10**6))
    enough = verify(Additive(sum, Gaussian("22.2"), world), level)
    assert enough.holds is True
    assert enough.exact
    assert verify(Additive(sum, Gaussian("22.1"), world), level).holds is False
    assert enough.witness is not None
    assert enough.witness.posterior_odds > enough.witness.prior_odds * Fraction(math.e)
