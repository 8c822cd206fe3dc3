"""A draft from the names and kinds of columns, from every form of table with types."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pandas
import polars as pl
import pytest

import tetraodon as td
from tetraodon.policy.draft import table_columns

MIXED = (
    "SELECT 4711 AS age, 'Ann-4711' AS name, 47.11 AS height, DATE '1947-11-11' AS born, true AS member, "
    "[4711] AS list, 4711::DECIMAL(9, 2) AS wage"
)


@pytest.mark.parametrize("form", ["mixed.parquet", "mixed.duckdb#things", "frame"])
def test_kinds_from_every_form_of_table(tmp_path: Path, form: str) -> None:
    table: object = tmp_path / form
    if form == "frame":
        table = duckdb.sql(MIXED).pl()
    elif form.endswith("#things"):
        with duckdb.connect(str(tmp_path / "mixed.duckdb")) as connection:
            connection.execute(f"CREATE TABLE things AS {MIXED}")
    else:
        duckdb.sql(f"COPY ({MIXED}) TO '{table}'")
    found = td.init(table)
    assert dict(found.columns) == {
        "age": "integer",
        "name": "text",
        "height": "real",
        "born": "date",
        "member": "boolean",
        "wage": "real",
    }
    assert found.left_out == ("list",)
    assert found.dataset == {"mixed.parquet": "mixed", "frame": "data"}.get(form, "things")
    assert "4711" not in str(found)
    assert "1947" not in str(found)


def test_kinds_from_a_pandas_frame() -> None:
    born = pandas.to_datetime(["1947-11-11"])
    frame = pandas.DataFrame({"age": [47], "name": ["Ann"], 3: [1.5], "born": born, "member": [True], "z": [1j]})
    found = td.init(frame)
    assert found.columns == (
        ("age", "integer"),
        ("name", "text"),
        ("3", "real"),
        ("born", "date"),
        ("member", "boolean"),
    )
    assert found.left_out == ("z",)


def test_the_columns_of_a_csv_file_have_names_and_no_types(tmp_path: Path) -> None:
    (tmp_path / "alt.csv").write_text("größe;straße\n1,75;Höhe\n1,80;\n")
    assert td.init(tmp_path / "alt.csv").columns == (("größe", "unknown"), ("straße", "unknown"))


@pytest.mark.parametrize("body", ["", "1,2\n", "foo,2\n", '"1,2\n3,4,5,6\n', "\xff\n"])
def test_no_record_of_a_csv_file_changes_the_draft(body: str, tmp_path: Path) -> None:
    (tmp_path / "odd.csv").write_bytes(b"a,b\n" + body.encode("latin-1"))
    assert table_columns(str(tmp_path / "odd.csv")) == ([("a", "unknown"), ("b", "unknown")], [], ["a", "b"])


def test_a_draft_is_refused_until_it_is_filled_in(tmp_path: Path) -> None:
    draft = td.init(pl.DataFrame({"age": [30]}), dataset="people", out=tmp_path / "people.policy.yaml")
    assert repr(draft) == "<Draft people: 1 column, CONFIRM in 2 places>"
    assert (tmp_path / "people.policy.yaml").read_text(encoding="utf-8") == str(draft)
    with pytest.raises(td.errors.PolicyError, match="CONFIRM still stands here"):
        td.load_policy(tmp_path / "people.policy.yaml")
    assert td.load_policy(str(draft).replace("[CONFIRM, CONFIRM]", "[0, 120]")).domain.size == 122
    with pytest.raises(td.errors.PolicyError, match="exists"):
        draft.write(tmp_path / "people.policy.yaml")
    draft.write(tmp_path / "people.policy.yaml", force=True)


def test_a_draft_may_begin_with_presence_alone() -> None:
    draft = td.init(pl.DataFrame({"age": [30]}), promise="presence")
    policy = td.load_policy(str(draft).replace("[CONFIRM, CONFIRM]", "[0, 120]"))
    assert (policy.presence, policy.document["secrets"]) == ("secret", {"age": "public"})
    with pytest.raises(td.errors.PolicyError, match="no such promise"):
        td.init(pl.DataFrame({"age": [30]}), promise="none")  # type: ignore[arg-type]
