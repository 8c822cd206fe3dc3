"""Columns survive their files, whichever way they were written."""

from __future__ import annotations

import csv
from pathlib import Path

import duckdb
import numpy as np
import pytest

from tetraodon.engine.duckdb_source import SmallTables
from tetraodon.releases import open_formats as parquet
from tetraodon.releases.open_formats import write_columns
from tetraodon.releases.untrusted_parquet import read_columns

COLUMNS = {
    "whole": np.array([1, -5, 2**40]),
    "real": np.array([0.1, 1e300, -0.0]),
    "yes": np.array([True, False, True]),
    "day": np.array(["2020-02-29", "2020-03-01", "1969-12-31"], "datetime64[D]"),
    'odd "name"; --': np.array(["ä", "it's", 'a "b", c'], object),
}


@pytest.mark.parametrize("short", [50_000, 0])
def test_both_ways_write_the_same(short: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "SHORT", short)
    write_columns(tmp_path / "it's", COLUMNS)
    kinds = {name: column.dtype.kind for name, column in COLUMNS.items()}
    found = read_columns(tmp_path / "it's.parquet", kinds, 3)
    assert list(found) == list(COLUMNS)
    for name, column in COLUMNS.items():
        assert found[name].tolist() == column.tolist()
    with (tmp_path / "it's.csv").open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    assert header == list(COLUMNS)
    assert [int(row[0]) for row in rows] == COLUMNS["whole"].tolist()
    assert [row[4] for row in rows] == COLUMNS[header[4]].tolist()


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(OSError):
        write_columns(tmp_path / "nowhere" / "x", COLUMNS)


def test_short_tables_share_a_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []
    connect = duckdb.connect
    monkeypatch.setattr(duckdb, "connect", lambda *given, **more: made.append(given) or connect(*given, **more))
    monkeypatch.setattr(parquet, "WRITTEN_TABLES", SmallTables(files=True, ordered=True))
    rows = {"row": np.arange(40_000)}
    for name in "abc":
        write_columns(tmp_path / name, rows)
    assert len(made) == 1
    assert (read_columns(tmp_path / "c.parquet", {"row": "i"}, 40_000)["row"] == rows["row"]).all()
