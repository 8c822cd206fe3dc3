"""Each set of attackers samples, conditions and composes as it says."""

import itertools
import random
from collections import Counter
from fractions import Fraction

import pytest

from tetraodon.errors import PolicyError, Refused
from tetraodon.pufferfish import Prior, Secret, World, pairs, scenarios
from tetraodon.pufferfish.scenario import universally_composable
from tetraodon.pufferfish.transition import stationary, transition_matrix

WORLD = World.product((0, 1), individuals=2)
TWINS = {(0, 0): "2/5", (1, 1): "2/5", (0, 1): "1/10", (1, 0): "1/10"}
EVERY_KIND = [
    scenarios.anything(),
    scenarios.independent(),
    scenarios.iid(),
    scenarios.informed(1),
    scenarios.given(lambda d: sum(d) < 2),
    scenarios.explicit([TWINS, Prior.uniform(WORLD)]),
    scenarios.chain(transition=[["0.9", "0.1"], ["0.4", "0.6"]]),
    scenarios.groups([(0, 1)]),
    scenarios.groups([(0, 1)], scenarios.contagion(2, introduced=Fraction(1, 10), spread=Fraction(1, 2))),
    scenarios.network([((), {(): {0: "1/2", 1: "1/2"}}), ((0,), {(0,): {0: 1}, (1,): {0: "1/3", 1: "2/3"}})]),
]


@pytest.mark.parametrize("scenario", EVERY_KIND, ids=lambda scenario: scenario.text[:40])
def test_every_kind_draws_samples_and_conditions(scenario):
    chance = random.Random(0)
    prior = scenario.draw(WORLD, chance)
    assert sum(weight for _, weight in prior.weights) == 1
    assert scenario.sample(WORLD, chance) in WORLD.datasets
    secret = Secret.value(0, 0)
    conditional = prior.given(secret)
    assert all(secret.holds(dataset) for dataset, _ in conditional.weights)
    assert sum(weight for _, weight in conditional.weights) == 1
    assert scenario.text
    assert scenario.source
    assert scenario.composability(pairs.values(), WORLD).reason


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


def test_a_chain_multiplies_its_steps():
    world = World.product((0, 1), individuals=3)
    chain = scenarios.chain(transition=[["0.9", "0.1"], ["0.4", "0.6"]], start=["0.5", "0.5"], source="a textbook")
    (prior,) = chain.priors(world)
    assert dict(prior.weights)[(0, 1, 1)] == Fraction(1, 2) * Fraction(1, 10) * Fraction(6, 10)
    assert "a textbook" in chain.text
    several = scenarios.chain(transition=[[[1, 0], [0, 1]], [["1/2", "1/2"]] * 2], start=[["1/2", "1/2"], [1, 0]])
    assert len(several.priors(world)) == 4


def test_the_stationary_law_stays():
    matrix = transition_matrix([["0.5", "0.25", "0.25"], ["0.1", "0.8", "0.1"], [0, "0.5", "0.5"]])
    law = stationary(matrix)
    assert tuple(sum(law[x] * matrix[x][y] for x in range(3)) for y in range(3)) == law
    assert sum(law) == 1


def test_contagion_sums_to_one_and_spreads():
    joint = scenarios.contagion(3, introduced=Fraction(1, 5), spread=Fraction(1, 3))
    assert sum(joint.values()) == 1
    nobody = scenarios.contagion(3, introduced=Fraction(1, 5), spread=Fraction(0))
    for inside in itertools.product((0, 1), repeat=3):
        assert nobody[inside] == Fraction(1, 5) ** sum(inside) * Fraction(4, 5) ** (3 - sum(inside))
    assert joint[(1, 1, 1)] > nobody[(1, 1, 1)]


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


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: scenarios.explicit([{(0,): "0.5"}]), "sum to 0.5, not to 1"),
        (lambda: scenarios.explicit([{(0,): "1.5", (1,): "-0.5"}]), "negative"),
        (lambda: scenarios.explicit([]), "no attacker"),
        (lambda: scenarios.explicit([TWINS], source="estimated from the protected table"), "would leak"),
        (lambda: scenarios.explicit([TWINS], source=" "), "where its numbers come from"),
        (lambda: scenarios.chain(transition=[["0.5", "0.4"], [0, 1]]), "row 0 .* sum to 0.9"),
        (lambda: scenarios.chain(transition=[[1]], start="anywhere"), "unknown way"),
        (lambda: scenarios.chain(transition=[[1, 0]]), "not square"),
        (lambda: scenarios.chain(transition=[["1/2", "1/2"]] * 2, start=[1]), "differ in size"),
        (lambda: scenarios.chain(transition=[[1, 0], [0, 1]]).priors(WORLD), "more than one stationary"),
        (lambda: scenarios.chain(transition=[["-1", 2], [0, 1]]), "negative"),
        (lambda: scenarios.chain(transition=[[1]]).priors(WORLD), "not the values of the world"),
        (lambda: scenarios.groups([(0, 1), (1,)]), "two groups"),
        (lambda: scenarios.groups([(0, 2)], {(0, 0): 1}), "each individual once"),
        (lambda: scenarios.groups([(0, 1)], {(0,): 1}), "does not fit"),
        (lambda: scenarios.groups([(0, 1)], {(0, 0): "1/2"}), "do not sum to 1"),
        (lambda: scenarios.network([((1,), {}), ((), {})]), "does not come before"),
        (lambda: scenarios.network([((), {(): {0: "1/2"}})]), "do not sum to 1"),
        (lambda: scenarios.informed(-1), "negative"),
        (lambda: scenarios.groups([(0,)], {(0,): 1}).priors(WORLD), "speaks of 1 individuals"),
        (lambda: scenarios.network([((), {(): {0: 1}})]).priors(WORLD), "speaks of 1 individuals"),
        (lambda: scenarios.chain(transition=[[1]]).priors(World.product((0,), individuals=1, absent=True)), "absent"),
        (lambda: scenarios.given(lambda d: sum(d) > 5).draw(WORLD, random.Random(0)), "contradicts"),
        (lambda: scenarios.iid().draw(World.of([(0, 1), (1, 1), (1, 0)]), random.Random(0)), "cannot be independent"),
        (lambda: Prior.of(TWINS).given(Secret.value(0, 5)), "probability zero"),
        (lambda: Prior(((0, Fraction(1, 2)), (0, Fraction(1, 2)))), "twice"),
        (lambda: Prior.proportional({0: 0}), "all weights are zero"),
    ],
)
def test_bad_input_is_refused_with_a_fix(make, message):
    with pytest.raises((PolicyError, Refused), match=rf"{message}.*Fix:"):
        make()
