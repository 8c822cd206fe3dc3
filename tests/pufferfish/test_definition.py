"""Definitions: bounds in both directions, exactly, and the promise in words."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from tetraodon.errors import PolicyError
from tetraodon.exact.exponent import exp_above, exp_below
from tetraodon.pufferfish import (
    Additive,
    Channel,
    Definition,
    Laplace,
    Prior,
    World,
    chain_model,
    compiled,
    epidemic,
    gaussian_wasserstein,
    least_noise,
    least_noise_on,
    named,
    optimal_mechanism,
    pairs,
    scenarios,
    tree_laws,
    verify,
    wasserstein,
)


def make(**bound):
    return Definition(pairs.values(), scenarios.independent(), **bound)


def test_epsilon_bounds_both_directions_without_rounding():
    definition = make(epsilon=1)
    assert definition.allows(exp_below(Fraction(1), 80), Fraction(1))
    assert not definition.allows(Fraction(1), exp_above(Fraction(1), 80))
    assert not definition.allows(math.inf, Fraction(1))
    assert make(epsilon=0).allows(Fraction(1), Fraction(1))
    assert definition.high < math.e + 1e-15
    assert definition.low == 1 / definition.high


def test_odds_bound_each_direction_by_itself():
    definition = make(odds=("1/2", 3))
    assert definition.allows(Fraction(3), Fraction(2))
    assert not definition.allows(Fraction(3), Fraction(3))
    assert not definition.allows(Fraction(4), Fraction(2))
    one_sided = make(odds=(0, 3))
    assert one_sided.allows(Fraction(3), math.inf)
    assert not one_sided.allows(math.inf, Fraction(1))


def test_definitions_are_values():
    assert make(epsilon="0.1") == make(epsilon=0.1)
    assert len({make(epsilon=1), make(epsilon=1), make(epsilon=2)}) == 2
    assert make(epsilon=1).at(2) == make(epsilon=2)
    assert make(epsilon=1).against(scenarios.anything()).scenarios == scenarios.anything()
    assert "e^0.1" in make(epsilon=0.1).text
    assert "out of [0.5, 3]" in make(odds=("1/2", 3)).text
    assert "except with probability 0.01" in make(epsilon=1, delta="0.01").text


def test_odds_are_two_numbers() -> None:
    with pytest.raises(PolicyError, match="not two numbers"):
        Definition(pairs.values(), scenarios.anything(), odds=3)  # type: ignore[arg-type]


# -- verdict -----------------------------------------------------------------------------------------
# Verdicts in words: what was decided, how sure it is, who shows it.

COIN = Channel([["3/4", "1/4"], ["1/4", "3/4"]], [(0,), (1,)], [0, 1])


def test_an_exact_verdict_says_so():
    verdict = verify(COIN, named.indistinguishability(epsilon=2))
    assert verdict.text.splitlines() == [
        "Holds: epsilon-indistinguishability: which of two values an individual has: attackers to whom the records are "
        "independent must not move the odds by more than e^2.",
        "Smallest epsilon: 1.09861, exactly (all neighbouring datasets).",
        "Witness: the attacker who knows it is (0,) or (1,) thinks “individual 0 has 0” 1 times as likely as "
        "“individual 0 has 1”, and 3 times as likely on seeing 0.",
    ]
    assert bool(verdict)
    assert round(verdict.epsilon, 5) == 1.09861
    assert 0 < verdict.upper - verdict.lower < Fraction(1, 10**30)


def test_a_failure_says_so():
    verdict = verify(COIN, named.indistinguishability(epsilon=1))
    assert verdict.text.startswith("Fails: ")
    assert not verdict


def test_the_witness_starts_from_the_attackers_own_odds():
    prior = scenarios.explicit([{(0,): "1/10", (1,): "9/10"}])
    witness = verify(COIN, Definition(pairs.values(), prior, epsilon=2)).witness
    assert witness.prior_odds == Fraction(1, 9)
    assert witness.posterior_odds in (Fraction(1, 3), Fraction(1, 27))
    assert witness.scenario.startswith("one attacker")


# -- representations ---------------------------------------------------------------------------------
# What a notebook or a log shows of a mechanism, a definition or a verdict fits on a screen.

LONGEST = 1_500


def test_nothing_lists_its_datasets_or_laws():
    world = World.product((0, 1), individuals=8)
    spread = scenarios.contagion(8, introduced=Fraction(1, 10), spread=Fraction(1, 4))
    level = Definition(pairs.values(), scenarios.groups([range(8)], spread, source="a study"), epsilon=1)
    listed = level.against(scenarios.explicit([Prior.uniform(world)]))
    forgiving = Definition(level.pairs, level.scenarios, epsilon=1, delta="0.001")
    noisy = Additive(sum, Laplace(2), world)
    counts = World.of(range(31))
    near = named.neighbours(counts, lambda a, b: abs(a - b) == 1, epsilon=1)
    weather = chain_model([["0.9", "0.1"], ["0.2", "0.8"]], start=["2/3", "1/3"], length=60)
    infected = least_noise_on(epidemic(300, introduced="0.01", spread="0.01"), epsilon=1, promise="who is infected")
    shown = [
        *(world, level, listed, near, noisy, infected, weather, tree_laws(weather)[0]),
        *(verify(noisy, level), Channel.of(lambda dataset: {dataset: 1}, world)),
        *(wasserstein(sum, level, world)[0], least_noise(sum, level, world)),
        *(gaussian_wasserstein(sum, forgiving, world), compiled(near, counts)),
        optimal_mechanism(near, lambda count, output: abs(count - output), world=counts),
    ]
    assert {type(one).__name__: len(repr(one)) for one in shown if len(repr(one)) > LONGEST} == {}
