"""The largest odds ratios equal enumeration, for one attacker and against whole sets."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction

import numpy as np
import pytest
from tests.pufferfish.oracle import likelihood, random_channel, random_prior

from tetraodon.pufferfish import World, pairs
from tetraodon.pufferfish import largest_odds as module
from tetraodon.pufferfish.largest_odds import Likelihoods, SecretSums, for_blocks, for_prior, near, total, whole_sums
from tetraodon.pufferfish.pairs import masks_of
from tetraodon.pufferfish.world import classes_of

WORLD = World.product((0, 1, 2), individuals=2)


def test_both_directions_are_the_largest_ratios():
    chance = random.Random(2)
    for _ in range(6):
        channel, prior = random_channel(WORLD, 3, chance, zeros=False), random_prior(WORLD, chance)
        table, masks = Likelihoods.of(WORLD, channel.outputs, channel.matrix), masks_of(pairs.values().on(WORLD), WORLD)
        peaks = for_prior(table, masks, prior)
        alive = [p for p in masks.pairs if prior.probability(p.first) and prior.probability(p.second)]
        ratios = [
            likelihood(channel, prior, one, w) / likelihood(channel, prior, other, w)
            for one, other in alive
            for w in channel.outputs
        ]
        assert peaks.forward.odds == max(ratios)
        assert peaks.backward.odds == 1 / min(ratios)
        assert peaks.forward.first / peaks.forward.second == max(ratios)
        assert len(peaks.skipped) == len(masks.pairs) - len(alive)
        bound = sorted(ratios)[len(ratios) // 2]
        sums = SecretSums(table, masks.masks, prior.on(WORLD))
        assert sorted(odds for _, _, odds in near(sums, masks, True, bound)) == sorted(r for r in ratios if r >= bound)


def test_the_larger_of_two_lists_is_kept():
    chance = random.Random(5)
    channel = random_channel(WORLD, 3, chance, zeros=False)
    table, masks = Likelihoods.of(WORLD, channel.outputs, channel.matrix), masks_of(pairs.values().on(WORLD), WORLD)
    one, two = (for_prior(table, masks, random_prior(WORLD, chance)) for _ in range(2))
    both = one.joined(two)
    assert both.forward.odds == max(one.forward.odds, two.forward.odds)
    assert both.backward.odds == max(one.backward.odds, two.backward.odds)
    assert set(both.skipped) == set(one.skipped) & set(two.skipped)
    assert isinstance(both.forward.odds, Fraction)


THREE = World.product((0, 1), individuals=3)


def test_classes_agree_outside_the_group():
    for group in (None, frozenset({0}), frozenset({0, 2}), frozenset({0, 1, 2})):
        labels = classes_of(THREE, group)
        outside = [i for i in range(3) if group is not None and i not in group]
        for (n, x), (m, y) in itertools.combinations(enumerate(THREE.datasets), 2):
            assert (labels[n] == labels[m]) == all(x[i] == y[i] for i in outside)


def test_each_direction_by_plain_loops():
    chance = random.Random(4)
    for _ in range(5):
        channel = random_channel(THREE, 3, chance, zeros=False)
        table = Likelihoods.of(THREE, channel.outputs, channel.matrix)
        masks = masks_of(pairs.values().on(THREE), THREE)
        groups = [pair.about for pair in masks.pairs]
        peaks = for_blocks(table, masks, groups)
        ratios = []
        for pair, group in zip(masks.pairs, groups, strict=True):
            labels = classes_of(THREE, group)
            for n, m in itertools.product(range(THREE.size), repeat=2):
                x, y = THREE.datasets[n], THREE.datasets[m]
                if labels[n] == labels[m] and pair.first.holds(x) and pair.second.holds(y):
                    ratios += [a / b for a, b in zip(channel.matrix[n], channel.matrix[m], strict=True)]
        assert peaks.forward.odds == max(ratios)
        assert peaks.backward.odds == 1 / min(ratios)
        x, y = (THREE.index[d] for d, _ in peaks.forward.prior.weights)
        assert channel.matrix[x][peaks.forward.output] / channel.matrix[y][peaks.forward.output] == max(ratios)


def test_a_pair_that_no_class_splits_is_skipped():
    world = World.of([(0, 0), (1, 1)])
    masks = masks_of(pairs.values().on(world), world)
    table = Likelihoods.of(world, (0,), [[1], [1]])
    assert for_blocks(table, masks, [frozenset({0}), frozenset({1})]).skipped == (0, 1)
    assert np.array_equal(classes_of(world, None), [0, 0])


# -- likelihood --------------------------------------------------------------------------------------


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
