"""A first draft holds names and kinds, never values."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import MARKER, Run


def test_a_draft_holds_no_value(run: Run, place: Path) -> None:
    run("init", "people.csv", "--out", "draft.yaml")
    text = (place / "draft.yaml").read_text()
    assert MARKER not in text
    assert "Female" not in text.replace("for example [Female, Male, other]", "")
    assert "age: {integer: [CONFIRM, CONFIRM]}" in text


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
    assert "Left out, for they have no name: 1 column." in run("init", "gap.csv").stdout


def test_columns_of_one_name_are_told(run: Run, place: Path) -> None:
    (place / "twice.csv").write_text("age,age\n1,2\n")
    told = run("init", "twice.csv").stdout
    assert "1 column, 2 places that say CONFIRM" in told
    assert "Several columns have the same name: age." in told


def test_a_file_without_a_header(run: Run, place: Path) -> None:
    (place / "blank.csv").write_text("")
    assert "no header" in run("init", "blank.csv", code=1).stderr
