"""What a part of a condition stands for, and what is said when it stands for something else."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction

import pytest

from tetraodon.domain import Attribute, Booleans, Categories, Dates, Grid
from tetraodon.errors import QueryError
from tetraodon.query.condition.nodes import Code, Constant
from tetraodon.query.condition.values import (
    Day,
    Nothing,
    Plain,
    Span,
    Words,
    day_in,
    number,
    number_in,
    read_number,
    truth_in,
    values_of,
)

PAY = Attribute("pay", Grid(Fraction(1, 2), Fraction(5, 2), Fraction(1, 3)))
BORN = Attribute("born", Dates(dt.date(2000, 1, 1), dt.date(2000, 1, 2)))
SEX = Attribute("sex", Categories(("f", "m")), other=0)
ILL = Attribute("ill", Booleans(), other=0)


def test_a_grid_is_whole_numbers_over_one_denominator() -> None:
    found = number_in(Plain(PAY, 0))
    assert found.under == Constant(6)
    assert found.over.bound == 2 * 6 + 3
    assert found.sizes == {(0, 7)}


@pytest.mark.parametrize(
    ("attribute", "clause"),
    [
        (PAY, "a number from 0.5 to 2.5"),
        (BORN, "a date from '2000-01-01' to '2000-01-02'"),
        (SEX, "use one of: f, m"),
        (ILL, "true or false"),
    ],
)
def test_what_an_attribute_is_compared_with(attribute: Attribute, clause: str) -> None:
    assert clause in values_of(attribute)


def test_a_kind_is_not_another() -> None:
    with pytest.raises(QueryError, match="sex is not a number"):
        number_in(Plain(SEX, 0))
    with pytest.raises(QueryError, match="a date is not a number"):
        number_in(Day(Code(0, 2)))
    with pytest.raises(QueryError, match="not true or false"):
        truth_in(Span(number(1)))
    with pytest.raises(QueryError, match="ill is not a date"):
        day_in(Plain(ILL, 0))
    with pytest.raises(QueryError, match="a date is needed"):
        day_in(number(1))
    with pytest.raises(QueryError, match="cannot be read"):
        read_number("nan")
    assert day_in(Words(("2000-01-01",))) == Day(Constant(dt.date(2000, 1, 1).toordinal()))
    assert number_in(Nothing()).constant is None
