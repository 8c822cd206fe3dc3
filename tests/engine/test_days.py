"""Days as they are written, read by DuckDB and by the calendar; others are asked in test_conformance_of_days.py."""

from __future__ import annotations

import datetime as dt

import duckdb
import pytest
from sqlglot import exp

from tetraodon.engine.column import Column, Kind
from tetraodon.engine.dialect import name, selected
from tetraodon.engine.duckdb_source import DUCKDB
from tetraodon.engine.expressions import EPOCH, days
from tetraodon.errors import TableError


def read(text: str, form: str) -> int | None:
    query = selected(
        {"day": days(Column("d", "d", Kind.TEXT, "text"), name("d"), DUCKDB, form)},
        exp.Table(this=exp.Var(this=f"(SELECT '{text}' AS d)")),
    )
    return duckdb.execute(DUCKDB.text(query)).fetchone()[0]  # type: ignore[index,no-any-return]


@pytest.mark.parametrize(
    ("text", "form", "day"),
    [
        ("2026-01-18", "", dt.date(2026, 1, 18)),
        ("2026-01-18T23:30:00-02:00", "", dt.date(2026, 1, 19)),
        ("18.01.2026", "DD.MM.YYYY", dt.date(2026, 1, 18)),
        ("18/01/2026", "DD/MM/YYYY", dt.date(2026, 1, 18)),
        ("01/18/2026", "MM/DD/YYYY", dt.date(2026, 1, 18)),
        ("18.01.2026", "", None),
        ("31.02.2026", "DD.MM.YYYY", None),
        ("2026-01-18", "DD.MM.YYYY", None),
        ("soon", "", None),
    ],
)
def test_a_day_is_the_day_that_is_written_or_none(text: str, form: str, day: dt.date | None) -> None:
    assert read(text, form) == (None if day is None else (day - EPOCH).days)


def test_a_column_of_another_type_is_refused() -> None:
    with pytest.raises(TableError, match="not expected"):
        days(Column("d", "d", Kind.BOOLEAN, "boolean"), name("d"), DUCKDB, "")
