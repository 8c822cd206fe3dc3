"""What was typed, as the number or word that is wanted."""

from __future__ import annotations

from fractions import Fraction

import pytest
from pydantic_core import PydanticCustomError

from tetraodon.policy.section import exact, rows, share, shown, text, truth, whole


@pytest.mark.parametrize(
    ("typed", "number"),
    [("3", 3), ("0.1", Fraction(1, 10)), ("1e-6", Fraction(1, 10**6)), ("1/3", Fraction(1, 3)), (" 1_000 ", 1000)],
)
def test_numbers_mean_what_they_look_like(typed: str, number: Fraction) -> None:
    assert exact(typed) == number
    assert exact(Fraction(number)) == number


@pytest.mark.parametrize("typed", ["", ".", "nan", ".inf", "1e999", "1/0", "0x1", "1,5", "--1", "9" * 99, None, [], {}])
def test_what_is_no_number(typed: object) -> None:
    with pytest.raises(PydanticCustomError) as caught:
        exact(typed)
    assert caught.value.type == "tetraodon"


@pytest.mark.parametrize(
    ("read", "typed"),
    [
        (whole, "1.5"),
        (truth, "yes"),
        (truth, "True"),
        (text, ""),
        (text, " "),
        (text, None),
        (text, "a\nb"),
        (text, "a" * 201),
        (rows, "0"),
        (rows, "many rows"),
        (rows, "1000001"),
    ],
)
def test_what_is_refused(read, typed: object) -> None:
    with pytest.raises(PydanticCustomError):
        read(typed)


def test_what_is_read() -> None:
    assert (whole("4.0"), truth("true"), truth("false"), text("a b"), rows("3 rows"), rows("1 row")) == (
        4,
        True,
        False,
        "a b",
        3,
        1,
    )


@pytest.mark.parametrize(("typed", "found"), [("1%", "1/100"), ("0.5 %", "1/200"), ("0.02", "1/50"), ("100%", "1")])
def test_shares(typed: str, found: str) -> None:
    assert share(typed) == Fraction(found)


@pytest.mark.parametrize("typed", ["101%", "-1%", "2", "%", "much", []])
def test_what_is_no_share(typed: object) -> None:
    with pytest.raises(PydanticCustomError):
        share(typed)


def test_values_are_shown_cut_to_size() -> None:
    assert [shown("a" * 50), shown([]), shown({}), shown(None)] == [
        repr("a" * 40 + "..."),
        "a list",
        "a map",
        "nothing",
    ]
