"""Sets of attackers: every prior drawn from one has the shape that the set promises."""

import itertools
import random
from fractions import Fraction

import pytest

from tetraodon.pufferfish import World, scenarios

WORLD = World.product((0, 1, 2), individuals=3)


def marginal(prior, people):
    found = {}
    for dataset, weight in prior.weights:
        key = tuple(dataset[i] for i in people)
        found[key] = found.get(key, Fraction(0)) + weight
    return found


@pytest.mark.parametrize("members", [(), ((0, 2),), ((0, 1, 2),)])
def test_groups_are_independent_of_each_other(members):
    scenario = scenarios.groups(members)
    prior = scenario.draw(WORLD, random.Random(1))
    groups = {scenario.group_of(i) for i in range(3)}
    for dataset, weight in prior.weights:
        expected = Fraction(1)
        for group in groups:
            people = sorted(group)
            expected *= marginal(prior, people)[tuple(dataset[i] for i in people)]
        assert weight == expected


def test_one_law_for_all_but_the_informed():
    for informed in (0, 1, 2):
        prior = scenarios.informed(informed).draw(WORLD, random.Random(2))
        laws = [marginal(prior, [i]) for i in range(3)]
        alike = sum(a == b for a, b in itertools.combinations(laws, 2))
        assert alike >= {0: 3, 1: 1, 2: 0}[informed]


def test_which_group_decides_a_pair():
    scenario = scenarios.groups([(0, 2)])
    assert scenario.fits(frozenset({2}), WORLD) == {0, 2}
    assert scenario.fits(frozenset({1}), WORLD) == {1}
    assert scenario.fits(frozenset({0, 1}), WORLD) is None
    assert scenario.fits(None, WORLD) is None
    assert scenarios.independent().fits(None, World.product((0, 1), individuals=1)) == {0}


def test_a_constraint_conditions():
    given = scenarios.given(lambda d: sum(d) == 1, scenarios.explicit([{(0, 1, 0): "1/2", (1, 1, 0): "1/2"}]))
    (prior,) = given.priors(WORLD)
    assert prior.weights == (((0, 1, 0), Fraction(1)),)
    assert given.restrict(WORLD).size == 3
    assert scenarios.given(sum).priors(WORLD) is None
    assert "who know that a constraint holds" in given.text
    assert given.source == "stated by the analyst"
