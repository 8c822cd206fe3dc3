"""Tuples are written in groups of one size, which tell nothing of where the sampler paused."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pytest
from pyarrow import parquet

from tetraodon.domain import Attribute, Categories, Domain, Integers
from tetraodon.views.tuple_files import regrouped, write_csv, write_tuples

DOMAIN = Domain((Attribute("age", Integers(0, 99)), Attribute("sex", Categories(("it's", 'a "b"')), other=0)))


def test_every_group_but_the_last_has_the_same_size(tmp_path: Path) -> None:
    parts = [np.arange(start, start + size, dtype=np.uint64) for start, size in ((0, 70), (70, 3), (73, 100))]
    path = tmp_path / "it's.parquet"
    assert write_tuples(DOMAIN, parts, path, group=50) == 173
    file = parquet.ParquetFile(path)
    assert [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)] == [50, 50, 50, 23]
    rows = file.read().to_pylist()
    assert [(row["age"], row["sex"]) for row in rows] == [DOMAIN.value(cell) for cell in range(173)]
    write_csv(path, tmp_path / "rows.csv")
    found = duckdb.read_csv(str(tmp_path / "rows.csv")).fetchall()
    assert found == [(row["age"], row["sex"]) for row in rows]


def test_an_empty_view_is_a_view(tmp_path: Path) -> None:
    assert write_tuples(DOMAIN, [np.zeros(0, np.uint64)], tmp_path / "rows.parquet") == 0
    assert parquet.read_table(tmp_path / "rows.parquet").num_rows == 0


def test_regrouping_keeps_the_order() -> None:
    parts = [np.arange(5, dtype=np.uint64), np.arange(0, dtype=np.uint64), np.arange(9, dtype=np.uint64)]
    found = list(regrouped(parts, 4))
    assert [len(part) for part in found] == [4, 4, 4, 2]
    assert np.concatenate(found).tolist() == [*range(5), *range(9)]


def test_a_full_disk_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="cannot write"):
        write_csv(tmp_path / "missing.parquet", tmp_path / "rows.csv")
