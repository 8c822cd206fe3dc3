"""Errors as people state them, in files and on the command line."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

import tetraodon as td
from tetraodon.policy.publication import ErrorTarget, error_target

BASE: dict[str, Any] = {
    "dataset": "d",
    "attributes": {"pay": {"integer": [0, 99], "unit": "EUR"}},
    "budget": {"epsilon": 1},
}


def target(written: Any, **item: Any) -> ErrorTarget | None:
    asks = item or {"histogram": "pay"}
    return td.load_policy({**BASE, "release": [{"name": "i", **asks, "error": written}]}).items[0].error


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("50", ErrorTarget(Fraction(50))),
        (50, ErrorTarget(Fraction(50))),
        (0.5, ErrorTarget(Fraction(1, 2))),
        ("5% from 1000", ErrorTarget(Fraction(1, 20), Fraction(1000))),
        ({"within": "5%", "from": 1000}, ErrorTarget(Fraction(1, 20), Fraction(1000))),
        ({"within": 3, "confidence": 99}, ErrorTarget(Fraction(3), confidence=Fraction(99, 100))),
        ({"within": 3, "confidence": "99%"}, ErrorTarget(Fraction(3), confidence=Fraction(99, 100))),
        ({"within": 3, "confidence": 0.99}, ErrorTarget(Fraction(3), confidence=Fraction(99, 100))),
    ],
)
def test_forms(written: Any, meant: ErrorTarget) -> None:
    assert target(written) == meant
    policy = td.load_policy({**BASE, "release": [{"name": "i", "histogram": "pay", "error": written}]})
    assert td.load_policy(policy.document) == policy
    assert policy.document["release"][0]["error"] == meant.document()
    if not isinstance(written, dict):
        assert error_target(written) == meant


@pytest.mark.parametrize(
    ("written", "told"),
    [
        (0, "not positive"),
        (-1, "not positive"),
        ("much", "not a finite number"),
        ("5%", "of which answers"),
        ("5 from 1000", "without a share"),
        ("5% from 0", "`from` is not positive"),
        ({"within": 5, "of": 3}, "'of' is not known here"),
        ({"within": 5, "records": 0}, "`records` is not positive"),
        ({"within": 5, "confidence": 100}, "between 0 and 100%"),
        ("5 % of 3", "how large an error"),
        ([5], "Fix:"),
    ],
)
def test_what_is_no_error_is_refused(written: Any, told: str) -> None:
    with pytest.raises(td.errors.PolicyError, match=told):
        target(written)


@pytest.mark.parametrize("written", ["5%", "5 from 3", "x", "0", "", "1e999999999"])
def test_typed_ones_too(written: str) -> None:
    with pytest.raises(td.errors.PolicyError, match="Fix:"):
        error_target(written)


def test_a_mean_needs_to_know_how_many_records_there_are() -> None:
    with pytest.raises(td.errors.PolicyError, match="how many records it is over"):
        target(0.5, mean="pay")
    found = target({"within": 0.5, "records": 5000}, mean="pay")
    assert found == ErrorTarget(Fraction(1, 2), records=5000)


def test_what_it_leaves_open() -> None:
    filled = ErrorTarget(Fraction(1)).filled(30, Fraction(9, 10))
    assert filled == ErrorTarget(Fraction(1), None, 30, Fraction(9, 10))
    assert filled.filled(40, Fraction(1, 2)) == filled
    assert (ErrorTarget(Fraction(1, 20), Fraction(1000)).allowed, ErrorTarget(Fraction(3)).allowed) == (50, 3)
