"""Checking, explaining and the schema."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import MARKER, POLICY, Run


def test_the_shape_of_a_check(run_json: Callable[..., Any]) -> None:
    found = run_json("check", "people.policy.yaml")
    assert {key: found[key] for key in found if key != "queries"} == {
        "valid": True,
        "dataset": "people",
        "epsilon": 1,
        "epsilon_exact": "1",
        "table": None,
    }
    keys = {"name", "kind", "sensitivity", "sensitivity_exact", "method", "witness", "exact"}
    assert all(set(query) == keys for query in found["queries"])
    ages, losses, sexes, spent = found["queries"]
    assert (ages["kind"], ages["sensitivity"]) == ("histogram", 2)
    assert (losses["kind"], losses["sensitivity"], losses["exact"]) == ("cdf", 10, True)
    assert (sexes["sensitivity"], sexes["witness"]) == (0, None)
    first, second = spent["witness"]
    assert set(first) == {"age", "sex", "loss"}
    assert abs(first["loss"] - second["loss"]) == 10


def test_a_policy_that_is_not_valid(run_json: Callable[..., Any], run: Run, place: Path) -> None:
    (place / "bad.yaml").write_text(POLICY.replace("budget:", "buget:"))
    found = run_json("check", "bad.yaml", code=1)
    assert found["valid"] is False
    assert "did you mean 'budget'?" in " ".join(found["error"]["all"])
    assert "did you mean 'budget'?" in run("check", "bad.yaml", code=1).stderr


def test_random_bytes_are_no_policy(run_json: Callable[..., Any], place: Path) -> None:
    (place / "bad.yaml").write_bytes(bytes(range(256)) * 10)
    assert run_json("check", "bad.yaml", code=1)["error"]["type"] == "PolicyError"


LONG = "x" * 900_000
NAMES = {
    "dataset": lambda name: {"dataset": name},
    "title": lambda name: {"title": name},
    "attribute": lambda name: {"attributes": {name: {"integer": [0, 9]}}},
    "unit": lambda name: {"attributes": {"x": {"integer": [0, 9], "unit": name}}},
    "category": lambda name: {"attributes": {"x": ["a", name]}},
    "ordered": lambda name: {"attributes": {"x": {"ordered": [name, "a"]}}},
    "key": lambda name: {"individuals": {"key": name, "at most": 1}},
    "item": lambda name: {"release": [{"name": name, "histogram": "x"}]},
    "range": lambda name: {"release": [{"name": "q", "ranges": {"x": [{"name": name, "range": [0, 3]}]}}]},
    "asked": lambda name: {"release": [{"name": "q", "histogram": name}]},
    "known": lambda name: {"known": [{"table": name, "marginal": ["x"]}]},
}


@pytest.mark.parametrize("name", [LONG, "a\0b"], ids=["long", "nul"])
@pytest.mark.parametrize("kind", NAMES)
def test_names_that_nothing_can_hold_are_refused_in_words(kind: str, name: str, run: Run, place: Path) -> None:
    """Before anything is charged. A very long category was released, and the folder did not verify."""
    small = {"dataset": "d", "attributes": {"x": {"integer": [0, 9]}}, "budget": {"epsilon": 1}}
    (place / "odd.yaml").write_text(json.dumps({**small, **NAMES[kind](name)}))
    told = run("explain", "odd.yaml", code=1).stderr
    assert "Fix:" in told
    assert len(told) < 2000


@pytest.mark.parametrize("name", ["../../etc/x", "/etc/passwd", "..", "a\"b'c;--"])
@pytest.mark.parametrize("kind", ["dataset", "attribute", "category", "unit", "title"])
def test_names_like_paths_and_sql_are_names(kind: str, name: str, run: Run, place: Path) -> None:
    """They are released and verified, and nothing is written beside the folder and the ledger."""
    changed = NAMES[kind](name)
    column = next(iter(changed.get("attributes", {"x": 0})))
    small = {"dataset": "d", "presence": "public", "attributes": {"x": {"integer": [0, 9]}}, "budget": {"epsilon": 1}}
    release = [{"name": "q", "histogram": column}]
    (place / "odd.yaml").write_text(json.dumps({**small, "release": release, **changed}))
    cells = [column, name if kind == "category" else "1", "a" if kind == "category" else "2"]
    (place / "odd.csv").write_text("".join('"' + cell.replace('"', '""') + '"\n' for cell in cells))
    before = {path.name for path in place.iterdir()}
    run("ledger", "open", "odd.yaml")
    run("release", "odd.yaml", "odd.csv", "--out", "odd")
    run("verify", "odd")
    new = {path.name for path in place.iterdir()} - before
    assert {one for one in new if not one.startswith("tetraodon.")} == {"odd"}


def test_a_dry_run_is_for_the_curator_only(run: Run, run_json: Callable[..., Any], place: Path) -> None:
    (place / "odd.csv").write_text("age,sex,loss\n17,Male,3\n,Male,9999\nfour,Unknown,1\n200,Female,2\n")
    found = run_json("check", "people.policy.yaml", "odd.csv", code=1)["table"]
    assert [one["where"] for one in found.pop("refused")] == ["age", "sex"]
    assert found.pop("becomes") == [
        "age: 25.0% of the rows are missing and count as 17.",
        "age: 25.0% of the rows cannot be read and count as 17.",
        "age: 25.0% of the rows are beyond the ends and count as the nearer end.",
        "sex: 25.0% of the rows are not listed and count as Female.",
        "loss: 25.0% of the rows are beyond the ends and count as the nearer end.",
    ]
    assert found == {
        "curator_only": True,
        "columns": [
            {"name": "age", "rows": 4, "missing": 1, "unreadable": 1, "outside": 1},
            {"name": "sex", "rows": 4, "missing": 0, "unreadable": 0, "outside": 1},
            {"name": "loss", "rows": 4, "missing": 0, "unreadable": 0, "outside": 1},
        ],
    }
    refused = run("check", "people.policy.yaml", "odd.csv", code=1)
    assert "Fix:" in refused.stderr
    told = refused.stdout
    assert "For the curator only" in told
    assert "25.0% of the rows are missing and count as 17" in told
    assert "Do not publish" in told


def test_a_policy_without_items_can_be_checked(run: Run, place: Path) -> None:
    (place / "none.yaml").write_text(POLICY.partition("release:")[0])
    assert "Nothing is released yet" in run("check", "none.yaml").stdout
    assert "nothing to release" in run("plan", "none.yaml", code=1).stderr


def test_explain_is_the_promise(run: Run, run_json: Callable[..., Any]) -> None:
    from tetraodon.policy.explain import explain
    from tetraodon.policy.load import load_policy

    expected = explain(load_policy("people.policy.yaml"))
    assert run("explain", "people.policy.yaml").stdout.strip() == expected.text.strip()
    assert run_json("explain", "people.policy.yaml") == expected.document


def test_schema(run: Run, run_json: Callable[..., Any]) -> None:
    found = run_json("schema")
    assert found["$schema"].startswith("https://json-schema.org/")
    assert run("schema").stdout == run("schema", "--json").stdout


# -- init command ------------------------------------------------------------------------------------


def test_a_draft_holds_no_value(run: Run, place: Path) -> None:
    run("init", "people.csv", "--out", "draft.yaml")
    text = (place / "draft.yaml").read_text()
    assert MARKER not in text
    assert "Female" not in text.replace("for example [Female, Male, other]", "")
    assert "age: {integer: [CONFIRM, CONFIRM], missing: separate}" in text


def test_a_file_that_exists_stays_unless_forced(run: Run, place: Path) -> None:
    before = (place / "people.policy.yaml").read_text()
    assert "--force" in run("init", "people.csv", code=1).stderr
    assert (place / "people.policy.yaml").read_text() == before
    run("init", "people.csv", "--force")
    assert "CONFIRM" in (place / "people.policy.yaml").read_text()
    assert sorted(path.name for path in place.iterdir()) == ["people.csv", "people.policy.yaml"]


def test_a_folder_that_is_not_there(run: Run) -> None:
    assert "cannot be written" in run("init", "people.csv", "--out", "no/where.yaml", code=1).stderr


def test_a_column_without_a_name_is_left_out(run: Run, place: Path) -> None:
    (place / "gap.csv").write_text("age,,x\n1,2,3\n")
    assert "Left out: column 2 has no name." in run("init", "gap.csv").stdout
    (place / "gaps.csv").write_text("age,,x,\n1,2,3,4\n")
    assert "Left out: columns 2 and 4 have no name." in run("init", "gaps.csv").stdout


def test_columns_of_one_name_are_told(run: Run, place: Path) -> None:
    (place / "twice.csv").write_text("age,age\n1,2\n")
    told = run("init", "twice.csv").stdout
    assert "1 column, 2 places that say CONFIRM" in told
    assert "Columns 1 and 2 have the same name, age." in told


def test_blanks_in_names_are_told(run_json: Callable[..., Any], place: Path) -> None:
    (place / "blank.csv").write_text("age, sex,name \n1,2,3\n")
    assert run_json("init", "blank.csv")["notes"] == [
        "Blanks at an end are part of a name: ' sex' and 'name '. The policy file must have them too."
    ]
    assert '" sex":' in (place / "blank.policy.yaml").read_text()


def test_a_record_in_place_of_a_header_is_suspected(run: Run, place: Path) -> None:
    (place / "bare.csv").write_text("47.11,-3,1e5\n1,2,3\n")
    told = run("init", "bare.csv").stdout
    assert "All names are numbers." in told
    assert "delete this draft" in told
    (place / "years.csv").write_text("country,2025,2026\na,1,2\n")
    assert "numbers" not in run("init", "years.csv").stdout


def test_a_file_without_a_header(run: Run, place: Path) -> None:
    (place / "blank.csv").write_text("")
    assert "no header" in run("init", "blank.csv", code=1).stderr


def test_a_draft_from_metadata_keeps_every_placeholder(run: Run, place: Path) -> None:
    (place / "smart.yaml").write_text("db: {people: {age: {type: int, lower: 0, upper: 99}, sex: {type: string}}}")
    assert "Wrote people2.yaml: 2 columns, 5 places that say CONFIRM." in (
        run("init", "--from", "smart.yaml", "--out", "people2.yaml").stdout
    )
    assert "the metadata say from 0 to 99" in (place / "people2.yaml").read_text()
    assert "CONFIRM still stands here" in run("check", "people2.yaml", code=1).stderr
    for wrong in (("init",), ("init", "people.csv", "--from", "smart.yaml"), ("init", "--from", "none.yaml")):
        assert "Fix:" in run(*wrong, code=2).stderr


def test_a_draft_may_promise_presence_alone(run: Run, place: Path) -> None:
    run("init", "people.csv", "--promise", "presence", "--out", "draft.yaml")
    assert "\nsecrets: none but presence\n" in (place / "draft.yaml").read_text()
    assert "everything or presence" in run("init", "people.csv", "--promise", "all", code=2).stderr
