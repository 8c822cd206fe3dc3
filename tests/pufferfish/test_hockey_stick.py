"""(epsilon, delta): the smallest delta equals the largest over all events, counted one by one."""

import itertools
import math
import random
from fractions import Fraction

import pytest
from tests.pufferfish.oracle import likelihood, random_channel, random_prior

from tetraodon.pufferfish import Channel, Definition, Prior, Secret, World, named, pairs, scenarios, verify

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


@pytest.mark.parametrize("seed", range(3))
def test_the_worst_of_many_neighbours_is_found(seed):
    """A secret that leaves several values: every two datasets of a class are compared."""
    world = World.product(range(4), individuals=2)
    channel = random_channel(world, 3, random.Random(seed))
    split = pairs.explicit([(Secret.one_of(0, {0, 1}), Secret.one_of(0, {2, 3}))])
    verdict = verify(channel, Definition(split, scenarios.independent(), epsilon=0, delta="0.1"))
    worst = Fraction(0)
    for x, y in itertools.permutations(world.datasets, 2):
        if x[1] == y[1] and (x[0] < 2) != (y[0] < 2):
            rows = zip(channel.matrix[world.index[x]], channel.matrix[world.index[y]], strict=True)
            worst = max(worst, sum((max(Fraction(0), a - b) for a, b in rows), Fraction(0)))
    assert verdict.delta == (worst, worst)
    one, other = (channel.matrix[world.index[d]] for d, _ in verdict.witness.prior.weights)
    assert sum(abs(a - b) for a, b in zip(one, other, strict=True)) == 2 * worst


def test_what_bounds_draws_from_one_law_is_not_presented_as_exact_or_as_an_attacker() -> None:
    world = World.product((0, 1), individuals=3)
    channel = random_channel(world, 2, random.Random(1))
    verdict = verify(channel, Definition(pairs.values(), scenarios.iid(), epsilon="0.1", delta="0.01"))
    assert not verdict.exact
    assert verdict.witness is None
    assert verdict.delta is not None
    assert verdict.delta[0] == 0 < verdict.delta[1]
    assert "at most" in verdict.text
    assert "an actual attacker" not in verdict.text


def test_impossible_pairs_are_told_with_delta_too() -> None:
    sure = Prior.of({(0, 0): "1/2", (0, 1): "1/2"})
    channel = random_channel(WORLD, 2, random.Random(2))
    verdict = verify(channel, Definition(pairs.all_values(), scenarios.explicit([sure]), epsilon=1, delta="0.1"))
    assert [pair.about for pair in verdict.skipped] == [frozenset({0})]
    assert "skipped" in verdict.text
