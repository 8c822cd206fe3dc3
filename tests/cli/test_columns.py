"""Names and kinds of columns, from every form of table with types."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tetraodon.cli.columns import table_columns

MIXED = (
    "SELECT 4711 AS age, 'Ann-4711' AS name, 47.11 AS height, DATE '1947-11-11' AS born, true AS member, "
    "[4711] AS list, 4711::DECIMAL(9, 2) AS wage"
)


@pytest.mark.parametrize("name", ["mixed.parquet", "mixed.duckdb#things"])
def test_kinds_from_every_form_of_table(run_json: Callable[..., Any], place: Path, name: str) -> None:
    if name.endswith("#things"):
        with duckdb.connect("mixed.duckdb") as connection:
            connection.execute(f"CREATE TABLE things AS {MIXED}")
    else:
        duckdb.sql(f"COPY ({MIXED}) TO '{name}'")
    found = run_json("init", name)
    assert {column["name"]: column["kind"] for column in found["columns"]} == {
        "age": "integer",
        "name": "text",
        "height": "real",
        "born": "date",
        "member": "boolean",
        "wage": "real",
    }
    assert found["left_out"] == ["list"]
    assert found["dataset"] == ("things" if "#" in name else "mixed")
    text = (place / found["policy"]).read_text()
    assert "4711" not in text
    assert "1947" not in text


def test_the_columns_of_a_csv_file_have_names_and_no_types(run_json: Callable[..., Any], place: Path) -> None:
    (place / "alt.csv").write_text("größe;straße\n1,75;Höhe\n1,80;\n")
    assert run_json("init", "alt.csv")["columns"] == [
        {"name": "größe", "kind": "unknown"},
        {"name": "straße", "kind": "unknown"},
    ]


@pytest.mark.parametrize("body", ["", "1,2\n", "foo,2\n", '"1,2\n3,4,5,6\n', "\xff\n"])
def test_no_record_of_a_csv_file_changes_the_draft(body: str, place: Path) -> None:
    (place / "odd.csv").write_bytes(b"a,b\n" + body.encode("latin-1"))
    assert table_columns("odd.csv") == ([("a", "unknown"), ("b", "unknown")], [], ["a", "b"])
