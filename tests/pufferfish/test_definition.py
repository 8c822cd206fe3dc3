"""Definitions: bounds in both directions, exactly, and the promise in words."""

import math
from fractions import Fraction

import pytest

from tetraodon.errors import PolicyError
from tetraodon.exact.exponent import exp_above, exp_below
from tetraodon.pufferfish import Definition, pairs, scenarios


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
