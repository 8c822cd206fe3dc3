"""Attackers with numbers: each prior is the product that its model says."""

import itertools
from fractions import Fraction

from tetraodon.pufferfish import World, scenarios


def test_a_chain_multiplies_its_steps():
    world = World.product((0, 1), individuals=3)
    chain = scenarios.chain(transition=[["0.9", "0.1"], ["0.4", "0.6"]], start=["0.5", "0.5"], source="a textbook")
    (prior,) = chain.priors(world)
    assert dict(prior.weights)[(0, 1, 1)] == Fraction(1, 2) * Fraction(1, 10) * Fraction(6, 10)
    assert "a textbook" in chain.text
    several = scenarios.chain(transition=[[[1, 0], [0, 1]], [["1/2", "1/2"]] * 2], start=[["1/2", "1/2"], [1, 0]])
    assert len(several.priors(world)) == 4


def test_contagion_sums_to_one_and_spreads():
    joint = scenarios.contagion(3, introduced=Fraction(1, 5), spread=Fraction(1, 3))
    assert sum(joint.values()) == 1
    nobody = scenarios.contagion(3, introduced=Fraction(1, 5), spread=Fraction(0))
    for inside in itertools.product((0, 1), repeat=3):
        assert nobody[inside] == Fraction(1, 5) ** sum(inside) * Fraction(4, 5) ** (3 - sum(inside))
    assert joint[(1, 1, 1)] > nobody[(1, 1, 1)]


def test_groups_multiply_and_a_network_follows_its_parents():
    joint = {(0, 0): "1/2", (1, 1): "1/2"}
    (twins,) = scenarios.groups([(0, 2), (1, 3)], joint, source="a register").priors(
        World.product((0, 1), individuals=4)
    )
    assert dict(twins.weights) == {d: Fraction(1, 4) for d in ((0, 0, 0, 0), (0, 1, 0, 1), (1, 0, 1, 0), (1, 1, 1, 1))}
    network = scenarios.network(
        [((), {(): {0: "1/3", 1: "2/3"}}), ((0,), {(0,): {0: 1}, (1,): {0: "1/4", 1: "3/4"}})], source="a study"
    )
    (prior,) = network.priors(World.product((0, 1), individuals=2))
    assert dict(prior.weights) == {(0, 0): Fraction(1, 3), (1, 0): Fraction(1, 6), (1, 1): Fraction(1, 2)}
    assert "a study" in network.text


def test_a_stationary_chain_looks_the_same_at_every_step():
    world = World.product(("a", "b"), individuals=3)
    (prior,) = scenarios.chain(transition=[["0.9", "0.1"], ["0.4", "0.6"]], states=("a", "b")).priors(world)
    for step in range(3):
        assert sum(p for d, p in prior.weights if d[step] == "a") == Fraction(4, 5)
