"""The extremes for one attacker: both directions, ties, and everything near a bound."""

import random
from fractions import Fraction

from tests.pufferfish.oracle import likelihood, random_channel, random_prior

from tetraodon.pufferfish import World, pairs
from tetraodon.pufferfish.extreme import for_prior, near
from tetraodon.pufferfish.likelihood import Table
from tetraodon.pufferfish.pair import masks_of

WORLD = World.product((0, 1, 2), individuals=2)


def test_both_directions_are_the_largest_ratios():
    chance = random.Random(2)
    for _ in range(6):
        channel, prior = random_channel(WORLD, 3, chance, zeros=False), random_prior(WORLD, chance)
        table, masks = Table(WORLD, channel.outputs, channel.matrix), masks_of(pairs.values().on(WORLD), WORLD)
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
        assert sorted(odds for _, _, odds in near(table, masks, prior, True, bound)) == sorted(
            r for r in ratios if r >= bound
        )


def test_the_larger_of_two_lists_is_kept():
    chance = random.Random(5)
    channel = random_channel(WORLD, 3, chance, zeros=False)
    table, masks = Table(WORLD, channel.outputs, channel.matrix), masks_of(pairs.values().on(WORLD), WORLD)
    one, two = (for_prior(table, masks, random_prior(WORLD, chance)) for _ in range(2))
    both = one.joined(two)
    assert both.forward.odds == max(one.forward.odds, two.forward.odds)
    assert both.backward.odds == max(one.backward.odds, two.backward.odds)
    assert set(both.skipped) == set(one.skipped) & set(two.skipped)
    assert isinstance(both.forward.odds, Fraction)
