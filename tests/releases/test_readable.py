"""A table that cannot be read as its policy says is refused before the charge; what becomes what is told in words."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import tetraodon as td
from tetraodon.engine import ColumnReport
from tetraodon.policy.policy import UNREADABLE
from tetraodon.releases.counting import Fitness, check_readable, fitness


def policy(attribute: Any, **more: Any) -> td.Policy:
    base = {"dataset": "d", "presence": "public", "budget": {"epsilon": 1}, "attributes": {"x": attribute}}
    return td.load_policy({**base, "release": [{"name": "q", "histogram": "x"}], **more})


def refused(made: td.Policy, values: list[Any], folder: Path) -> td.errors.DataRefusal | list[str]:
    """The refusal, after a look at the ledger; or what was warned of."""
    warned: list[str] = []
    with td.Ledger(f"sqlite:///{folder}/{len(list(folder.iterdir()))}.db") as ledger:
        ledger.open("d", 1, made)
        try:
            td.release(
                made, pl.DataFrame({"x": values}), ledger=ledger, out=folder / "out", force=True, warn=warned.append
            )
        except td.errors.DataRefusal as refusal:
            assert ledger.account("d").left == 1
            assert [one.kind for one in ledger.refusals("d")] == ["table-refused"]
            assert not (folder / "out").exists()
            return refusal
        assert ledger.account("d").left == 0
    return warned


DAYS = {"date": ["2026-01-01", "2026-12-31"]}
CASES = [
    (DAYS, ["18.01.2026"] * 100, r"format.*DD\.MM\.YYYY"),
    ({**DAYS, "missing": "2026-01-01"}, ["18.01.2026"] * 100, r"format.*DD\.MM\.YYYY"),
    ({"integer": [0, 50]}, [None] * 44 + [15] * 56, "`missing:`"),
    ({"integer": [0, 50]}, ["12 USD"] * 2 + ["15"] * 98, "how numbers are written"),
    (["f", "m"], [" m"] * 50 + ["f"] * 50, "`other:`.*trim"),
    ("boolean", ["perhaps"] * 50 + ["true"] * 50, "`other:`"),
]


@pytest.mark.parametrize(("attribute", "values", "fix"), CASES)
def test_what_would_be_wrong_in_silence_is_refused_before_the_charge(
    attribute: Any, values: list[Any], fix: str, tmp_path: Path
) -> None:
    found = refused(policy(attribute), values, tmp_path)
    assert isinstance(found, td.errors.DataRefusal)
    assert found.where == "x"
    assert re.search(fix, found.fix)
    assert not any(letter.isdigit() for letter in found.what)


@pytest.mark.parametrize(
    ("attribute", "values"),
    [
        ({**DAYS, "format": "DD.MM.YYYY"}, ["18.01.2026"] * 100),
        ({"integer": [0, 50], "missing": 0}, [None] * 44 + [15] * 56),
        ({"integer": [0, 50], "missing": 0}, ["NA"] * 44 + ["15"] * 56),
        ({"integer": [0, 50]}, [99] * 50 + [15] * 50),
        ({"categories": ["f", "m"], "other": "f"}, [" m"] * 50 + ["f"] * 50),
        ({"categories": ["f", "m"], "trim": "true"}, [" m"] * 50 + ["f"] * 50),
    ],
)
def test_what_is_written_down_is_released_without_a_word(attribute: Any, values: list[Any], tmp_path: Path) -> None:
    assert refused(policy(attribute), values, tmp_path) == []


def test_the_policy_sets_how_much_may_be_amiss(tmp_path: Path) -> None:
    values = [None] * 3 + [15] * 97
    assert isinstance(refused(policy({"integer": [0, 50]}), values, tmp_path), td.errors.DataRefusal)
    warned = refused(policy({"integer": [0, 50]}, table={"unreadable": "3%"}), values, tmp_path)
    assert isinstance(warned, list)
    assert len(warned) == 1
    assert "curator only" in warned[0]
    assert not any(letter.isdigit() for letter in warned[0])
    assert refused(policy({"integer": [0, 50]}, table={"unreadable": "100%"}), values, tmp_path) == []


def test_nothing_of_it_is_in_the_folder(tmp_path: Path) -> None:
    """Two tables that differ in what was unreadable, and not in what was counted, have the same files but for noise."""
    made = policy({"integer": [0, 9], "missing": 3}, table={"unreadable": "90%"}, secrets={"x": "public"})
    folders = []
    for place, values in enumerate((["3"] * 10, ["three"] * 5 + ["3"] * 5)):
        with td.Ledger(f"sqlite:///{tmp_path}/{place}.db") as ledger:
            ledger.open("d", 1, made)
            td.release(made, pl.DataFrame({"x": values}), ledger=ledger, out=tmp_path / f"out{place}")
        folders.append(json.loads((tmp_path / f"out{place}" / "release.json").read_text()))
    assert {key: value for key, value in folders[0].items() if key not in ("ledger", "files")} == {
        key: value for key, value in folders[1].items() if key not in ("ledger", "files")
    }


def test_the_share_is_compared_exactly() -> None:
    attribute = policy({"integer": [0, 50]}).domain["x"]
    assert Fitness(attribute, ColumnReport("x", 100, 1, 0, 99)).refusal(UNREADABLE) is None
    assert Fitness(attribute, ColumnReport("x", 100, 1, 1, 0)).refusal(UNREADABLE) is not None
    assert Fitness(attribute, ColumnReport("x", 0, 0, 0, 0)).refusal(UNREADABLE) is None


def test_all_columns_are_named_at_once() -> None:
    made = td.load_policy(
        {"dataset": "d", "attributes": {"x": {"integer": [0, 9]}, "y": ["a", "b"]}, "budget": {"epsilon": 1}}
    )
    reports = [ColumnReport("x", 10, 5, 0, 0), ColumnReport("y", 10, 0, 0, 5), ColumnReport("key", 10, 9, 0, 0)]
    with pytest.raises(td.errors.DataRefusal) as refusal:
        check_readable(made, fitness(made, reports))
    assert refusal.value.where == "x and y"


def test_decimals_where_whole_numbers_are_declared_are_mentioned_and_not_refused(tmp_path: Path) -> None:
    checked = td.check(policy({"integer": [0, 9]}), pl.DataFrame({"x": [1.0, 2.5, 3.0, 4.0]}))
    assert checked.becomes == ("x: 25.0% of the rows have decimals and count as the nearest whole number.",)
    assert not checked.refusals
    warned: list[str] = []
    with td.Ledger(tmp_path / "l.db") as ledger:
        ledger.open("d", 1, policy({"integer": [0, 9]}))
        td.release(
            td.plan(policy({"integer": [0, 9]})), pl.DataFrame({"x": [1.0, 2.5]}), ledger=ledger, warn=warned.append
        )
    assert "rounded to whole numbers" in warned[0]
