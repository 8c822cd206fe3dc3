"""Calibration by search: accepted by exact verification, refused just below, never above the Wasserstein mechanism."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tetraodon import pufferfish as pf
from tetraodon.certificate.table_secret_loss import AnswerLaw, LawPair
from tetraodon.errors import NoiseError, Refused
from tetraodon.pufferfish.least_noise import least_scale

FOUR = pf.World.product((0, 1), individuals=4)
COUNTS = [Fraction(n, 100) for n in (10, 15, 50, 15, 10)]


def flu(epsilon: object) -> pf.Definition:
    joint = {who: COUNTS[sum(who)] / (1, 4, 6, 4, 1)[sum(who)] for who in FOUR.datasets}
    group = pf.scenarios.groups([range(4)], joint, source="[SWC17] section 3")
    return pf.Definition(pf.pairs.values(), group, epsilon=epsilon)


def chain(epsilon: object) -> pf.Definition:
    known = pf.scenarios.chain(transition=[["0.8", "0.2"], ["0.3", "0.7"]], source="a study")
    return pf.Definition(pf.pairs.values(), known, epsilon=epsilon)


@pytest.mark.parametrize("definition", [flu(1), flu("0.3"), flu(3), chain(1), chain("0.2")])
def test_it_is_accepted_and_a_little_less_is_not(definition: pf.Definition) -> None:
    found = pf.least_noise(sum, definition, FOUR)
    known, _ = pf.wasserstein(sum, definition, FOUR)
    assert found.scale <= known.scale
    assert found.certificate.epsilon <= definition.epsilon
    assert pf.verify(found.on(FOUR), definition).holds
    less = pf.Additive(sum, pf.DiscreteLaplace(found.scale * Fraction(998, 1000)), FOUR)
    assert not pf.verify(less, definition).holds


def test_the_flu_needs_little_more_than_half_of_wasserstein() -> None:
    assert float(pf.least_noise(sum, flu(1), FOUR).scale) == pytest.approx(1.1548, abs=1e-3)
    assert pf.wasserstein(sum, flu(1), FOUR)[0].scale == 2


def test_where_the_laws_are_points_the_theorem_stands() -> None:
    world = pf.World.of([(0,), (5,)])
    definition = pf.Definition(pf.pairs.values(), pf.scenarios.explicit([{(0,): "0.5", (5,): "0.5"}]), epsilon=1)
    assert pf.least_noise(sum, definition, world).scale == 5
    nothing = pf.Definition(pf.pairs.values(), pf.scenarios.explicit([{(0,): 1}]), epsilon=1)
    assert pf.least_noise(sum, nothing, world).scale == 0


def test_fractions_are_told_on_their_grid() -> None:
    found = pf.least_noise(lambda rows: Fraction(sum(rows), 3), flu(1), FOUR)
    assert found.grid.step == Fraction(1, 3)
    assert found.scale == pf.least_noise(sum, flu(1), FOUR).scale  # in steps


def test_any_family_of_noise_and_any_definition() -> None:
    world = pf.World.product((0, 1), individuals=2)
    gauss = pf.Definition(pf.pairs.values(), pf.scenarios.independent(), epsilon=1, delta="0.01")
    found = pf.least_accepted(pf.Gaussian, sum, gauss, world)
    assert pf.verify(found, gauss).holds
    assert not pf.verify(pf.Additive(sum, pf.Gaussian(found.noise.sigma * Fraction(998, 1000)), world), gauss).holds
    twice = pf.Definition(pf.pairs.values(), pf.scenarios.independent(), epsilon=1)
    both = pf.least_accepted(pf.Laplace, lambda rows: (sum(rows), rows[0]), twice, world)
    assert both.noise.scale == 2  # the first record moves both numbers


def test_losses_fall_as_scales_grow() -> None:
    """Larger noise is smaller noise and more: the search may halve."""
    pair = LawPair(
        AnswerLaw.of({0: Fraction(1, 3), 7: Fraction(2, 3)}), AnswerLaw.of({2: Fraction(1, 2), 4: Fraction(1, 2)}), "x"
    )
    losses = [pair.loss(Fraction(10, scale))[1] for scale in range(1, 200)]
    assert losses == sorted(losses, reverse=True)


def test_what_no_noise_hides_is_refused() -> None:
    with pytest.raises(Refused, match="no noise"):
        least_scale(lambda _: False)
    apart = LawPair(AnswerLaw.of({0: Fraction(1)}), AnswerLaw.of({1: Fraction(1)}), "x", apart=2.0)
    with pytest.raises(Refused, match="no noise"):
        pf.least_noise_on([apart], epsilon=1, promise="x")


def test_a_second_release_is_not_promised() -> None:
    pair = LawPair(AnswerLaw.of({0: Fraction(1)}), AnswerLaw.of({1: Fraction(1)}), "x")
    assert pf.least_noise_on([pair], epsilon=1, promise="x").composable.adds_up is None


# -- staircase ---------------------------------------------------------------------------------------
# Staircase noise: its law against enumeration, its channel against outputs far beyond, its search against a list.

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
