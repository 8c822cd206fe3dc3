"""A data set is opened with the numbers and policies that people have in hand."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import tetraodon as td
from tetraodon.errors import LedgerError
from tetraodon.ledger.amount import exact_amount

DOCUMENT: dict[str, Any] = {"dataset": "d", "attributes": {"x": ["a", "b"]}, "budget": {"epsilon": 1}}


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("12.35", Fraction(247, 20)),
        (0.5, Fraction(1, 2)),
        (0.1, Fraction(1, 10)),
        (Decimal("0.1"), Fraction(1, 10)),
        ("1/3", Fraction(1, 3)),
        (2, Fraction(2)),
        (Fraction(1, 3), Fraction(1, 3)),
    ],
)
def test_numbers_mean_what_was_written(tmp_path: Path, given: Any, meant: Fraction) -> None:
    assert exact_amount(given, "the total") == meant
    with td.Ledger(tmp_path / "l.db") as ledger:
        assert ledger.open("d", given, DOCUMENT).total == meant


@pytest.mark.parametrize("given", [-1, "-0.5", float("inf"), float("nan"), "much", True, None, "1e999999999", 10**1001])
def test_what_is_no_amount_is_refused(given: Any) -> None:
    with pytest.raises(LedgerError, match="the total"):
        exact_amount(given, "the total")


def test_delta_is_exact_too(tmp_path: Path) -> None:
    with td.Ledger(tmp_path / "l.db") as ledger:
        assert ledger.open("d", "12.35", DOCUMENT, delta=1e-6).delta == Fraction(1, 10**6)
        with pytest.raises(LedgerError, match="not a probability"):
            ledger.open("e", 1, DOCUMENT, delta=1)


def test_a_policy_its_path_and_its_document_do(tmp_path: Path) -> None:
    policy = td.load_policy(DOCUMENT)
    (tmp_path / "d.policy.yaml").write_text("dataset: d\nattributes: {x: [a, b]}\nbudget: {epsilon: 1}\n")
    given: list[Any] = [policy, policy.document, tmp_path / "d.policy.yaml", str(tmp_path / "d.policy.yaml")]
    for one in given:
        with td.Ledger(tmp_path / "l.db") as ledger:
            assert ledger.open("d", 1, one).policy == policy.document
    with td.Ledger(tmp_path / "l.db") as ledger, pytest.raises(td.errors.TetraodonError):
        ledger.open("d", 1, str(tmp_path / "missing.yaml"))
