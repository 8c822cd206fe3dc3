"""One attacker's belief: exact, sampled exactly, conditioned exactly."""

import random
from collections import Counter
from fractions import Fraction

from tetraodon.pufferfish import Prior, Secret, World

TWINS = {(0, 0): "2/5", (1, 1): "2/5", (0, 1): "1/10", (1, 0): "1/10"}


def test_a_sample_follows_the_prior_exactly():
    """Walk every outcome of the one coin that `sample` draws."""

    class Coin(random.Random):
        turn = 0

        def randrange(self, stop):
            assert stop == 10
            return self.turn

    prior, coin, seen = Prior.of(TWINS), Coin(), Counter()
    for coin.turn in range(10):
        seen[prior.sample(coin)] += 1
    assert {dataset: Fraction(count, 10) for dataset, count in seen.items()} == dict(prior.weights)


def test_conditioning_is_bayes_rule():
    prior = Prior.of(TWINS)
    secret = Secret.value(0, 1)
    conditional = dict(prior.given(secret).weights)
    assert conditional == {(1, 1): Fraction(4, 5), (1, 0): Fraction(1, 5)}
    assert prior.probability(secret) == Fraction(1, 2)


def test_impossible_datasets_are_left_out():
    assert Prior.of({(0,): 1, (1,): 0}).weights == (((0,), Fraction(1)),)
    assert Prior.of({(0,): 1}).on(World.of([(1,), (0,)])) == [0, 1]
    assert Prior.proportional({(0,): 1, (1,): 3}).weights[1][1] == Fraction(3, 4)
