"""Numbers at the door are exact, and what is no number stays outside."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tetraodon.errors import PolicyError
from tetraodon.exact.rational import (
    ROUNDING,
    Number,
    confidence_level,
    decimal_text,
    exact_sum,
    log_rounded_up,
    probabilities,
    rational,
    rounded_up,
    stated_number,
)


@pytest.mark.parametrize(
    ("typed", "value"),
    [
        (0.1, Fraction(1, 10)),
        (1e-6, Fraction(1, 10**6)),
        (1e22, Fraction(10**22)),
        (-2.5, Fraction(-5, 2)),
        ("0.1", Fraction(1, 10)),
        (" 1e-6 ", Fraction(1, 10**6)),
        ("-1/3", Fraction(-1, 3)),
        ("1_000", Fraction(1000)),
        (".5", Fraction(1, 2)),
        (7, Fraction(7)),
        (2**200, Fraction(2**200)),
        (Decimal("0.30"), Fraction(3, 10)),
        (Fraction(2, 6), Fraction(1, 3)),
        (np.float64(0.1), Fraction(1, 10)),
        (np.int64(3), Fraction(3)),
        (np.uint8(255), Fraction(255)),
        (np.float32(0.1), Fraction(1, 10)),
    ],
)
def test_a_number_means_what_its_writer_meant(typed: Any, value: Fraction) -> None:
    found = rational(typed)
    assert found == value
    assert type(found) is Fraction
    assert type(found.numerator) is int


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_means_its_shortest_decimal(number: float) -> None:
    assert rational(number) == Fraction(repr(number))
    assert float(rational(number)) == number


@pytest.mark.parametrize(
    "typed",
    [
        True,
        None,
        float("nan"),
        float("inf"),
        -math.inf,
        "nan",
        "inf",
        "Infinity",
        "",
        "one",
        "1/0",
        "1e",
        "0x10",
        "1e999999999",
        "1e-999999999",
        "9" * 5000,
        "1 000",
        "1,5",
        Decimal("NaN"),
        Decimal("Infinity"),
        Decimal("1e999999999"),
        Decimal("0e-999999999"),
        "9" * 100_000_000,
        [1],
        1j,
        np.bool_(True),
    ],
)
def test_what_is_no_finite_number(typed: Any) -> None:
    with pytest.raises(PolicyError, match="epsilon is not a") as error:
        rational(typed, name="epsilon")
    assert error.value.__suppress_context__ or error.value.__context__ is None


@given(st.fractions())
def test_text_reads_back_as_the_same_number(number: Fraction) -> None:
    assert Fraction(decimal_text(number)) == number


@given(st.integers(-(10**20), 10**20), st.integers(0, 15))
def test_decimals_are_written_without_fractions_or_idle_zeros(digits: int, places: int) -> None:
    text = decimal_text(Fraction(digits, 10**places))
    assert "/" not in text
    assert "e" not in text.lower()
    if "." in text:
        assert not text.endswith("0")
        assert not text.startswith((".", "-."))


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (Fraction(-1, 20), "-0.05"),
        (Fraction(1, 2**15), "0.000030517578125"),
        (Fraction(1, 2**16), "1/65536"),
        (Fraction(2, 3), "2/3"),
        (Fraction(0), "0"),
        (Fraction(120), "120"),
    ],
)
def test_texts_by_hand(number: Fraction, text: str) -> None:
    assert decimal_text(number) == text


@given(st.fractions(), st.integers(0, 14))
def test_rounding_up_is_the_least_not_below(number: Fraction, digits: int) -> None:
    up = rounded_up(number, digits=digits)
    assert number <= up < number + Fraction(1, 10**digits)
    assert (up * 10**digits).denominator == 1


@given(st.fractions(min_value=1, max_value=10**9))
def test_a_logarithm_is_rounded_up_and_no_farther(ratio: Fraction) -> None:
    above = log_rounded_up(ratio)
    assert float(above) >= math.log(ratio) - 1e-13
    assert float(above) - math.log(ratio) < 2e-12
    assert (above * 10**12).denominator == 1


def test_a_ratio_below_one_has_no_loss() -> None:
    assert log_rounded_up(Fraction(1)) == 0
    with pytest.raises(PolicyError, match="below 1"):
        log_rounded_up(Fraction(1, 2))


def test_floats_that_sum_to_one_but_for_their_last_digits_are_probabilities() -> None:
    rows = np.random.default_rng(5).random((200, 7))
    for row in rows / rows.sum(axis=1, keepdims=True):
        exact = probabilities(row)
        assert exact_sum(exact) == 1
        assert max(abs(rational(was) - now) for was, now in zip(row, exact, strict=True)) <= ROUNDING
    assert probabilities([0.5, 0.4]) == (Fraction(1, 2), Fraction(2, 5)), "nothing else is repaired"
    assert exact_sum(probabilities(["0.5", "0.4999999999999999"])) < 1, "what is typed is meant"


@pytest.mark.parametrize("text", ["0", "-3", "12", "1/3", "-7/22", "0.125", "9" * 4000])
def test_what_our_files_state_is_read_as_it_is(text: str) -> None:
    assert stated_number(text) == Fraction(text)


@pytest.mark.parametrize(
    "text", ["1e999999999", "1e3", " 1", "+1", "1_0", "", "nan", "inf", "1/", "١", "9" * 10**8, None, 1, 0.5, ["1"]]
)
def test_what_our_files_would_never_state_is_refused_before_it_is_computed(text: object) -> None:
    with pytest.raises(ValueError, match="not an exact number"):
        stated_number(text)


def test_a_stated_number_over_nothing_is_an_error_of_arithmetic() -> None:
    with pytest.raises(ZeroDivisionError):
        stated_number("1/0")


@pytest.mark.parametrize("written", [95, "95", "95%", " 95 %".strip(), 0.95, "0.95", "19/20", Fraction(19, 20)])
def test_a_confidence_is_read_the_same_however_it_is_written(written: Number) -> None:
    assert confidence_level(written) == Fraction(19, 20)


@pytest.mark.parametrize("written", [0, 1, 100, "1", "100%", "0%", -5, 150, "x", "", "%"])
def test_what_is_no_confidence_is_refused(written: Number) -> None:
    """1 is refused: it may be meant as all, or as a hundredth."""
    with pytest.raises(PolicyError, match="Fix:"):
        confidence_level(written)


def test_a_hundredth_is_written_with_its_sign() -> None:
    assert confidence_level("1%") == Fraction(1, 100)
