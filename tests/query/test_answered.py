"""Columns of values, in the order of the cells of a table."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction

import pytest

from tetraodon.domain import Attribute, Booleans, Categories, Dates, Domain, Grid, Integers, Values
from tetraodon.query.linear import Split
from tetraodon.query.query import attribute_values, column_name, labels

DOMAIN = Domain((Attribute("x", Integers(1, 2)), Attribute("count", Categories(("a", "b")), other=0)))


def test_each_attribute_has_a_column_and_none_is_called_like_an_answer() -> None:
    found = labels((Split("x"), Split("count")), DOMAIN, extra=2)
    assert {name: column.tolist() for name, column in found.items()} == {
        "x": [1, 1, 1, 1, 2, 2, 2, 2],
        "count_value": ["a", "a", "b", "b", "a", "a", "b", "b"],
    }
    assert column_name("median") == "median"
    assert column_name("median", beside="median") == "median_value"


def test_bins_are_named_or_numbered() -> None:
    found = [labels((Split("x", (1, 0), names),), DOMAIN)["x"].tolist() for names in (("low", "high"), ())]
    assert found == [["low", "high"], ["bin 0", "bin 1"]]


@pytest.mark.parametrize(
    ("values", "listed"),
    [
        (Integers(3, 5), [3, 4, 5]),
        (Integers(2**62, 2**62 + 1), [2**62, 2**62 + 1]),
        (Grid(Fraction(0), Fraction(1), Fraction(1, 2)), [0.0, 0.5, 1.0]),
        (Dates(dt.date(2020, 2, 28), dt.date(2020, 2, 29)), [dt.date(2020, 2, 28), dt.date(2020, 2, 29)]),
        (Booleans(), [False, True]),
    ],
)
def test_values_have_their_natural_type(values: Values, listed: list[object]) -> None:
    assert attribute_values(Attribute("x", values, other=0)).tolist() == listed
