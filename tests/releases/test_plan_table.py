"""A plan as a table of texts."""

from __future__ import annotations

from tests.releases.conftest import POLICY

import tetraodon as td
from tetraodon.releases.planning import PLAN_HEADS, error_in_words, plan_rows


def test_every_item_has_a_row_with_its_own_figures() -> None:
    plan = td.plan(POLICY)
    rows = {row[0]: dict(zip(PLAN_HEADS, row, strict=False)) for row in plan_rows(plan)}
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


def test_what_items_make_of_each_other_is_a_column_where_there_is_such() -> None:
    items = [{"name": "ages", "histogram": ["age"]}, {"name": "both", "histogram": ["age", "sex"]}]
    plan, alone = (td.plan({**POLICY, "release": listed}) for listed in (items, items[:1]))
    told = td.joint_errors(plan)
    assert [row[PLAN_HEADS.index("together")] for row in plan_rows(plan)] == [
        error_in_words(told[item.name], "") for item in plan
    ]
    assert [len(row) for row in plan_rows(alone)] == [len(PLAN_HEADS) - 1]
