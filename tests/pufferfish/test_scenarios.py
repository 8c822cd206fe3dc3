"""Each set of attackers samples, conditions and composes as it says."""

import random
from fractions import Fraction

import pytest

from tetraodon.errors import PolicyError, Refused
from tetraodon.pufferfish import Prior, Secret, World, pairs, scenarios

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
        (lambda: scenarios.chain(transition=[]), "no transition matrix"),
        (lambda: scenarios.explicit([TWINS], source="fitted to the data we release"), "would leak"),
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


def test_probabilities_in_the_order_of_the_datasets_are_a_prior() -> None:
    world = World.of([(0,), (1,)])
    (prior,) = scenarios.explicit([["1/3", "2/3"]]).priors(world)
    assert prior.weights == (((0,), Fraction(1, 3)), ((1,), Fraction(2, 3)))
    assert scenarios.explicit({(0,): 0.5, (1,): 0.5}).priors(world)[0].weights[0] == ((0,), Fraction(1, 2))
    with pytest.raises(PolicyError, match="3 probabilities where the world has 2 datasets"):
        scenarios.explicit([[0.2, 0.3, 0.5]]).priors(world)
    with pytest.raises(PolicyError, match="attacker 0 is no prior"):
        scenarios.explicit(["all"])
