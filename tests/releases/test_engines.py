"""A whole release on every engine: every kind of question has the same exact answer, and no address is written down."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.engine.tables import table as made_table
from tests.services import forms, needs_postgres, postgres

import tetraodon as td
from tetraodon.releases.counting import count

COLUMNS = {"age": "INTEGER", "sex": "VARCHAR", "income": "DOUBLE", "region": "VARCHAR"}


@pytest.mark.parametrize("form", forms("parquet", "csv", "ibis", "postgres", "spark"))
def test_every_question_has_the_same_answer(policy: td.Policy, table: pl.DataFrame, form: str, tmp_path: Path) -> None:
    plan = td.plan(policy)
    expected = count(plan, table)
    with made_table(form, tmp_path, COLUMNS, table.rows()) as source:
        found = count(plan, source)
    assert found.keys() == expected.keys()
    for name, arrays in expected.items():
        assert all(np.array_equal(a, b) for a, b in zip(arrays, found[name], strict=True)), name


@needs_postgres
def test_no_credentials_in_anything_that_is_written(
    policy: td.Policy, table: pl.DataFrame, ledger: td.Ledger, tmp_path: Path
) -> None:
    out, said = tmp_path / "release", io.StringIO()
    with made_table("postgres", tmp_path, COLUMNS, table.rows()) as source:
        plan = td.plan(policy)
        td.release(plan, source, ledger=ledger, out=out, progress=lambda stage: print(stage, file=said))
    secret = postgres().passwords["reader"]
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or secret.encode() not in path.read_bytes()
    assert secret not in said.getvalue() + repr(plan)
    assert td.load_release(out)["blocks"].to_polars()["count"].sum() == table.height
