"""Columns to Parquet and CSV files, whose cells no spreadsheet runs as formulas.

Short columns are written as text and turned into Parquet by the DuckDB that is loaded anyway; long ones are worth the
tenth of a second it takes to import pyarrow. (Handing DuckDB arrays or lists imports pandas, which takes longer still.)

A text that begins with one of = + - @, a tab or a line break, in their wide forms too, gets an apostrophe in front; so
does one that begins with apostrophes before such a character, so that taking one off always gives the text back.
Numbers stay numbers, and so do texts that consist of numbers, such as the bin `-5..0`.
"""

from __future__ import annotations

import csv as csv_module
import errno
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from tetraodon.engine.duckdb_sql import text as sql_text
from tetraodon.engine.duckdb_table import WRITTEN_TABLES

SHORT = 50_000
TYPES = {"i": "BIGINT", "f": "DOUBLE", "b": "BOOLEAN", "M": "DATE", "O": "VARCHAR"}
RISKY = "'*[=+@\t\r\n＝＋－＠-].*"
NUMBERS = r"[+-]?[0-9]+([.,][0-9]+)?(\.\.[+-]?[0-9]+([.,][0-9]+)?)?"
"""The same patterns for Python and for DuckDB, of whole cells."""


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
    _write_text(columns, text, str)
    types = ", ".join(f"{sql_text(name)}: '{TYPES[column.dtype.kind]}'" for name, column in columns.items())
    with WRITTEN_TABLES.cursor() as connection:
        table = f"read_csv({sql_text(str(text))}, header = true, delim = ',', quote = '\"', escape = '\"', "
        table += f"columns = {{{types}}}, nullstr = '\x01', allow_quoted_nulls = false)"
        connection.execute(
            f"COPY (SELECT * FROM {table}) TO {sql_text(str(parquet))} (FORMAT parquet, COMPRESSION zstd)"
        )
    _write_text(columns, text, harmless_cell)


def _write_text(columns: dict[str, NDArray[Any]], path: Path, spelt: Callable[[str], str]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv_module.writer(file, quoting=csv_module.QUOTE_NONNUMERIC, lineterminator="\n")
        writer.writerow(map(spelt, columns))
        writer.writerows(zip(*(_plain(column, spelt) for column in columns.values()), strict=True))


def _plain(column: NDArray[Any], spelt: Callable[[str], str]) -> list[Any]:
    """Values whose text reads back as the same."""
    if column.dtype.kind == "b":
        return ["true" if value else "false" for value in column.tolist()]
    if column.dtype.kind == "O":
        return [spelt(value) for value in column.tolist()]
    return [str(value) for value in column.tolist()] if column.dtype.kind == "M" else list(column.tolist())


def _write_long(columns: dict[str, NDArray[Any]], file: Path, text: Path) -> None:
    import pyarrow
    from pyarrow import csv, parquet

    parquet.write_table(pyarrow.table(columns), file, compression="zstd")
    spelt = {
        harmless_cell(name): column if column.dtype.kind in "if" else np.array(_plain(column, harmless_cell), object)
        for name, column in columns.items()
    }
    csv.write_csv(pyarrow.table(spelt), text)


def harmless_cell(text: str) -> str:
    """A text as a cell of a CSV file.

    >>> harmless_cell("=cmd|' /C calc'!A0"), harmless_cell("-5..0"), harmless_cell("plain")
    ("'=cmd|' /C calc'!A0", '-5..0', 'plain')
    """
    risky = re.fullmatch(RISKY, text, re.DOTALL) and not re.fullmatch(NUMBERS, text, re.ASCII)
    return f"'{text}" if risky else text


def harmless_sql(column: str) -> str:
    """The same rule as an expression of DuckDB over a column of text."""
    risky, numbers = (pattern.replace("'", "''") for pattern in (RISKY, NUMBERS))
    return (
        f"CASE WHEN regexp_full_match({column}, '{risky}', 's') AND NOT regexp_full_match({column}, '{numbers}') "
        f"THEN chr(39) || {column} ELSE {column} END"
    )
