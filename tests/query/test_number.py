"""Sums of numbers, of products and of squares: exact units, and nothing that is too long."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from tests.worlds import attributes

from tetraodon.domain import Attribute, Grid, Integers
from tetraodon.errors import QueryError, Refused
from tetraodon.query.contribution import Traits
from tetraodon.query.number import Number


@given(attributes("a"), attributes("w"))
def test_units_are_exact(value: Attribute, weight: Attribute) -> None:
    number = Number(value)
    numbers = [value.number(code) for code in range(value.size)]
    assert [int(v) * number.unit for v in number.values(np.arange(value.size))] == numbers
    both = Number(value, weight)
    products = [value.number(a) * weight.number(b) for a in range(value.size) for b in range(weight.size)]
    assert [int(v) * both.unit for v in both.columns()[0]] == products
    assert both.names == ("a", "w")


def test_the_unit_is_as_large_as_can_be() -> None:
    assert Number(Attribute("a", Integers(0, 9))).unit == 1
    assert Number(Attribute("a", Grid(Fraction(0), Fraction(60), Fraction(20)))).unit == 20
    assert Number(Attribute("a", Grid(Fraction(1, 2), Fraction(7, 2), Fraction(1)))).unit == Fraction(1, 2)
    assert Number(Attribute("a", Grid(Fraction(0), Fraction(1), Fraction("0.1")))).unit == Fraction(1, 10)


@given(attributes("a"))
def test_squares_are_those_of_the_distance_from_the_middle(value: Attribute) -> None:
    numbers = [value.number(code) for code in range(value.size)]
    middle = (numbers[0] + numbers[-1]) / 2
    squares = Number(value, squared=True)
    assert [int(v) * squares.unit for v in squares.columns()[0]] == [(number - middle) ** 2 for number in numbers]
    assert (squares.signed, squares.traits(), squares.potential(np.arange(value.size))) == (False, Traits.CONVEX, None)


def test_squares_that_are_too_long_or_weighted_are_refused() -> None:
    assert Number(Attribute("a", Integers(1, 2**30)), squared=True).longest < 2**60
    with pytest.raises(Refused, match="squares of a are too long"):
        Number(Attribute("a", Integers(0, 2**30)), squared=True)
    with pytest.raises(QueryError, match="not weighted"):
        Number(Attribute("a", Integers(0, 3)), Attribute("w", Integers(0, 3)), squared=True)


def test_long_numbers_are_refused_and_do_not_wrap() -> None:
    long = Attribute("a", Integers(0, 2**62))
    with pytest.raises(Refused, match="too long"):
        Number(long).alone(np.array([0]))
    assert Number(Attribute("a", Integers(0, 2**62 - 1))).alone(np.array([2**62 - 1])).tolist() == [2**62 - 1]
    near = Attribute("a", Integers(10**10, 10**10 + 2))
    with pytest.raises(Refused, match="a times w"):
        Number(near, Attribute("w", Integers(10**10, 10**10 + 2)))
    with pytest.raises(Refused, match="a times w"):
        Number(near, Attribute("w", Integers(-(10**10), 0)))


@given(attributes("a"), attributes("b"))
def test_centred_numbers_are_distances_from_the_middle(first: Attribute, second: Attribute) -> None:
    one, other = (
        [a.number(code) - (a.number(0) + a.number(a.size - 1)) / 2 for code in range(a.size)] for a in (first, second)
    )
    number, product = Number(first, centred=True), Number(first, second, centred=True)
    assert [int(v) * number.unit for v in number.columns()[0]] == one
    assert [int(v) * product.unit for v in product.columns()[0]] == [x * y for x in one for y in other]
    assert (number.traits(), product.traits()) == (Traits.LINEAR | Traits.ANSWERED, Traits.CONVEX)
    assert (number.signed, product.signed) == (True, True)
    assert product.longest == int(np.abs(product.columns()).max())


@given(attributes("a"), attributes("b"))
def test_a_product_with_one_factor_fixed_is_the_other(first: Attribute, second: Attribute) -> None:
    for centred in (False, True):
        product = Number(first, second, centred=centred)
        table = product.columns()[0].reshape(first.size, second.size)
        rest, times = product.at("a", 0)
        assert (times * np.abs(rest.columns()[0])).tolist() == np.abs(table[0]).tolist()
        rest, times = product.at("b", second.size - 1)
        assert (times * np.abs(rest.columns()[0])).tolist() == np.abs(table[:, -1]).tolist()


def test_products_of_missing_values_that_stand_apart_are_refused() -> None:
    apart = Attribute("a", Integers(0, 3), 4, separate=True)
    with pytest.raises(QueryError, match="neither weighted nor multiplied"):
        Number(apart, Attribute("b", Integers(0, 3)), centred=True)
