"""Sets of attackers: neighbours by plain loops, with the prior that attains the maximum."""

import itertools
import random

import numpy as np
from tests.pufferfish.oracle import random_channel

from tetraodon.pufferfish import World, pairs
from tetraodon.pufferfish.blocks import classes_of, for_blocks
from tetraodon.pufferfish.likelihood import Table
from tetraodon.pufferfish.pair import masks_of

WORLD = World.product((0, 1), individuals=3)


def test_classes_agree_outside_the_group():
    for group in (None, frozenset({0}), frozenset({0, 2}), frozenset({0, 1, 2})):
        labels = classes_of(WORLD, group)
        outside = [i for i in range(3) if group is not None and i not in group]
        for (n, x), (m, y) in itertools.combinations(enumerate(WORLD.datasets), 2):
            assert (labels[n] == labels[m]) == all(x[i] == y[i] for i in outside)


def test_each_direction_by_plain_loops():
    chance = random.Random(4)
    for _ in range(5):
        channel = random_channel(WORLD, 3, chance, zeros=False)
        table = Table(WORLD, channel.outputs, channel.matrix)
        masks = masks_of(pairs.values().on(WORLD), WORLD)
        groups = [pair.about for pair in masks.pairs]
        peaks = for_blocks(table, masks, groups)
        ratios = []
        for pair, group in zip(masks.pairs, groups, strict=True):
            labels = classes_of(WORLD, group)
            for n, m in itertools.product(range(WORLD.size), repeat=2):
                x, y = WORLD.datasets[n], WORLD.datasets[m]
                if labels[n] == labels[m] and pair.first.holds(x) and pair.second.holds(y):
                    ratios += [a / b for a, b in zip(channel.matrix[n], channel.matrix[m], strict=True)]
        assert peaks.forward.odds == max(ratios)
        assert peaks.backward.odds == 1 / min(ratios)
        x, y = (WORLD.index[d] for d, _ in peaks.forward.prior.weights)
        assert channel.matrix[x][peaks.forward.output] / channel.matrix[y][peaks.forward.output] == max(ratios)


def test_a_pair_that_no_class_splits_is_skipped():
    world = World.of([(0, 0), (1, 1)])
    masks = masks_of(pairs.values().on(world), world)
    table = Table(world, (0,), [[1], [1]])
    assert for_blocks(table, masks, [frozenset({0}), frozenset({1})]).skipped == (0, 1)
    assert np.array_equal(classes_of(world, None), [0, 0])
