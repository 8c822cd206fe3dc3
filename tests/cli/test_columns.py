"""Names and kinds of columns, from every form of table."""

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


def test_a_file_that_types_cannot_be_guessed_from_is_text(place: Path) -> None:
    (place / "odd.csv").write_text('a,b\n"1,2\n3,4,5,6\n')
    assert table_columns("odd.csv") == ([("a", "text"), ("b", "text")], [], ["a", "b"])
