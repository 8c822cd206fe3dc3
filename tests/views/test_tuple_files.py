"""Tuples are written in groups of one size, which tell nothing of where the sampler paused."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pytest
from pyarrow import parquet

from tetraodon.domain import Attribute, Booleans, Categories, Dates, Domain, Grid, Integers
from tetraodon.errors import DomainError
from tetraodon.views.tuple_files import (
    TUPLES,
    cells_of,
    codes_of,
    column,
    columns,
    regrouped,
    require_numbered,
    take_drawn,
    write_csv,
    write_later,
    write_tuples,
    write_view,
)

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


# -- tuple files drawn -------------------------------------------------------------------------------
# The files of a drawn view go into the published folder as they are.

HUNDRED = Domain((Attribute("x", Integers(0, 99)),))


def cells(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.uint64)


@pytest.mark.parametrize("links", [True, False])
def test_a_view(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool) -> None:
    drawn, out = tmp_path / "drawn", tmp_path / "out"
    drawn.mkdir()
    out.mkdir()
    write_later(drawn, HUNDRED, [cells(1, 9), cells(12)], cells(5, 5), cells(5, 7))
    if not links:

        def refuse(*_: object) -> None:
            raise OSError

        monkeypatch.setattr("os.link", refuse)
    assert take_drawn(drawn, out) == 5
    assert pl.read_parquet(out / TUPLES)["x"].to_list() == [1, 5, 5, 9, 12]
    found = {
        name: pl.read_parquet(out / "parts" / f"{name}.parquet")["x"].to_list() for name in ("fresh", "rows", "before")
    }
    assert found == {"fresh": [1, 9, 12], "rows": [5, 5], "before": [5, 7]}


def test_a_first_view(tmp_path: Path) -> None:
    write_view(tmp_path, HUNDRED, iter([cells(3), cells(4, 4)]))
    assert pl.read_parquet(tmp_path / TUPLES)["x"].to_list() == [3, 4, 4]


# -- columns -----------------------------------------------------------------------------------------
# Columns of values: what Parquet holds is what the attribute says.

OF_ALL_TYPES = Domain(
    (
        Attribute("sex", Categories(("F", "M")), other=0),
        Attribute("age", Integers(-3, 3)),
        Attribute("ok", Booleans(), other=0),
        Attribute("x", Grid(Fraction(0), Fraction(1), Fraction(1, 10))),
        Attribute("day", Dates(dt.date(1969, 12, 30), dt.date(1970, 1, 3))),
    )
)


def test_every_cell_has_the_values_of_the_domain() -> None:
    cells = np.arange(OF_ALL_TYPES.size, dtype=np.uint64)
    found = columns(OF_ALL_TYPES, cells)
    for cell in (0, 1, 17, 500, OF_ALL_TYPES.size - 1):
        row = tuple(found[name][cell].as_py() for name in OF_ALL_TYPES.names)
        assert row == tuple(float(v) if isinstance(v, Fraction) else v for v in OF_ALL_TYPES.value(cell))
    codes = np.stack([part.astype(np.int64) for part in codes_of(OF_ALL_TYPES, cells)], axis=1)
    assert (cells_of(OF_ALL_TYPES, codes) == cells).all()


def test_a_fine_grid_is_not_written_out() -> None:
    attribute = Attribute("x", Grid(Fraction(0), Fraction(10**9), Fraction(1, 10)))
    assert column(attribute, np.array([3], np.uint64)).to_pylist() == [0.3]


def test_too_many_tuples_are_refused() -> None:
    require_numbered(Domain((Attribute("a", Integers(1, 10**18)),)))
    with pytest.raises(DomainError, match=r"2\^63"):
        require_numbered(Domain((Attribute("a", Integers(1, 10**10)), Attribute("b", Integers(1, 10**10)))))
