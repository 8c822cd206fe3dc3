"""Codes, values and texts of every kind of value are one and the same thing, three ways round."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tetraodon.domain import Booleans, Categories, Dates, Grid, Integers, Values
from tetraodon.domain.values import label_text
from tetraodon.errors import DomainError

MARKER = "Marker-Of-A-Person"
days = st.dates(dt.date(1900, 1, 1), dt.date(2100, 1, 1))


@st.composite
def grids(draw: st.DrawFn) -> Grid:
    low = draw(st.fractions(-5, 5, max_denominator=20))
    step = draw(st.fractions(Fraction(1, 50), 3, max_denominator=50))
    return Grid(low, low + draw(st.integers(0, 40)) * step, step)


labels = st.lists(st.text(max_size=5), min_size=1, max_size=6, unique=True).map(tuple)
kinds: st.SearchStrategy[Values] = st.one_of(
    st.builds(Categories, labels, st.booleans()),
    st.just(Booleans()),
    st.tuples(st.integers(-50, 50), st.integers(0, 30)).map(lambda p: Integers(p[0], p[0] + p[1])),
    grids(),
    st.tuples(days, days).map(lambda p: Dates(min(p), max(p))),
)


@given(kinds, st.data())
def test_code_value_and_text_go_round(values: Values, data: st.DataObject) -> None:
    code = data.draw(st.integers(0, values.size - 1))
    assert values.code(values.value(code)) == code
    assert values.code(values.text(code)) == code


@given(kinds)
def test_order_is_the_order_of_codes(values: Values) -> None:
    last = values.size - 1
    numbers = [values.number(code) for code in (0, last // 2, last)]
    assert numbers == sorted(numbers)
    if values.ordered and not isinstance(values, Categories):
        ends = [values.value(0), values.value(last // 2), values.value(last)]
        assert ends == sorted(ends)  # type: ignore[type-var]


@given(kinds)
def test_there_are_as_many_values_as_it_says(values: Values) -> None:
    shown = range(min(values.size, 50))
    assert len({values.value(code) for code in shown}) == len(shown)


def test_tenths_are_exact() -> None:
    grid = Grid(Fraction(0), Fraction(1), Fraction("0.1"))
    assert [grid.value(code) for code in range(grid.size)] == [Fraction(code, 10) for code in range(11)]
    assert [grid.text(code) for code in (0, 1, 3, 10)] == ["0", "0.1", "0.3", "1"]
    assert grid.code(0.1 + 0.2) == 3
    assert grid.code("0.3") == grid.code(0.3) == grid.code(Fraction(3, 10)) == 3


@given(grids(), st.fractions(0, 1, max_denominator=997))
def test_a_real_number_goes_to_the_nearest_grid_point(grid: Grid, share: Fraction) -> None:
    number = grid.low + share * (grid.high - grid.low)
    code = grid.code(number)
    assert abs(grid.number(code) - number) == min(abs(grid.number(c) - number) for c in range(grid.size))


def test_halfway_goes_up() -> None:
    assert Grid(Fraction(0), Fraction(2), Fraction(1)).code(0.5) == 1


@pytest.mark.parametrize(
    ("values", "value"),
    [
        (Integers(0, 9), True),
        (Integers(0, 9), 10),
        (Integers(0, 9), -1),
        (Integers(0, 9), 2.5),
        (Integers(0, 9), "1/0"),
        (Integers(0, 9), float("nan")),
        (Integers(0, 9), float("inf")),
        (Integers(0, 9), "1e999999999"),
        (Integers(0, 9), None),
        (Integers(0, 9), MARKER),
        (Integers(0, 9), dt.date(2020, 1, 1)),
        (Grid(Fraction(0), Fraction(1), Fraction(1, 2)), Fraction(-1, 100)),
        (Grid(Fraction(0), Fraction(1), Fraction(1, 2)), "1.01"),
        (Grid(Fraction(0), Fraction(1), Fraction(1, 2)), False),
        (Grid(Fraction(0), Fraction(1), Fraction(1, 2)), MARKER),
        (Booleans(), 1),
        (Booleans(), 0.0),
        (Booleans(), "yes"),
        (Booleans(), MARKER),
        (Categories(("a", "b")), "A"),
        (Categories(("a", "b")), 1),
        (Categories(("a", "b")), MARKER),
        (Dates(dt.date(2020, 1, 1), dt.date(2020, 12, 31)), dt.date(2019, 12, 31)),
        (Dates(dt.date(2020, 1, 1), dt.date(2020, 12, 31)), "2021-01-01"),
        (Dates(dt.date(2020, 1, 1), dt.date(2020, 12, 31)), "2020-02-30"),
        (Dates(dt.date(2020, 1, 1), dt.date(2020, 12, 31)), 5),
        (Dates(dt.date(2020, 1, 1), dt.date(2020, 12, 31)), MARKER),
    ],
)
def test_strangers_are_refused_and_not_quoted(values: Values, value: object) -> None:
    with pytest.raises(DomainError, match="not in the domain") as error:
        values.code(value)
    assert str(value) not in str(error.value) or len(str(value)) < 5
    assert error.value.__cause__ is None


def test_words_for_values() -> None:
    assert Booleans().code("TRUE") == 1
    assert Integers(-3, 3).code("-3") == 0
    assert Integers(0, 9).code(3.0) == 3
    leap = Dates(dt.date(2020, 2, 27), dt.date(2020, 3, 2))
    assert [leap.text(code) for code in range(leap.size)][2:4] == ["2020-02-29", "2020-03-01"]
    assert leap.code(dt.datetime(2020, 2, 29, 23, 59)) == 2
    assert Categories(("true", "3", "0.5")).code(True) == 0
    assert Categories(("true", "3", "0.5")).code(3) == 1
    assert Categories(("true", "3", "0.5")).code(Fraction(1, 2)) == 2
    assert [label_text(value) for value in (False, Fraction(1, 10), 7, "x")] == ["false", "0.1", "7", "x"]


def test_a_number_from_an_array_is_a_number() -> None:
    assert Integers(0, 9).code(np.float64(3)) == 3


@pytest.mark.parametrize(
    ("kind", "arguments", "what"),
    [
        (Categories, ((),), "empty"),
        (Categories, (("a", "b", "a"),), "'a' is listed twice"),
        (Integers, (1, 0), "empty"),
        (Grid, (Fraction(0), Fraction(1), Fraction(0)), "step"),
        (Grid, (Fraction(0), Fraction(1), Fraction(-1)), "step"),
        (Grid, (Fraction(1), Fraction(0), Fraction(1)), "empty"),
        (Grid, (Fraction(0), Fraction(1), Fraction(2, 3)), "whole number of steps"),
        (Dates, (dt.date(2020, 1, 2), dt.date(2020, 1, 1)), "empty"),
    ],
)
def test_values_that_are_none(kind: type, arguments: tuple[object, ...], what: str) -> None:
    with pytest.raises(DomainError, match=what):
        kind(*arguments)


def test_a_trillion_values_cost_nothing() -> None:
    many = Integers(1, 10**12)
    assert (many.size, many.value(10**12 - 1), many.code(10**12)) == (10**12, 10**12, 10**12 - 1)
    fine = Grid(Fraction(0), Fraction(1), Fraction(1, 10**12))
    assert (fine.size, fine.text(1)) == (10**12 + 1, "0.000000000001")


def test_a_grid_of_floats_and_texts_is_exact() -> None:
    exact = Grid(Fraction(0), Fraction(3, 10), Fraction(1, 10))
    assert Grid(0.0, 0.3, 0.1) == Grid("0", "3/10", "0.1") == exact  # type: ignore[arg-type]
    assert Grid(0.0, 0.3, 0.1).size == 4  # type: ignore[arg-type]
