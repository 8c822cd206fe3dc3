from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tetraodon.errors import LedgerError
from tetraodon.ledger.amount import MOST_DIGITS, amount, amount_from_text, amount_text, shown_above, shown_below

amounts = st.fractions(min_value=0)
# Up to the limit and in lowest terms or not: what a certificate may come up with.
long_amounts = st.builds(
    Fraction,
    st.integers(0, 10**MOST_DIGITS - 1),
    st.integers(1, 10**MOST_DIGITS - 1),
)


@given(amounts | long_amounts)
def test_text_loses_nothing(exact: Fraction) -> None:
    assert amount_from_text(amount_text(amount(exact, name="it"))) == exact


@pytest.mark.parametrize(
    "text",
    [
        "",
        "0.1",
        "-1",
        "1/0",
        "2/6",
        "+1",
        " 1",
        "1 ",
        "01",
        "1e3",
        "inf",
        "nan",
        "1/-3",
        "1/1",
        "٣",
        "1\n",
        pytest.param("9" * 5000, id="long"),
    ],
)
def test_text_that_we_would_not_write_is_damage(text: str) -> None:
    with pytest.raises(LedgerError, match="did not write"):
        amount_from_text(text)


def test_whole_numbers_are_amounts() -> None:
    assert amount(0, name="it") == 0
    assert type(amount(2, name="it")) is Fraction


@pytest.mark.parametrize("number", [0.1, 1.0, math.nan, True, "1/3", Decimal("0.1"), None])
def test_what_may_have_been_rounded_is_refused(number: object) -> None:
    with pytest.raises(LedgerError, match="the charge is not an exact number"):
        amount(number, name="the charge")


def test_infinite_is_refused_with_its_own_remedy() -> None:
    with pytest.raises(LedgerError, match=r"infinite.*Fix: change the policy or the plan"):
        amount(math.inf, name="the charge")


def test_negative_is_refused() -> None:
    with pytest.raises(LedgerError, match="negative"):
        amount(Fraction(-1, 10**9), name="the charge")


@pytest.mark.parametrize("exact", [Fraction(10**MOST_DIGITS), Fraction(1, 10**MOST_DIGITS)])
def test_too_long_to_print_is_refused(exact: Fraction) -> None:
    with pytest.raises(LedgerError, match="digits"):
        amount(exact, name="the charge")


@given(amounts | long_amounts)
def test_what_is_shown_errs_on_the_safe_side(exact: Fraction) -> None:
    assert Fraction(shown_below(exact)) <= exact <= Fraction(shown_above(exact))


def test_a_sum_too_long_to_print_can_still_be_shown() -> None:
    long = Fraction(1, 3**10000)
    assert shown_above(1 + long) == "1.000000000001"
    assert shown_below(1 - long) == "0.999999999999"
