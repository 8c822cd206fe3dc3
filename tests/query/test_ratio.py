"""Ratios of totals: intervals against the truth.

False alarms: `check_coverage` compares ten numbers with a quantile at 1e-10; it fails by chance with 1e-9 at most.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.query.released import answered, check_coverage

import tetraodon as td
from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.query.kinds import ratio

ITEMS: list[dict[str, Any]] = [
    {"name": "hourly", "ratio": ["pay", "hours"]},
    {"name": "by-sex", "ratio": ["pay", "hours"], "by": "sex"},
    {"name": "weighted", "ratio": ["hours", "pay"], "weight": "w", "by": "sex"},
]
DOMAIN = Domain((Attribute("pay", Integers(0, 9), unit="EUR"), Attribute("hours", Integers(1, 4), unit="h")))


def policy(**changes: Any) -> td.Policy:
    base = {
        "dataset": "d",
        "presence": "public",
        "attributes": {
            "pay": {"integer": [0, 9], "unit": "EUR"},
            "hours": {"integer": [1, 4], "unit": "h"},
            "sex": ["f", "m"],
            "w": {"integer": [1, 3]},
        },
        "secrets": {"pay": {"within": 2}, "sex": "public", "w": "public", "hours": "public"},
        "budget": {"epsilon": 3},
        "release": ITEMS,
    }
    return td.load_policy(base | changes)


def people(count: int) -> pl.DataFrame:
    rng = np.random.default_rng(4)
    hours = rng.integers(1, 5, count)
    pay = (2 * hours + rng.integers(-2, 2, count)).clip(0, 9)
    return pl.DataFrame({"pay": pay, "hours": hours, "sex": ["f", "m"] * (count // 2), "w": rng.integers(1, 4, count)})


@given(st.data())
def test_where_the_noise_is_within_its_reach_the_interval_holds_the_truth(data: st.DataObject) -> None:
    codes = np.array(data.draw(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3)), min_size=1, max_size=9)))
    reach = data.draw(st.tuples(st.integers(0, 20), st.integers(0, 20)))
    noise = tuple(data.draw(st.integers(-far, far)) for far in reach)
    query = ratio("pay", "hours")
    columns = query.columns(answered(query, DOMAIN, codes, noise, reach))  # type: ignore[arg-type]
    [lower], [value], [upper] = columns["lower"], columns["ratio"], columns["upper"]
    assert 0 <= lower <= value <= upper <= 9
    assert lower - 1e-9 <= codes[:, 0].sum() / (codes[:, 1] + 1).sum() <= upper + 1e-9


@pytest.mark.parametrize("presence", ["public", "secret"])
def test_intervals_cover(presence: str) -> None:
    table = people(60)
    parts = [table.filter(pl.col("sex") == sex) for sex in ("f", "m")]
    truth = {
        "hourly": [table["pay"].sum() / table["hours"].sum()],
        "by-sex": [part["pay"].sum() / part["hours"].sum() for part in parts],
        "weighted": [(part["hours"] * part["w"]).sum() / (part["pay"] * part["w"]).sum() for part in parts],
    }
    check_coverage(policy(presence=presence), table, truth)


def test_a_public_total_is_exact_whether_it_is_above_or_below() -> None:
    plan = td.plan(policy())
    for name in ("hourly", "by-sex", "weighted"):
        strategy = plan[name].strategy
        assert ["pay" in query.names for query in (*strategy.noisy, *strategy.exact)] == [True, False]


def test_it_is_released_verified_and_told(tmp_path: Path) -> None:
    ledger = f"sqlite:///{tmp_path / 'ledger.db'}"
    with td.Ledger(ledger) as book:
        book.open("d", 3, policy().document)
    td.release(td.plan(policy()), people(20), ledger=ledger, out=tmp_path / "out")
    assert all(check.passed for check in td.verify(tmp_path / "out"))
    again = td.load_release(tmp_path / "out")
    assert list(again["by-sex"].columns) == ["sex", "ratio", "lower", "upper"]
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "The sum of pay in EUR, divided by that of hours in h, for each sex." in page


def test_in_words() -> None:
    asked = ratio("pay", "hours", weight="w")
    assert asked.asked() == "ratio of pay to hours, weighted by w"
    assert asked.drawing(DOMAIN, ()).title == "ratio of pay to hours (EUR per h)"
    assert asked.off_by("3", "", DOMAIN) == "The sum of pay behind the ratio is typically off by 3 EUR."
    with pytest.raises(td.errors.QueryError, match="two different attributes"):
        ratio("pay", "pay")
