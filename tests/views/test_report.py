"""The report says what it must, and no name from a policy becomes HTML."""

from __future__ import annotations

from typing import Any

import pytest

from tests.views.test_publish import POLICY
from tetraodon.policy.load import load_policy
from tetraodon.views.exposure import Exposure
from tetraodon.views.plan import plan_view
from tetraodon.views.report import report_html, report_text


@pytest.mark.parametrize("kind", ["independent", "exclusive"])
@pytest.mark.parametrize("rows", ["repeated", "distinct"])
def test_page_and_text_say_the_same(kind: str, rows: str) -> None:
    adversary: dict[str, Any] = {**POLICY["adversary"], "kind": kind, "rows": rows}
    plan = plan_view(load_policy({**POLICY, "title": "<b>People</b>", "adversary": adversary}))
    found = Exposure(named=7, right=0.95, records=0.06, new=3, new_records=0.02)
    page, text = report_html(plan, 334, "2.31", found), report_text(plan, 334, "2.31", found)
    assert "<b>People" not in page
    assert "<script" not in page
    assert "can tell which" not in page + text
    for words in (
        "334 rows",
        "names 7 of its tuples",
        "95% of these",
        "2% of all records",
        "50% after",
        "Epsilon 2.31",
        "the paper",
        "10% of all",
    ):
        assert words in page
        assert words in text
