"""Channels: exact rows, post-processing, mixtures, and what they refuse."""

import random
from fractions import Fraction

import numpy as np
import pytest
from tests.pufferfish.oracle import random_channel

from tetraodon.errors import NoiseError, PolicyError, Refused
from tetraodon.pufferfish import (
    Additive,
    Channel,
    Definition,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    World,
    mixture,
    named,
    pairs,
    scenarios,
    verify,
)

WORLD = World.product((0, 1), individuals=1)
HALF = Fraction(1, 2)
COUNT = Additive(sum, Laplace(1), WORLD)


def test_post_processing_adds_up_columns_and_never_loses_privacy():
    for seed in range(5):
        channel = random_channel(WORLD, 4, random.Random(seed), zeros=False)
        after = channel.then(lambda w: {w % 2: HALF, "none": HALF})
        assert after.outputs == (0, "none", 1)
        assert after.probability((1,), 0) == (channel.probability((1,), 0) + channel.probability((1,), 2)) / 2
        definition = named.indistinguishability(epsilon=1)
        assert verify(after, definition).odds <= verify(channel, definition).odds
        assert channel.then(lambda w: w) == channel


def test_mixtures_are_convex():
    one, two = (random_channel(WORLD, 3, random.Random(seed), zeros=False) for seed in (1, 2))
    definition = named.indistinguishability(epsilon=1)
    both = mixture([("1/3", one), ("2/3", two)])
    assert both.probability((0,), 1) == one.probability((0,), 1) / 3 + two.probability((0,), 1) * 2 / 3
    assert verify(both, definition).odds <= max(verify(one, definition).odds, verify(two, definition).odds)


def test_numbers_are_read_as_written():
    channel = Channel(np.array([[0.1, 0.9], [0.9, 0.1]]), [[0], [1]], ["a", "b"])
    assert channel.matrix[0][0] == Fraction(1, 10)
    assert channel.datasets == ((0,), (1,))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Channel([["0.3", "0.6"]], [0], [0, 1]), "sum to 0.9, not to 1"),
        (lambda: Channel([["1.5", "-0.5"]], [0], [0, 1]), "negative"),
        (lambda: Channel([[1]], [0, 1], [0]), "does not fit"),
        (lambda: Channel([[1, 0]], [0], [0, 0]), "listed twice"),
        (lambda: Channel([[1]], [0], [0]).then(lambda _: {0: HALF}), "does not sum to 1"),
        (lambda: Channel([[1]], [0], [0]).with_(Channel([[1]], [1], [0])), "different datasets"),
        (lambda: mixture([("1/2", Channel([[1]], [0], [0]))]), "do not sum to 1"),
        (lambda: mixture([("1/2", Channel([[1]], [n], [0])) for n in (0, 1)]), "different datasets"),
        (lambda: Additive(sum, Laplace(1), None), "support may be infinite"),
        (lambda: Additive(sum, (Laplace(1), Laplace(1)), WORLD), "one noise for each answer"),
        (lambda: Additive(lambda d: HALF * d[0], DiscreteLaplace(1), WORLD), "whole numbers"),
        (
            lambda: Additive(sum, Laplace(1), WORLD).with_(Additive(sum, Laplace(1), World.of([(5,)]))),
            "different worlds",
        ),
        (lambda: Additive(sum, Gaussian(1), WORLD).rates, "no rate"),
        (lambda: Laplace(0), "not positive"),
        (lambda: Additive(lambda d: d, Laplace(1), World.product(range(3), individuals=7)).outputs, "too many"),
        (lambda: verify(Additive(sum, Laplace(1), WORLD), named.indistinguishability(epsilon=1, delta="0.1")), "delta"),
        (lambda: Definition(pairs.values(), scenarios.iid()), "either epsilon or odds"),
        (lambda: Definition(pairs.values(), scenarios.iid(), epsilon=-1), "negative"),
        (lambda: Definition(pairs.values(), scenarios.iid(), odds=(2, 3)), "bracket 1"),
        (lambda: Definition(pairs.values(), scenarios.iid(), epsilon=1, delta=1), "not a probability"),
        (lambda: Definition("values", scenarios.iid(), epsilon=1), "needs pairs"),
    ],
)
def test_bad_input_is_refused_with_a_fix(make, message):
    with pytest.raises((PolicyError, NoiseError, Refused), match=rf"{message}.*Fix:"):
        make()


def test_rows_of_floats_are_taken_as_they_were_meant() -> None:
    assert [sum(row) for row in Channel(np.array([[1 / 3, 2 / 3], [2 / 3, 1 / 3]]), [0, 1], [0, 1]).matrix] == [1, 1]
