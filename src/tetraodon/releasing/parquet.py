"""Columns to Parquet and CSV files.

Short columns are written as text and turned into Parquet by the DuckDB that is loaded anyway; long ones are worth the
third of a second it takes to import polars. (Handing DuckDB arrays or lists imports pandas, which takes longer still.)
"""

from __future__ import annotations

import csv as csv_module
import errno
from pathlib import Path
from typing import Any

import duckdb
from numpy.typing import NDArray

SHORT = 50_000
TYPES = {"i": "BIGINT", "f": "DOUBLE", "b": "BOOLEAN", "M": "DATE", "O": "VARCHAR"}


def write_columns(stem: Path, columns: dict[str, NDArray[Any]], *, csv: bool = True) -> None:
    """Write `stem.parquet`, and `stem.csv` beside it. Raises OSError when the disk does not take them."""
    parquet, text = (stem.with_name(stem.name + ending) for ending in (".parquet", ".csv"))
    try:
        if len(next(iter(columns.values()))) <= SHORT:
            _write_short(columns, parquet, text)
        else:
            _write_long(columns, parquet, text)
    except duckdb.Error as error:
        raise OSError(errno.ENOSPC, "cannot write") from error
    if not csv:
        text.unlink()


def _write_short(columns: dict[str, NDArray[Any]], parquet: Path, text: Path) -> None:
    with text.open("w", newline="", encoding="utf-8") as file:
        writer = csv_module.writer(file, quoting=csv_module.QUOTE_NONNUMERIC, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*(_plain(column) for column in columns.values()), strict=True))
    types = ", ".join(f"{_text(name)}: '{TYPES[column.dtype.kind]}'" for name, column in columns.items())
    with duckdb.connect() as connection:
        table = (
            f"read_csv({_text(text)}, header = true, delim = ',', quote = '\"', escape = '\"', columns = {{{types}}}"
        )
        table += ", nullstr = '\x01', allow_quoted_nulls = false)"
        connection.execute(f"COPY (SELECT * FROM {table}) TO {_text(parquet)} (FORMAT parquet, COMPRESSION zstd)")


def _plain(column: NDArray[Any]) -> list[Any]:
    """Values whose text reads back as the same."""
    if column.dtype.kind == "b":
        return ["true" if value else "false" for value in column.tolist()]
    return [str(value) for value in column.tolist()] if column.dtype.kind == "M" else list(column.tolist())


def _write_long(columns: dict[str, NDArray[Any]], parquet: Path, text: Path) -> None:
    import polars

    frame = polars.DataFrame(columns)
    frame.write_parquet(parquet)
    frame.write_csv(text, quote_style="non_numeric")


def _text(word: Path | str) -> str:
    return "'" + str(word).replace("'", "''") + "'"
