"""A definition as linear constraints, and the verifier, agree on every channel."""

import random
from fractions import Fraction

import pytest
from tests.pufferfish.oracle import random_channel, random_prior

from tetraodon.errors import Refused
from tetraodon.pufferfish import Channel, Definition, World, compiled, pairs, scenarios, verify


def test_the_template_says_what_the_verifier_says():
    world = World.product((0, 1), individuals=1)
    definition = Definition(pairs.values(), scenarios.independent(), odds=("1/2", 2))
    for p in (Fraction(2, 3), Fraction(67, 100)):
        channel = Channel([[p, 1 - p], [1 - p, p]], world.datasets, (0, 1))
        broken = compiled(definition, world).check(channel)
        assert (broken is None) == bool(verify(channel, definition)) == (p == Fraction(2, 3))
    assert broken is not None
    assert broken.amount == Fraction(67, 100) - 2 * Fraction(33, 100)


@pytest.mark.parametrize("seed", range(12))
def test_it_agrees_with_the_verifier_on_uneven_priors(seed):
    chance = random.Random(seed)
    world = World.product((0, 1), individuals=2)
    prior = scenarios.explicit([random_prior(world, chance), random_prior(world, chance)])
    definition = Definition(pairs.values(), prior, odds=("1/2", 2))
    for _ in range(10):
        channel = random_channel(world, 2, chance, grain=9, zeros=False)
        assert (compiled(definition, world).check(channel) is None) == verify(channel, definition).holds


def test_known_sums_and_brackets_compile_too():
    world = World.product((0, 1), individuals=2)
    known = Definition(pairs.values(), scenarios.known_sums(lambda x: x), odds=("1/2", 2))
    template = compiled(known, world)
    assert len(template.constraints) == 2  # (0, 1) and (1, 0) only
    assert not template.sufficient
    assert compiled(Definition(pairs.values(), scenarios.iid(), odds=("1/2", 2)), world).sufficient
    given = Definition(pairs.values(), scenarios.given(lambda d: sum(d) == 1), odds=("1/2", 2))
    with pytest.raises(Refused, match="part of this world"):
        compiled(given, world)
