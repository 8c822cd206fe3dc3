"""Numbers in words: what is 'at most' is never rounded down."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tetraodon.display import listing, number_of
from tetraodon.domain import Attribute, Categories, Dates, Grid, Integers
from tetraodon.policy.words import chance, length, moves, odds, percent, times, valued

epsilons = st.fractions(Fraction(1, 1000), 40, max_denominator=1000)


@given(epsilons, st.integers(0, 10))
def test_odds_and_chances_are_the_formulas_rounded_up(epsilon: Fraction, steps: int) -> None:
    exact = odds(epsilon, steps)
    assert math.isclose(float(exact), math.exp(epsilon * steps), rel_tol=1e-12)
    said = Decimal(times(exact).replace(",", ""))
    assert exact <= said <= max(exact + Decimal("0.01"), exact * Decimal("1.1"))
    share = chance(epsilon, steps)
    assert math.isclose(float(share), 1 / (1 + math.exp(-epsilon * steps)), rel_tol=1e-12)
    assert share * 100 <= Decimal(percent(share)[:-1]) < share * 100 + Decimal("0.1")


def test_beyond_all_sense_nothing_is_computed() -> None:
    assert odds(Fraction(10**30), 10**12).is_infinite()
    assert chance(Fraction(10**30), 10**12) == 1
    assert moves(odds(Fraction(10**30), 10**12)) == moves(odds(Fraction(300), 1)) == "more than 1e+100 times"
    assert moves(odds(Fraction(1), 1)) == "at most 2.72 times"


@pytest.mark.parametrize(
    ("epsilon", "said"), [(6, "99.8%"), (7, "99.91%"), (12, "99.9994%"), (17, "99.999996%"), (50, "100%")]
)
def test_a_share_that_is_nearly_all_is_not_said_to_be_all(epsilon: int, said: str) -> None:
    assert percent(chance(Fraction(epsilon), 1)) == said


def test_lists() -> None:
    assert listing(["a"]) == "a"
    assert listing("abc") == "a, b and c"
    assert listing("abcdefghijk", most=3) == "a, b, c and 8 more"
    assert (number_of(1, "row"), number_of(3, "row")) == ("1 row", "3 rows")


@pytest.mark.parametrize(
    ("attribute", "said"),
    [
        (Attribute("a", Integers(0, 9), unit="USD"), "2 USD"),
        (Attribute("a", Grid(Fraction(0), Fraction(1), Fraction(1, 4))), "0.5"),
        (Attribute("a", Categories(("a", "b", "c"), ordered=True), other=0), "2 ranks"),
    ],
)
def test_lengths(attribute: Attribute, said: str) -> None:
    assert length(attribute, 2) == said


def test_days() -> None:
    days = Attribute("d", Dates(dt.date(2020, 1, 1), dt.date(2020, 1, 9)))
    assert (length(days, 1), length(days, 7)) == ("1 day", "7 days")


def test_values_have_names_where_there_are_several() -> None:
    age, loss = Attribute("age", Integers(0, 9)), Attribute("loss", Integers(0, 9), unit="USD")
    assert valued([loss], [3]) == "3 USD"
    assert valued([age, loss], [3, 4]) == "age 3, loss 4 USD"
    assert valued([age, loss], [3, 4], most=1) == "age 3, ..."
