"""Staircase noise: its law against enumeration, its channel against outputs far beyond, its search against a list."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tetraodon import pufferfish as pf
from tetraodon.errors import NoiseError, Refused

FAR = 400
STAIRS = [pf.Staircase("1/2", 1, 1), pf.Staircase("2/5", 3, 1), pf.Staircase("1/7", 3, 2), pf.Staircase("0.3", 4, 4)]


def explicit(world: pf.World, epsilon: object) -> pf.Definition:
    share = Fraction(1, world.size)
    return pf.Definition(
        pf.pairs.values(), pf.scenarios.explicit([dict.fromkeys(world.datasets, share)]), epsilon=epsilon
    )


@pytest.mark.parametrize("stairs", STAIRS)
def test_mass_and_variance_are_those_of_the_sum(stairs: pf.Staircase) -> None:
    weights = {k: stairs.weight(k) for k in range(-FAR, FAR + 1)}
    assert float(sum(weights.values())) == pytest.approx(float(stairs.mass), rel=1e-15)
    spread = sum(k * k * weight for k, weight in weights.items()) / stairs.mass
    assert float(spread) == pytest.approx(float(stairs.variance), rel=1e-14)


@pytest.mark.parametrize("stairs", STAIRS)
def test_outputs_far_out_tell_what_their_representatives_tell(stairs: pf.Staircase) -> None:
    """The loss over hundreds of outputs, by hand, is the loss of the channel."""
    world = pf.World.of([(0,), (1,), (5,), (9,)])
    definition = explicit(world, 1)
    values = (0, 1, 5, 9)
    worst = max(stairs.weight(k - a) / stairs.weight(k - b) for k in range(-60, 70) for a in values for b in values)
    assert pf.verify(stairs.on(sum, world), definition).odds == worst


def test_it_errs_less_than_laplace_noise_where_answers_jump() -> None:
    world = pf.World.of([(0,), (5,)])
    definition = explicit(world, 4)
    found = pf.least_staircase(sum, definition, world)
    assert (found.width, found.top) != (1, 1)
    assert pf.verify(found.on(sum, world), definition).holds
    geometric = pf.Staircase("0.4494", 1, 1)  # e^(-4/5) is just below: the noise of `least_noise`, of scale 5/4
    assert pf.least_noise(sum, definition, world).scale == Fraction(5, 4)
    assert pf.verify(geometric.on(sum, world), definition).holds
    assert found.variance < geometric.variance * Fraction(7, 10)


def test_nothing_on_the_list_with_less_variance_is_accepted() -> None:
    world = pf.World.product((0, 2), individuals=2)
    definition = pf.Definition(
        pf.pairs.values(),
        pf.scenarios.explicit([{(0, 0): "0.4", (0, 2): "0.1", (2, 0): "0.1", (2, 2): "0.4"}]),
        epsilon=2,
    )
    falls = [Fraction(n, 10) for n in range(1, 10)]
    found = pf.least_staircase(sum, definition, world, falls=falls)
    for fall in falls:
        for width in range(1, 5):
            for top in range(1, width + 1):
                other = pf.Staircase(fall, width, top)
                if other.variance < found.variance:
                    assert not pf.verify(other.on(sum, world), definition).holds


def test_what_none_keeps_is_refused() -> None:
    world = pf.World.of([(0,), (5,)])
    with pytest.raises(Refused, match="falls nearer to 1"):
        pf.least_staircase(sum, explicit(world, "0.01"), world, falls=["1/2"])
    with pytest.raises(Refused, match="none of these"):
        pf.first_accepted([], explicit(world, 1))
    for fall, width, top in ((1, 1, 1), (0, 1, 1), ("1/2", 1, 2), ("1/2", 0, 0)):
        with pytest.raises(NoiseError):
            pf.Staircase(fall, width, top)
    with pytest.raises(NoiseError, match="whole numbers"):
        pf.Staircase("1/2", 1, 1).on(lambda rows: Fraction(len(rows), 2), world)
    with pytest.raises(Refused, match="too far apart"):
        pf.Staircase("1/2", 1, 1).on(sum, pf.World.of([(0,), (10**6,)]))
