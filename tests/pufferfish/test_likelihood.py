"""Fast sums are exact sums, whatever the size of the numbers."""

import random
from fractions import Fraction

import numpy as np
import pytest
from tests.pufferfish.oracle import random_channel, random_prior

from tetraodon.pufferfish import World
from tetraodon.pufferfish import largest_odds as module
from tetraodon.pufferfish.largest_odds import Likelihoods, SecretSums, total, whole_sums


@pytest.mark.parametrize("bits", [1, 40, 52, 53, 300])
def test_sums_by_limbs_are_plain_sums(bits):
    chance = random.Random(bits)
    numbers = np.array([[chance.getrandbits(bits) for _ in range(3)] for _ in range(50)], dtype=object)
    masks = np.array([[chance.random() < 0.5 for _ in range(50)] for _ in range(7)])
    plain = [[sum(int(n) for n, m in zip(numbers[:, k], row, strict=True) if m) for k in range(3)] for row in masks]
    assert whole_sums(masks, numbers).tolist() == plain


def test_both_ways_to_add_up_agree(monkeypatch):
    chance = random.Random(3)
    world = World.product((0, 1), individuals=3)
    channel, prior = random_channel(world, 4, chance), random_prior(world, chance)
    table = Likelihoods.of(world, channel.outputs, channel.matrix)
    masks = np.array([[chance.random() < 0.5 for _ in range(world.size)] for _ in range(5)])
    weights = prior.on(world)
    small = SecretSums(table, masks, weights)
    monkeypatch.setattr(module, "SMALL_BITS", 0)
    large = SecretSums(table, masks, weights)
    assert small.mass == large.mass
    for secret in range(5):
        for output in range(4):
            assert small.exact(secret, output) == large.exact(secret, output)
    assert np.allclose(small.floats, large.floats, rtol=1e-14)
    assert small.trustworthy
    assert large.trustworthy


def test_what_floats_cannot_hold_is_not_trusted(monkeypatch):
    world = World.of([0, 1])
    small = Fraction(1, 10**300)
    masks = np.array([[True, False]])
    for bits in (2048, 0):
        monkeypatch.setattr(module, "SMALL_BITS", bits)
        table = Likelihoods.of(world, (0, 1), [[small, 1 - small], [small, 1 - small]])
        assert not SecretSums(table, masks, [Fraction(1), Fraction(0)]).trustworthy
        assert table.has_tiny
    level = Likelihoods.of(world, (0,), [[Fraction(1)], [Fraction(1)]])
    assert not SecretSums(level, masks, [small, 1 - small]).trustworthy


def test_ranks_keep_the_exact_order():
    close = [Fraction(1, 3), Fraction(1, 3) + Fraction(1, 10**40), Fraction(0), Fraction(1)]
    table = Likelihoods.of(World.of([0, 1]), (0, 1), [close[:2], close[2:]])
    values, ranks = table.distinct
    assert values == sorted(close)
    assert ranks.tolist() == [[1, 2], [0, 3]]
    assert table.restricted(World.of([1])).row(0) == close[2:]


def test_halving_adds_the_same():
    terms = [Fraction(1, n) for n in range(1, 40)]
    assert total(terms) == sum(terms)
    assert total([]) == 0
