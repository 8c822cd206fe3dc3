"""(epsilon, delta): the smallest delta equals the largest over all events, counted one by one."""

import itertools
import math
import random
from fractions import Fraction

import pytest
from tests.pufferfish.oracle import likelihood, random_channel, random_prior

from tetraodon.errors import Refused
from tetraodon.pufferfish import (
    Additive,
    Channel,
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


def largest(channel, priors, factor):
    """max P(B | s1) - factor P(B | s2) over pairs, directions, priors and every set of outputs B."""
    worst = Fraction(0)
    for prior, pair in itertools.product(priors, pairs.all_values().on(channel.world)):
        if not all(prior.probability(secret) for secret in pair):
            continue
        for one, other in (pair, pair[::-1]):
            for size in range(len(channel.outputs) + 1):
                for event in itertools.combinations(channel.outputs, size):
                    p = sum(likelihood(channel, prior, one, w) for w in event)
                    q = sum(likelihood(channel, prior, other, w) for w in event)
                    worst = max(worst, p - factor * q)
    return worst


@pytest.mark.parametrize("seed", range(4))
def test_delta_equals_the_largest_over_all_events(seed):
    chance = random.Random(seed)
    channel = random_channel(WORLD, 3, chance)
    prior = random_prior(WORLD, chance)
    definition = Definition(pairs.all_values(), scenarios.explicit([prior]), epsilon=0, delta="0.2")
    verdict = verify(channel, definition)
    assert verdict.delta == (largest(channel, [prior], 1),) * 2
    assert verdict.holds == (verdict.delta[1] <= definition.delta)
    half = Fraction(1, 2)
    priors = [
        Prior(((x, half), (y, half)))
        for x, y in itertools.combinations(WORLD.datasets, 2)
        if sum(a != b for a, b in zip(x, y, strict=True)) == 1
    ]
    independent = verify(channel, named.indistinguishability(epsilon=0, delta="0.2"))
    assert independent.delta == (largest(channel, priors, 1),) * 2
    enclosed = verify(channel, named.indistinguishability(epsilon=1, delta="0.2"))
    assert float(enclosed.delta[0]) == pytest.approx(float(largest(channel, priors, Fraction(math.e))), abs=1e-12)
    assert 0 <= enclosed.delta[1] - enclosed.delta[0] < 1e-30


def test_everything_with_probability_delta():
    """[MK15]: nothing with probability 1 - delta, and the whole dataset with probability delta."""
    delta = Fraction(1, 1000)
    channel = Channel.of(lambda d: {"nothing": 1 - delta, d: delta}, WORLD)
    assert verify(channel, named.indistinguishability(epsilon=0, delta=delta)).holds is True
    assert verify(channel, named.indistinguishability(epsilon=0, delta=delta / 2)).holds is False
    assert verify(channel, named.indistinguishability(epsilon=100)).odds == math.inf
    assert "Smallest delta" in verify(channel, named.indistinguishability(epsilon=1, delta=delta)).text


def test_a_bracket_of_attackers_gives_an_upper_bound_only():
    channel = random_channel(WORLD, 2, random.Random(0))
    verdict = verify(channel, Definition(pairs.all_values(), scenarios.iid(), epsilon=0, delta="1/1000"))
    assert verdict.delta[0] == 0
    assert verdict.holds is None


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
    assert (upper.delta[0], upper.holds) == (0, True)
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
