"""No cell is a formula, and every text comes back."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import duckdb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tetraodon.releases import open_formats as parquet
from tetraodon.releases.open_formats import RISKY, harmless_cell, harmless_sql, write_columns

FORMULAS = ["=1+1", "+cmd|x", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1", "'=1", "\x27\x27@x", "-", "- a\nb"]
PLAIN = ["a", "", "-5..0", "-5", "+1.5", "1..2", "-0.5..-0.1", "'tis", "a=b", " =1"]


def cell_text(cell: str) -> str:
    """The text that a cell of a CSV file stands for: the inverse of `harmless_cell`."""
    return cell[1:] if cell.startswith("'") and re.fullmatch(RISKY, cell[1:], re.DOTALL) else cell


@pytest.mark.parametrize("text", FORMULAS)
def test_formulas_are_not_run(text: str) -> None:
    assert harmless_cell(text) == "'" + text
    assert cell_text(harmless_cell(text)) == text


@pytest.mark.parametrize("text", PLAIN)
def test_others_stay(text: str) -> None:
    assert harmless_cell(text) == text == cell_text(text)


@given(st.text(alphabet="'=+-@\t\rab15.,\n", max_size=8))
def test_every_text_comes_back_and_sql_agrees(text: str) -> None:
    assert cell_text(harmless_cell(text)) == text
    [(found,)] = duckdb.execute(f"SELECT {harmless_sql('x')} FROM (SELECT ? AS x)", [text]).fetchall()
    assert found == harmless_cell(text)


@pytest.mark.parametrize("short", [50_000, 0])
def test_csv_files_are_harmless_and_parquet_files_exact(
    short: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "SHORT", short)
    texts = [*FORMULAS, *PLAIN]
    write_columns(tmp_path / "x", {"=name": np.array(texts, object), "n": np.arange(len(texts)) - 3})
    with (tmp_path / "x.csv").open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    assert header == ["'=name", "n"]
    assert [row[0] for row in rows] == [harmless_cell(text) for text in texts]
    assert [row[1] for row in rows] == [str(place - 3) for place in range(len(texts))]
    kept = duckdb.sql(f"SELECT * FROM read_parquet('{tmp_path / 'x.parquet'}')").fetchall()
    assert [row[0] for row in kept] == texts
