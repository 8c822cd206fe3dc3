"""Gaussian noise: the delta of the literature, and odds that run away without one."""

import math

import pytest

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
from tetraodon.pufferfish.gaussian import delta_of

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
