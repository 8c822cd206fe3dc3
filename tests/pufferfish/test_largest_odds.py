"""The largest odds ratios equal enumeration, for one attacker and against whole sets."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction

import numpy as np
from tests.pufferfish.oracle import likelihood, random_channel, random_prior

from tetraodon.pufferfish import World, pairs
from tetraodon.pufferfish.largest_odds import Likelihoods, SecretSums, for_blocks, for_prior, near
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
