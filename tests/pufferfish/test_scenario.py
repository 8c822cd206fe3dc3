"""Sets of attackers draw priors of their kind, and say whether losses add up."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction

import pytest

from tetraodon.pufferfish import Prior, World, pairs, scenarios
from tetraodon.pufferfish.scenarios import universally_composable

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


THREE = World.product((0, 1, 2), individuals=3)


def marginal(prior, people):
    found = {}
    for dataset, weight in prior.weights:
        key = tuple(dataset[i] for i in people)
        found[key] = found.get(key, Fraction(0)) + weight
    return found


@pytest.mark.parametrize("members", [(), ((0, 2),), ((0, 1, 2),)])
def test_groups_are_independent_of_each_other(members):
    scenario = scenarios.groups(members)
    prior = scenario.draw(THREE, random.Random(1))
    groups = {scenario.group_of(i) for i in range(3)}
    for dataset, weight in prior.weights:
        expected = Fraction(1)
        for group in groups:
            people = sorted(group)
            expected *= marginal(prior, people)[tuple(dataset[i] for i in people)]
        assert weight == expected


def test_one_law_for_all_but_the_informed():
    for informed in (0, 1, 2):
        prior = scenarios.informed(informed).draw(THREE, random.Random(2))
        laws = [marginal(prior, [i]) for i in range(3)]
        alike = sum(a == b for a, b in itertools.combinations(laws, 2))
        assert alike >= {0: 3, 1: 1, 2: 0}[informed]


def test_which_group_decides_a_pair():
    scenario = scenarios.groups([(0, 2)])
    assert scenario.fits(frozenset({2}), THREE) == {0, 2}
    assert scenario.fits(frozenset({1}), THREE) == {1}
    assert scenario.fits(frozenset({0, 1}), THREE) is None
    assert scenario.fits(None, THREE) is None
    assert scenarios.independent().fits(None, World.product((0, 1), individuals=1)) == {0}


def test_a_constraint_conditions():
    given = scenarios.given(lambda d: sum(d) == 1, scenarios.explicit([{(0, 1, 0): "1/2", (1, 1, 0): "1/2"}]))
    (prior,) = given.priors(THREE)
    assert prior.weights == (((0, 1, 0), Fraction(1)),)
    assert given.restrict(THREE).size == 3
    assert scenarios.given(sum).priors(THREE) is None
    assert "who know that a constraint holds" in given.text
    assert given.source == "stated by the analyst"
