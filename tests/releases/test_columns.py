"""Answers as columns: natural types, one row per answer, intervals around every number."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.releases.made import release_with, silent

import tetraodon as td

POLICY = {
    "tetraodon": 1,
    "dataset": "types",
    "presence": "public",
    "attributes": {
        "day": {"date": ["2020-02-27", "2020-03-02"]},
        "size": {"real": [0, 1], "step": "0.25"},
        "ok": "boolean",
        "grade": {"ordered": ["low", "middle", "high"]},
    },
    "budget": {"epsilon": 1},
    "release": [
        {"name": "days", "cdf": "day"},
        {"name": "sizes", "ranges": "size"},
        {"name": "oks", "count": "all", "by": ["ok"]},
        {"name": "grades", "quantiles": "grade", "bounds": True, "at": [0.5], "by": "ok"},
        {"name": "named", "ranges": {"grade": {"fair": ["low", "middle"], "top": ["high", "high"]}}, "by": "ok"},
        {"name": "everybody", "count": "all"},
    ],
}
TABLE = pl.DataFrame(
    {
        "day": [dt.date(2020, 2, 29), dt.date(2020, 3, 1), dt.date(2020, 3, 1), dt.date(2020, 2, 27)],
        "size": [0.25, 0.5, 1.0, 0.0],
        "ok": [True, False, True, True],
        "grade": ["high", "low", "middle", "low"],
    }
)


def test_each_kind_has_its_columns() -> None:
    release = release_with(td.load_policy(POLICY), TABLE, silent)
    days = release["days"].to_polars()
    assert days["day"].to_list() == [dt.date(2020, 2, 27) + dt.timedelta(days=d) for d in range(5)]
    np.testing.assert_allclose(days["at_most"].to_numpy(), [1, 1, 2, 4, 4], atol=1e-9)
    assert release["sizes"].to_polars()["size"].to_list() == [0, 0.25, 0.5, 0.75, 1]
    oks = release["oks"].to_polars()
    assert dict(zip(oks["ok"], oks["count"].round(6), strict=True)) == {False: 1.0, True: 3.0}
    grades = release["grades"].to_polars()
    assert dict(zip(grades["ok"], grades["grade"], strict=True)) == {False: "low", True: "middle"}
    named = release["named"].to_polars()
    assert named.columns == ["ok", "range", "low", "high", "count", "lower", "upper", "measured"]
    np.testing.assert_allclose(named["count"].to_numpy(), [1, 0, 2, 1], atol=1e-9)
    everybody = release["everybody"].to_polars()
    assert everybody.row(0) == (4.0, 4.0, 4.0)  # the number of records is public


def test_intervals_hold_their_estimates() -> None:
    rng = np.random.default_rng(3)
    release = release_with(td.load_policy(POLICY), TABLE, lambda shape: rng.integers(-20, 20, shape))
    for answer in release.values():
        columns = answer.columns
        number = next((columns[word] for word in ("count", "at_most") if word in columns), None)
        if number is not None:
            assert (columns["lower"] <= number).all()
            assert (number <= columns["upper"]).all()


def test_an_attribute_may_be_called_like_an_answer() -> None:
    policy = td.load_policy(
        {
            "tetraodon": 1,
            "dataset": "names",
            "presence": "public",
            "attributes": {"count": {"integer": [1, 3]}, "lower": ["a", "b"]},
            "budget": {"epsilon": 1},
            "release": [
                {"name": "h", "histogram": ["count", "lower"]},
                {"name": "q", "quantiles": "count", "bounds": True, "at": [0.5]},
            ],
        }
    )
    release = release_with(policy, pl.DataFrame({"count": [1, 3, 3], "lower": ["a", "b", "b"]}), silent)
    assert release["h"].to_polars().columns == ["count_value", "lower_value", "count", "lower", "upper", "measured"]
    assert release["q"].to_polars()["count_value"].to_list() == [3]


def test_a_weighted_mean_and_a_histogram_by_an_attribute() -> None:
    policy = td.load_policy(
        {
            "tetraodon": 1,
            "dataset": "weights",
            "presence": "public",
            "attributes": {"x": {"integer": [0, 10]}, "w": {"real": [0, 2], "step": "0.5"}, "s": ["a", "b"]},
            "secrets": {"w": "public", "s": "public"},
            "budget": {"epsilon": 1},
            "release": [
                {"name": "m", "mean": "x", "weight": "w", "by": "s"},
                {"name": "h", "histogram": ["x"], "by": "s"},
            ],
        }
    )
    table = pl.DataFrame({"x": [2, 4, 9], "w": [0.5, 1.5, 2.0], "s": ["a", "a", "b"]})
    release = release_with(policy, table, silent)
    assert release["m"].to_polars()["mean"].to_list() == [3.5, 9.0]
    assert release["h"].to_polars().columns[:2] == ["x", "s"] or release["h"].to_polars().columns[:2] == ["s", "x"]
    assert td.sensitivity(policy, td.mean("x", weight="w")).value == 20
    assert td.load_policy(policy.document) == policy


def test_a_weight_that_can_be_negative_cannot_weigh_a_mean() -> None:
    attributes = {"x": {"integer": [0, 10]}, "w": {"integer": [-1, 1]}}
    policy = td.load_policy({**POLICY, "attributes": attributes, "release": []})
    with pytest.raises(td.QueryError, match="negative"):
        td.sensitivity(policy, td.mean("x", weight="w"))


def test_no_interval_of_a_count_begins_below_zero(tmp_path: Path) -> None:
    """Where counts are published as they were estimated, noise takes some below zero, and no count can be there."""
    policy = td.load_policy(
        {
            "dataset": "d",
            "attributes": {"x": ["a", "b", "c"], "age": {"integer": [0, 9]}, "y": {"integer": [0, 3]}},
            "budget": {"epsilon": "0.5"},
            "release": [
                {"name": "xs", "histogram": "x", "whole": False},
                {"name": "ages", "cdf": "age", "whole": False},
                {"name": "boxes", "rectangles": ["age", "y"]},
                {"name": "few", "count": "x = 'a' and age > 7", "whole": False},
            ],
        }
    )
    table, below = pl.DataFrame({"x": ["a", "b"], "age": [1, 2], "y": [0, 1]}), 0
    with td.Ledger(tmp_path / "ledger.db") as book:
        book.open("d", 50, policy)
        for _ in range(6):
            made = td.release(td.plan(policy), table, ledger=book)
            asked = [made.ask(f"x = '{x}'") for x in "abc"] + [made["ages"].between(low, 9) for low in (5, 8)]
            below += sum(one < 0 for one in asked)
            assert all(0 <= one.lower <= one.upper for one in asked)
            assert all(answer.columns["lower"].min() >= 0 for answer in made.values())
    assert below
