"""A first draft holds names and kinds, never values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.cli.conftest import MARKER, Run


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
