"""A first draft holds names and kinds, never values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from tests.cli.conftest import MARKER, Run

MIXED = (
    "SELECT 4711 AS age, 'Ann-4711' AS name, 47.11 AS height, DATE '1947-11-11' AS born, true AS member, "
    "[4711] AS list, 4711::DECIMAL(9, 2) AS wage"
)


def test_a_draft_holds_no_value(run: Run, place: Path) -> None:
    run("init", "people.csv", "--out", "draft.yaml")
    text = (place / "draft.yaml").read_text()
    assert MARKER not in text
    assert "Female" not in text.replace("for example [Female, Male, other]", "")
    assert "age: {integer: [CONFIRM, CONFIRM]}" in text


@pytest.mark.parametrize("name", ["mixed.parquet", "mixed.duckdb#things", "mixed.csv", "mixed.csv.gz"])
def test_kinds_from_every_form_of_table(run_json: Callable[..., Any], place: Path, name: str) -> None:
    columns = MIXED if "csv" not in name else MIXED.replace(", [4711] AS list", "")
    if name.endswith("#things"):
        with duckdb.connect("mixed.duckdb") as connection:
            connection.execute(f"CREATE TABLE things AS {columns}")
    else:
        duckdb.sql(f"COPY ({columns}) TO '{name}'")
    found = run_json("init", name)
    assert {column["name"]: column["kind"] for column in found["columns"]} == {
        "age": "integer",
        "name": "text",
        "height": "real",
        "born": "date",
        "member": "boolean",
        "wage": "real",
    }
    assert found["left_out"] == ([] if "csv" in name else ["list"])
    assert found["dataset"] == ("things" if "#" in name else "mixed")
    text = (place / found["policy"]).read_text()
    assert "4711" not in text
    assert "1947" not in text


def test_semicolons_decimal_commas_and_latin_1(run_json: Callable[..., Any], place: Path) -> None:
    (place / "alt.csv").write_bytes("größe;straße\n1,75;Höhe\n1,80;\n".encode("latin-1"))
    assert run_json("init", "alt.csv")["columns"] == [
        {"name": "größe", "kind": "real"},
        {"name": "straße", "kind": "text"},
    ]


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
    assert "Left out, for their type cannot be released: ''." in run("init", "gap.csv").stdout


def test_a_file_without_a_header(run: Run, place: Path) -> None:
    (place / "blank.csv").write_text("")
    assert "no header" in run("init", "blank.csv", code=1).stderr
