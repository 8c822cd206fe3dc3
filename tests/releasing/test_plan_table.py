"""A plan as a table of texts."""

from __future__ import annotations

from tests.releasing.conftest import POLICY

import tetraodon as td
from tetraodon.releasing.plan_table import PLAN_HEADS, error_in_words, plan_rows


def test_every_item_has_a_row_with_its_own_figures() -> None:
    plan = td.plan(POLICY)
    rows = {row[0]: dict(zip(PLAN_HEADS, row, strict=True)) for row in plan_rows(plan)}
    assert list(rows) == [item.name for item in plan]
    assert rows["blocks"]["expected error"] == "none"
    assert rows["blocks"]["ratio"] == "∞"
    assert rows["pay"]["what is asked"] == "sum of income by sex"
    assert rows["pay"]["expected error"] == error_in_words(plan["pay"].expected_error, "kEUR")


def test_errors() -> None:
    assert [error_in_words(e, "USD") for e in (0, 0.012345, 12.5, 12345.6)] == [
        "none",
        "±0.0123 USD",
        "±12.5 USD",
        "±12,346 USD",
    ]
