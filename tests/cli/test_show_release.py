"""A release as people read it, and as programs do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.cli.conftest import Run
from tests.releases.made import release_with, silent

import tetraodon as td
from tetraodon.cli.release import show_release


@pytest.mark.usefixtures("released")
def test_the_shape_of_what_is_shown(run_json: Callable[..., Any]) -> None:
    found = run_json("show", "release", "--rows", "2")
    assert set(found) == {"dataset", "title", "date", "epsilon", "charged", "promise", "confidence", "answers"}
    assert found["confidence"] == 0.95
    for answer in found["answers"]:
        assert set(answer) == {"name", "kind", "mechanism", "rows", "columns"}
        assert all(len(column) <= 2 for column in answer["columns"].values())
        assert {"lower", "upper"} <= set(answer["columns"])
    assert len(run_json("show", "release", "--item", "ages")["answers"][0]["columns"]["count"]) == 148


@pytest.mark.usefixtures("released")
def test_pictures(run: Run) -> None:
    shown = run("show", "release", "--rows", "0").stdout
    female, male = (
        next(line for line in shown.splitlines() if line.startswith(f"  {sex}")) for sex in ("Female", "Male")
    )
    assert len(female) == len(male) == len("  Female ") + 72
    assert "age from 17 to 90" in shown
    assert "loss from 0 to 500" in shown
    assert "lower" not in shown


MANY = """\
dataset: many
presence: public
attributes: {age: {integer: [0, 9]}, on: boolean, born: {date: [2026-01-01, 2026-01-09]}}
budget: {epsilon: 100}
release:
  - {name: middle, quantiles: age}
  - {name: days, cdf: born, by: on}
  - {name: average, mean: age, by: on}
  - {name: named, ranges: {age: {young: [0, 4], old: [5, 9]}}}
  - {name: groups, histogram: age, bins: {age: [[0, 4], [5, 9]]}}
  - {name: some, count: "age > 3", by: on}
  - {name: each, count: all, by: age}
"""


def test_every_kind_of_answer_can_be_shown(run: Run, run_json: Callable[..., Any], place: Path) -> None:
    rows = "".join(f"{n % 10},{('true', 'false')[n % 2]},2026-01-0{n % 9 + 1}\n" for n in range(200))
    (place / "many.csv").write_text("age,on,born\n" + rows)
    (place / "many.yaml").write_text(MANY)
    run("ledger", "open", "many.yaml")
    run("release", "many.yaml", "many.csv")
    shown = run("show", "release").stdout
    for words in ("middle: quantiles of age", "born from 2026-01-01 to 2026-01-09", "  True ", "young", "0..4"):
        assert words in shown
    assert [answer["kind"] for answer in run_json("show", "release")["answers"]] == [
        "quantiles",
        "cdf",
        "mean",
        "ranges",
        "histogram",
        "count",
        "count",
    ]


def test_what_the_office_says_and_what_says_nothing_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    document = {
        "dataset": "few",
        "publisher": {"name": "An Office", "contact": "ask@office.example", "words": {"Contact": "Kontakt"}},
        "attributes": {"pay": {"integer": [0, 9]}},
        "budget": {"epsilon": 1},
        "release": [{"name": "pay", "mean": "pay", "title": "What people earn", "notes": "Before taxes."}],
    }
    release = release_with(td.load_policy(document), pl.DataFrame({"pay": [1]}).head(0), silent)
    show_release(release, list(release.values()), [], 5)
    shown = capsys.readouterr().out
    assert "An Office\nKontakt: ask@office.example\n" in shown
    assert "pay: What people earn" in shown
    assert "This number says nothing" in shown
    assert shown.rstrip().endswith("Before taxes.")


def test_shown_intervals_are_no_narrower_than_those_of_the_files(run: Run, place: Path) -> None:
    """Why  ends were rounded to the nearest, so that about half of them were moved inwards."""
    rows = "".join(f"{n % 10},{('true', 'false')[n % 2]},2026-01-0{n % 9 + 1}\n" for n in range(200))
    (place / "many.csv").write_text("age,on,born\n" + rows)
    listed = [f"  - {{name: m{n}, mean: age, where: 'age > {n % 5}'}}\n" for n in range(20)]
    (place / "many.policy.yaml").write_text(MANY.split("release:")[0] + "release:\n" + "".join(listed))
    run("ledger", "open", "many.policy.yaml")
    run("release", "many.policy.yaml", "many.csv", "--out", "many")
    for item in (f"m{n}" for n in range(20)):
        table = pl.read_csv(place / "many" / "answers" / f"{item}.csv").row(0, named=True)
        line = run("show", "many", "--item", item).stdout.splitlines()
        header = next(place for place, text in enumerate(line) if text.split()[:3] == ["mean", "lower", "upper"])
        _, lower, upper = (float(cell) for cell in line[header + 2].split()[:3])
        assert lower <= table["lower"]
        assert upper >= table["upper"]
