"""A column names itself in every error, and never the value."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction

import pytest

from tetraodon.domain import Attribute, Booleans, Categories, Dates, Grid, Integers, Values
from tetraodon.errors import DomainError

MARKER = "Marker-Of-A-Person"
days = Dates(dt.date(2020, 1, 1), dt.date(2020, 1, 31))


@pytest.mark.parametrize(
    "attribute",
    [
        Attribute("income", Integers(0, 9)),
        Attribute("income", Grid(Fraction(0), Fraction(1), Fraction(1, 2))),
        Attribute("income", days),
        Attribute("income", Categories(("a", "b")), other=1),
        Attribute("income", Booleans(), other=1),
    ],
)
def test_an_error_names_the_attribute_and_not_the_value(attribute: Attribute) -> None:
    with pytest.raises(DomainError) as error:
        attribute.code(MARKER)
    assert error.value.where == "income"
    assert MARKER not in str(error.value)
    assert error.value.__cause__ is None
    assert error.value.__suppress_context__
    for code in (-1, attribute.size):
        with pytest.raises(DomainError, match="income"):
            attribute.value(code)
    assert attribute.code(attribute.value(attribute.size - 1)) == attribute.size - 1


@pytest.mark.parametrize(
    ("name", "values", "more", "what"),
    [
        ("", Integers(0, 1), {}, "no name"),
        ("a", Integers(0, 1), {"missing": 2}, "`missing` of a"),
        ("a", Integers(0, 1), {"missing": -1}, "`missing` of a"),
        ("a", Integers(0, 1), {"other": 2}, "`other` of a"),
        ("a", Categories(("x", "y")), {}, "does not say what stands for other"),
        ("a", Booleans(), {}, "does not say what stands for other"),
    ],
)
def test_attributes_that_are_none(name: str, values: Values, more: dict[str, int], what: str) -> None:
    with pytest.raises(DomainError, match=what):
        Attribute(name, values, **more)


@pytest.mark.parametrize(
    ("values", "ordered", "numeric", "step", "labels"),
    [
        (Integers(-1, 1), True, True, 1, ("-1", "0", "1")),
        (Grid(Fraction(0), Fraction(1, 5), Fraction(1, 10)), True, True, Fraction(1, 10), ("0", "0.1", "0.2")),
        (Dates(dt.date(2020, 2, 28), dt.date(2020, 2, 29)), True, False, 1, ("2020-02-28", "2020-02-29")),
        (Categories(("low", "high"), ordered=True), True, False, 1, ("low", "high")),
        (Categories(("b", "a")), False, False, 1, ("b", "a")),
        (Booleans(), False, False, 1, ("false", "true")),
    ],
)
def test_what_can_be_done_with_it(
    values: Values, ordered: bool, numeric: bool, step: Fraction, labels: tuple[str, ...]
) -> None:
    attribute = Attribute("a", values, other=0)
    assert (attribute.ordered, attribute.numeric, attribute.step, attribute.labels) == (ordered, numeric, step, labels)
    if values.ordered and not isinstance(values, Categories):
        assert attribute.number(1) - attribute.number(0) == step


def test_values_are_followed_by_the_unit_that_their_number_needs() -> None:
    hours = Attribute("work", Integers(0, 9), unit="hours a week")
    assert [hours.measured(code) for code in (0, 1, 2)] == ["0 hours a week", "1 hour a week", "2 hours a week"]
    family = Attribute("family", Integers(0, 9), unit="children", singular="child")
    assert [family.measured(code) for code in (1, 2)] == ["1 child", "2 children"]
    assert family.unit_of(Fraction(3, 2)) == "children"
    apart = Attribute("family", Integers(0, 9), missing=10, unit="children", separate=True)
    assert [apart.measured(code) for code in (9, 10)] == ["9 children", "missing"]
    assert Attribute("day", days, unit="in January").measured(0) == "2020-01-01 in January"
    assert Attribute("size", Integers(0, 9)).measured(1) == "1"
