"""Theorem 8.1 and its neighbours: when losses add up."""

from tetraodon.pufferfish import Prior, World, pairs, scenarios
from tetraodon.pufferfish.scenario import universally_composable

TWINS = {(0, 0): "2/5", (1, 1): "2/5", (0, 1): "1/10", (1, 0): "1/10"}


WORLD = World.product((0, 1), individuals=2)


def test_theorem_8_1_decides_one_prior_at_a_time():
    two_points = Prior.of({(0, 1): "1/2", (1, 1): "1/2"})
    assert universally_composable(two_points, pairs.values(), WORLD).universally
    loose = universally_composable(Prior.of(TWINS), pairs.values(), WORLD)
    assert not loose.universally
    assert "more than one dataset" in loose.reason
    assert scenarios.explicit([two_points]).composability(pairs.values(), WORLD).adds_up
    assert scenarios.independent().composability(pairs.values(), WORLD).adds_up
    assert scenarios.independent().composability(pairs.aggregate(k=1), WORLD).adds_up is None
    assert scenarios.given(lambda d: sum(d) < 2, scenarios.anything()).composability(pairs.values(), WORLD).adds_up
    assert scenarios.given(sum, scenarios.explicit([two_points])).composability(pairs.values(), WORLD).adds_up
