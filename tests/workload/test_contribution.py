"""alone, apart and potential are what the columns say, entry by entry."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.worlds import attributes

from tetraodon.domain import Attribute, Grid, Integers
from tetraodon.errors import QueryError, Refused
from tetraodon.workload import contribution
from tetraodon.workload.contribution import AllRanges, Contribution, Number, One, Prefix, Table


@st.composite
def contributions(draw: st.DrawFn) -> Contribution:
    size = draw(st.integers(1, 6))
    kind = draw(st.sampled_from(["one", "prefix", "number", "squares", "weighted", "table", "ranges"]))
    match kind:
        case "one":
            return One()
        case "prefix":
            return Prefix("a", size, draw(st.sampled_from([size, max(size - 1, 1), 1])))
        case "number":
            return Number(draw(attributes("a")))
        case "squares":
            return Number(draw(attributes("a")), squared=True)
        case "weighted":
            return Number(draw(attributes("a")), draw(attributes("w", 4)))
        case "table":
            row = st.lists(st.integers(-3, 3), min_size=size, max_size=size)
            return Table(("a",), np.array(draw(st.lists(row, min_size=1, max_size=3)), np.int64))
        case _:
            return AllRanges("a", size)


@given(contributions())
def test_they_agree_with_the_columns(given_one: Contribution) -> None:
    columns = given_one.columns()
    assert columns.shape[0] == given_one.rows
    cells = np.arange(columns.shape[1])
    assert given_one.alone(cells).tolist() == [int(np.abs(columns[:, x]).sum()) for x in cells]
    x, y = (np.array(ends) for ends in zip(*itertools.product(cells, cells), strict=True))
    apart = [int(np.abs(columns[:, a] - columns[:, b]).sum()) for a, b in zip(x, y, strict=True)]
    assert given_one.apart(x, y).tolist() == apart
    height = given_one.potential(cells)
    if height is not None:
        assert np.abs(height[x] - height[y]).tolist() == apart
        assert (np.diff(height) >= 0).all()  # the kernel adds potentials up, so all of them must rise


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
    assert (squares.signed, squares.linear, squares.potential(np.arange(value.size))) == (False, False, None)


def test_squares_that_are_too_long_or_weighted_are_refused() -> None:
    assert Number(Attribute("a", Integers(1, 2**30)), squared=True).longest < 2**60
    with pytest.raises(Refused, match="squares of a are too long"):
        Number(Attribute("a", Integers(0, 2**30)), squared=True)
    with pytest.raises(QueryError, match="not weighted"):
        Number(Attribute("a", Integers(0, 3)), Attribute("w", Integers(0, 3)), squared=True)


def test_a_single_range_by_hand() -> None:
    assert AllRanges("a", 3).columns().tolist() == [
        [1, 0, 0],
        [1, 1, 0],
        [1, 1, 1],
        [0, 1, 0],
        [0, 1, 1],
        [0, 0, 1],
    ]
    assert Prefix("a", 3, 2).columns().tolist() == [[1, 0, 0], [1, 1, 0]]


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


@pytest.mark.parametrize(
    "large",
    [
        Prefix("a", 10**12, 10**12),
        AllRanges("a", 10**6),
        Number(Attribute("a", Integers(0, 10**12))),
        Number(Attribute("a", Integers(0, 10**5)), Attribute("w", Integers(0, 10**5))),
    ],
)
def test_large_matrices_are_refused_before_they_are_written(large: Contribution) -> None:
    with pytest.raises(Refused, match="written out"):
        large.columns()


def test_the_limit_itself_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contribution, "WRITE_LIMIT", 12)
    assert Prefix("a", 4, 3).columns().shape == (3, 4)
    with pytest.raises(Refused):
        Prefix("a", 4, 4).columns()


def test_a_table_of_no_attribute_would_escape_the_certificate() -> None:
    with pytest.raises(QueryError, match="no attribute"):
        Table((), np.ones((1, 1), np.int64))


def test_a_trillion_values_cost_nothing() -> None:
    x = np.array([0, 10**12 - 1])
    assert Prefix("a", 10**12, 10**12).alone(x).tolist() == [10**12, 1]
    assert Number(Attribute("a", Integers(1, 10**12))).alone(x).tolist() == [1, 10**12]
    assert AllRanges("a", 10**9).rows == 10**9 * (10**9 + 1) // 2
