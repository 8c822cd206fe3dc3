"""Asking a release or a view from the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.cli.conftest import Run

from tetraodon.cli.release import answer_in_words
from tetraodon.inference.estimate import Estimate


@pytest.mark.usefixtures("released")
def test_the_shape_of_an_answer(run_json: Callable[..., Any]) -> None:
    found = run_json("ask", "release", "age between 30 and 39")
    assert set(found) == {"condition", "item", "value", "lower", "upper", "confidence"}
    assert found["item"] == "ages"
    assert found["lower"] <= found["value"] <= found["upper"]


@pytest.mark.usefixtures("released")
@pytest.mark.parametrize("condition", ["agee > 3", "age >", "age = 'x", "age > 3 and loss > 3", "1 = 1; drop"])
def test_conditions_that_cannot_be_answered(run: Run, condition: str) -> None:
    assert "Fix:" in run("ask", "release", condition, code=1).stderr


@pytest.mark.usefixtures("released")
def test_all_records_can_be_asked_for(run: Run) -> None:
    assert run("ask", "release", "true").stdout.startswith("exactly ")
    assert run("ask", "release", "1 = 1").stdout.startswith("exactly ")


def test_answers_in_words() -> None:
    assert answer_in_words(Estimate(12964.6, 12854.2, 13103.5).of("ages")) == (
        "about 12,965 (95%: 12,854 to 13,104), from 'ages'"
    )
    assert answer_in_words(Estimate.certain(5).of("sexes")) == "exactly 5, from 'sexes'"
    assert answer_in_words(Estimate(0, 0, 0).of("ages")) == "about 0 (95%: 0 to 0), from 'ages'"  # cut off at zero
    assert answer_in_words(Estimate(3.51, 1, 5).of("people")) == "about 3.51 (95%: 1.00 to 5.00), from 'people'"


@pytest.fixture
def view(place: Path) -> Path:
    folder = place / "view"
    folder.mkdir()
    ages = list(range(20, 40)) * 2
    pl.DataFrame({"age": ages, "sex": ["f", "m"] * 20}).write_parquet(folder / "tuples.parquet")
    attributes = {"age": {"integer": [20, 39]}, "sex": {"categories": ["f", "m"], "other": "f"}}
    manifest = {
        "tetraodon_view": 1,
        "name": "people",
        "policy": {"dataset": "people", "attributes": attributes, "budget": {"epsilon": 12}},
        "channel": {"rows": "repeated", "keep": "1/2", "noise": "1/101"},
        "rows": "tuples.parquet",
        "n": None,
        "public": {},
    }
    (folder / "view.json").write_text(json.dumps(manifest))
    return folder


@pytest.mark.usefixtures("view")
def test_a_view_answers(run: Run, run_json: Callable[..., Any]) -> None:
    found = run_json("ask", "view", "age < 30")
    assert set(found) == {"condition", "item", "value", "lower", "upper", "confidence"}
    assert (found["item"], found["value"]) == ("people", pytest.approx(2 * (20 - 0.2)))
    wide = run_json("ask", "view", "select count(*) from people where age < 30", "--confidence", "0.99")
    assert wide["confidence"] == 0.99
    assert wide["lower"] <= found["lower"] <= found["upper"] <= wide["upper"]
    assert "95%" in run("ask", "view", "age < 30").stdout
    assert "99%" in run("ask", "view", "age < 30", "--confidence", "0.99").stdout


@pytest.mark.usefixtures("view")
def test_groups(run: Run, run_json: Callable[..., Any]) -> None:
    found = run_json("ask", "view", "select sex, count(*) from people group by sex")
    assert set(found) == {"condition", "item", "groups"}
    assert [group["group"] for group in found["groups"]] == [["f"], ["m"]]
    assert set(found["groups"][0]) == {"group", "value", "lower", "upper", "confidence"}
    shown = run("ask", "view", "select sex, age, count(*) from people group by sex, age").stdout
    assert "f, 20" in shown
    rows = run_json("ask", "view", "select count(*) as n, avg(age) from people group by sex order by n desc limit 1")
    assert [set(group) for group in rows["groups"]] == [{"group", "row"}]
    assert set(rows["groups"][0]["row"]) == {"n", "avg(age)"}
    assert "avg(age) about" in run("ask", "view", "select sex, count(*) as n, avg(age) from people group by sex").stdout
    assert "count(*)" in run("ask", "view", "select count(*), avg(age) from people").stdout


@pytest.mark.usefixtures("released")
def test_groups_of_a_release(run: Run, run_json: Callable[..., Any]) -> None:
    table = run_json("show", "release")["dataset"]
    found = run_json("ask", "release", f'select age, count(*) n from "{table}" where age < 30 group by age limit 3')
    assert (found["item"], len(found["groups"])) == ("ages", 3)
    first = run_json("ask", "release", f"age = {found['groups'][0]['group'][0]}")
    assert {key: found["groups"][0][key] for key in ("value", "lower")} == {
        key: first[key] for key in ("value", "lower")
    }
    assert "counts only" in run("ask", "release", f'select avg(age) from "{table}"', code=1).stderr


@pytest.mark.usefixtures("view", "released")
def test_wrong_use(run: Run, run_json: Callable[..., Any]) -> None:
    assert "empty" in run("ask", "view", " ", code=2).stderr
    assert "--sample" in run("ask", "release", "age < 30", "--sample", "5", code=2).stderr
    sure = [run_json("ask", "release", "age < 30", "--confidence", level) for level in ("0.9", "99%", "95")]
    assert [one["confidence"] for one in sure] == [0.9, 0.99, 0.95]
    assert sure[2] == run_json("ask", "release", "age < 30")
    assert sure[1]["lower"] <= sure[2]["lower"] <= sure[0]["lower"] < sure[0]["upper"] <= sure[2]["upper"]
    assert "between 0 and 100%" in run("ask", "release", "age < 30", "--confidence", "200", code=1).stderr
    assert "not a public table" in run("ask", "view", "sex in (select x from y)", code=1).stderr
