"""Beliefs by Bayes' rule, and the law of a noisy count."""

from __future__ import annotations

from fractions import Fraction

from tetraodon.attacks.attack import belief, noisy_count, strongest_belief
from tetraodon.pufferfish import Channel, Prior, Secret, World, named, verify

WORLD = World.product((0, 1), individuals=2)


def test_the_law_sums_to_one_and_loses_its_ratio() -> None:
    ratio = Fraction(2, 3)
    assert all(sum(noisy_count(count, 4, ratio).values()) == 1 for count in range(5))
    channel = Channel.of(lambda people: noisy_count(sum(people), 2, ratio), WORLD)
    assert verify(channel, named.indistinguishability(epsilon=1)).odds == 1 / ratio


def test_beliefs_are_bayes_rule() -> None:
    channel = Channel.of(lambda people: noisy_count(sum(people), 2, Fraction(1, 2)), WORLD)
    prior = Prior.of({(0, 0): "1/2", (1, 0): "1/4", (1, 1): "1/4"})
    one = Secret.value(0, 1)
    joint = {dataset: weight * channel.probability(dataset, 2) for dataset, weight in prior.weights}
    assert belief(prior, channel, one, 2) == (joint[1, 0] + joint[1, 1]) / sum(joint.values())
    assert strongest_belief(prior, channel, one) == max(belief(prior, channel, one, w) for w in range(3))
