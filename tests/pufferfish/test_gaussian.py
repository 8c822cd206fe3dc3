"""Gaussian noise: the delta of the literature, and odds that run away without one."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from tetraodon.errors import Refused
from tetraodon.pufferfish import (
    Additive,
    Definition,
    Gaussian,
    Laplace,
    Prior,
    Secret,
    World,
    named,
    pairs,
    scenarios,
    verify,
)
from tetraodon.pufferfish.gaussian import Mixture, delta_of, excess

WORLD = World.product((0, 1), individuals=2)


def test_the_gaussian_delta_is_that_of_the_literature():
    """delta(d) at epsilon = 1, d = 1, by direct numerical integration."""
    step = 1e-4
    density = [math.exp(-x * x / 2) / math.sqrt(2 * math.pi) for x in (n * step for n in range(-100_000, 100_000))]
    shift = round(1 / step)
    direct = step * sum(max(0.0, b - math.e * a) for a, b in zip(density[shift:], density[:-shift], strict=True))
    assert delta_of(1, 1) == pytest.approx(direct, abs=1e-6)
    assert delta_of(0, 1) == 0


def test_gaussian_noise_needs_delta():
    mechanism = Additive(sum, Gaussian(1), WORLD)
    pure = verify(mechanism, named.indistinguishability(epsilon=100))
    assert (pure.epsilon, pure.holds) == (math.inf, False)
    assert pure.witness.posterior_odds > 10_000
    verdict = verify(mechanism, named.indistinguishability(epsilon=1, delta="0.13"))
    assert verdict.delta[0] <= delta_of(1, 1) <= verdict.delta[1]
    assert verdict.holds is True
    assert verify(mechanism, named.indistinguishability(epsilon=1, delta="0.12")).holds is False


def test_thirteen_thousand_times():
    """[MK15]: standard Gaussian noise, and the number 10 is published: 13,000 times as likely for 1 as for 0."""
    assert round(math.exp(10 - 0.5)) == 13_360
    world = World.product((0, 1), individuals=1)
    verdict = verify(Additive(sum, Gaussian(1), world), named.indistinguishability(epsilon=9))
    assert verdict.witness.posterior_odds > 13_000


def test_gaussian_noise_against_a_list_of_priors():
    mechanism = Additive(sum, Gaussian(1), WORLD)
    uniform = scenarios.explicit([Prior.uniform(WORLD)])
    upper = verify(mechanism, Definition(pairs.values(), uniform, epsilon=1, delta="0.9"))
    assert upper.holds is True
    assert upper.exact
    assert verify(mechanism, Definition(pairs.values(), uniform, epsilon=1)).epsilon == math.inf
    agree = Secret.agree(0, 1)
    same_ends = pairs.explicit([(agree, ~agree)])
    spread = World.product((0, 1, 2), individuals=2)
    prior = Prior.of({(0, 0): "1/4", (2, 2): "1/4", (0, 1): "1/4", (1, 0): "1/4"})
    assert (
        verify(
            Additive(sum, Gaussian(1), spread), Definition(same_ends, scenarios.explicit([prior]), epsilon=1)
        ).epsilon
        == math.inf
    )
    equal = Prior.of({(1, 1): "1/2", (0, 2): "1/2"})
    with pytest.raises(Refused, match="same extreme answers"):
        verify(Additive(sum, Gaussian(1), spread), Definition(same_ends, scenarios.explicit([equal]), epsilon=1))


def test_what_gaussian_noise_is_not_verified_for():
    both = Additive(sum, Gaussian(1), WORLD).with_(Additive(sum, Laplace(1), WORLD))
    with pytest.raises(Refused, match="mixed"):
        verify(both, named.indistinguishability(epsilon=1))
    with pytest.raises(Refused, match="list of priors"):
        verify(Additive(sum, Gaussian(1), WORLD), Definition(pairs.values(), scenarios.iid(), epsilon=1))


def test_the_witness_is_an_attacker_of_the_list() -> None:
    level = Prior.uniform(WORLD)
    mechanism = Additive(sum, Gaussian(2), WORLD)
    listed = scenarios.explicit([level])
    verdict = verify(mechanism, Definition(pairs.all_values(), listed, epsilon=1))
    assert verdict.holds is False
    assert verdict.witness is not None
    assert verdict.witness.prior == level
    assert max(verdict.witness.posterior_odds, 1 / verdict.witness.posterior_odds) > 1e10
    forgiven = verify(mechanism, Definition(pairs.all_values(), listed, epsilon=1, delta="0.01"))
    assert forgiven.witness is not None
    assert forgiven.witness.prior == level
    assert forgiven.witness.posterior_odds > math.e  # there, the odds move by more than e^epsilon
    twice = Additive(lambda rows: (sum(rows), sum(rows)), Gaussian(2), WORLD)
    forgiven = verify(twice, Definition(pairs.all_values(), listed, epsilon=1, delta="0.01"))
    assert forgiven.witness is None  # two datasets at the largest distance are more than this attacker knows
    assert not forgiven.exact


def test_a_direction_without_bound_may_run_away() -> None:
    """The odds of the first secret fall without end and rise only so far: nothing is claimed of how far."""
    prior = Prior.of({(0, 0): "1/4", (0, 1): "1/4", (1, 0): "1/4", (1, 1): "1/4"})
    first, second = Secret.that("one", lambda d: sum(d) == 1), Secret.that("not one", lambda d: sum(d) != 1)
    definition = Definition(pairs.explicit([(first, second)]), scenarios.explicit([prior]), odds=(0, 10))
    with pytest.raises(Refused, match="extreme answers"):
        verify(Additive(sum, Gaussian(2), WORLD), definition)
    assert verify(Additive(sum, Gaussian(2), WORLD), definition.at(1)).holds is False


# -- gaussian mixture --------------------------------------------------------------------------------
# The excess of two mixtures of normal laws, beside quadrature and the closed form.


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
