"""Spreadsheets and files of statistics packages are counted as the same table in Parquet is."""

from __future__ import annotations

import datetime as dt
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import openpyxl
import polars as pl
import pyreadstat
import pytest

from tetraodon.domain import Attribute, Categories, Dates, Domain, Grid, Integers
from tetraodon.engine import DataRefusal, open_table
from tetraodon.errors import TableError

MARKER = "MARKER-4711"
DAYS = [dt.date(2026, 1, 1 + row % 5) for row in range(40)]
FRAME = pl.DataFrame(
    {
        "age": [20 + row % 7 if row % 9 else None for row in range(40)],
        "sex": [("F", "M", "")[row % 3] for row in range(40)],
        "code": [1 + row % 2 for row in range(40)],
        "day": DAYS,
        "wage": [row / 4 for row in range(40)],
        "remark": [MARKER] * 40,
    }
)
DOMAIN = Domain(
    (
        Attribute("age", Integers(0, 99), missing=99),
        Attribute("sex", Categories(("F", "M", "none")), missing=2, other=2),
        Attribute("code", Categories(("1", "2")), other=1),
        Attribute("day", Dates(dt.date(2026, 1, 1), dt.date(2026, 1, 31))),
        Attribute("wage", Grid(Fraction(0), Fraction(10), Fraction(1, 4))),
    )
)
WRITERS = {
    ".sav": pyreadstat.write_sav,
    ".zsav": lambda frame, path: pyreadstat.write_sav(frame, path, compress=True),
    ".dta": pyreadstat.write_dta,
    ".xpt": pyreadstat.write_xport,
}


def sheet(path: Path, **sheets: list[list[Any]]) -> Path:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for title, rows in sheets.items():
        made = book.create_sheet(title)
        for row in rows:
            made.append(row)
    book.save(path)
    return path


def written(folder: Path, ending: str) -> Path:
    path = folder / f"people{ending}"
    if ending == ".xlsx":
        return sheet(path, people=[FRAME.columns, *map(list, FRAME.rows())])
    WRITERS[ending](FRAME, str(path))
    return path


def counts(source: Any) -> list[tuple[list[list[int]], list[int]]]:
    with open_table(source, DOMAIN) as engine:
        groups = [(attribute.name,) for attribute in DOMAIN]
        return [(found.codes.tolist(), found.counts.tolist()) for found in engine.counts(groups)]


@pytest.mark.parametrize("ending", [".xlsx", *WRITERS])
def test_a_file_is_counted_as_the_frame_is(ending: str, tmp_path: Path) -> None:
    text = FRAME.with_columns(sex=pl.when(pl.col("sex") == "").then(None).otherwise(pl.col("sex")))
    assert counts(str(written(tmp_path, ending))) == counts(text)


def test_the_reports_of_a_file_are_those_of_the_frame(tmp_path: Path) -> None:
    with open_table(str(written(tmp_path, ".dta")), DOMAIN) as engine:
        reports = {report.name: report for report in engine.dry_run()}
    assert (reports["age"].missing, reports["age"].unreadable) == (FRAME["age"].null_count(), 0)
    assert reports["sex"].missing == 13


def test_a_column_of_days_is_one_even_if_all_are_missing(tmp_path: Path) -> None:
    empty = FRAME.with_columns(day=pl.lit(None, pl.Date))
    pyreadstat.write_sav(empty, str(tmp_path / "a.sav"))
    pyreadstat.write_dta(empty, str(tmp_path / "a.dta"), variable_format={"day": "%td"})
    assert counts(str(tmp_path / "a.sav")) == counts(str(tmp_path / "a.dta"))


def test_sheets_are_named_and_cells_are_read_as_a_csv_file_is(tmp_path: Path) -> None:
    rows = [["age", None, "sex", "code", "day", "wage"], ["20", 5, "F", 1, dt.datetime(2026, 1, 2), 0.5]]
    rows.append([21, 5, "F", True, "2026-01-03", "x"])
    path = sheet(tmp_path / "two.xlsx", people=rows, more=[["x"], [1]])
    found = counts(f"{path}#people")
    assert found[0] == ([[20], [21]], [1, 1])
    assert found[3] == ([[1], [2]], [1, 1])
    for name, words in ((str(path), "several sheets"), (f"{path}#poeple", "no sheet")):
        with pytest.raises(TableError, match=words) as caught:
            counts(name)
        assert "people" in caught.value.fix


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([["age"], [20]], "no column 'sex'"),
        ([[None], [None]], "no header"),
        ([["age", "age", "sex", "code", "day", "wage"], [1, 2, "F", 1, DAYS[0], 1]], "the same name"),
        ([[MARKER, 20], [MARKER, 21]], "no column 'age'"),
    ],
)
def test_sheets_that_are_refused(rows: list[list[Any]], words: str, tmp_path: Path) -> None:
    with pytest.raises(TableError, match=words) as caught:
        counts(str(sheet(tmp_path / "a.xlsx", a=rows)))
    assert MARKER not in str(caught.value)


@pytest.mark.parametrize("ending", [".xlsx", ".ods", ".sav", ".dta", ".sas7bdat", ".xpt", ".por"])
def test_broken_files_are_refused_and_not_quoted(ending: str, tmp_path: Path) -> None:
    (tmp_path / f"a{ending}").write_text(MARKER * 40)
    with pytest.raises(DataRefusal) as caught:
        counts(str(tmp_path / f"a{ending}"))
    assert MARKER not in str(caught.value)
    assert caught.value.__context__ is None
    with pytest.raises(TableError, match="no such file"):
        counts(str(tmp_path / f"b{ending}"))


def test_a_column_that_is_not_there_is_named(tmp_path: Path) -> None:
    pyreadstat.write_sav(FRAME.drop("age"), str(tmp_path / "a.sav"))
    with pytest.raises(TableError, match="no column 'age'"):
        counts(str(tmp_path / "a.sav"))


@pytest.mark.parametrize(("library", "ending"), [("python_calamine", ".xlsx"), ("pyreadstat", ".sav")])
def test_a_missing_library_is_named(library: str, ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, ending)
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(TableError, match=r"tetraodon\[files\]"):
        counts(str(path))
