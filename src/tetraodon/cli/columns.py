"""The names and kinds of a table's columns, for a first draft of a policy. No value is kept or shown."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import duckdb

from tetraodon.engine.column import Column, Kind
from tetraodon.engine.csv_file import NATIVE, CsvFile, CsvFormat, examine, transcoded
from tetraodon.engine.duckdb_source import use_database, use_parquet
from tetraodon.engine.duckdb_sql import text
from tetraodon.engine.duckdb_table import DuckDBTable, column
from tetraodon.engine.open_table import ADDRESSES, CSV, DATABASE, PARQUET, local_path, open_address
from tetraodon.errors import TableError
from tetraodon.policy.starter import Kind as Word

_WORDS: dict[Kind, Word] = {
    Kind.INTEGER: "integer",
    Kind.WIDE: "integer",
    Kind.SINGLE: "real",
    Kind.DOUBLE: "real",
    Kind.TEXT: "text",
    Kind.BOOLEAN: "boolean",
    Kind.DATE: "date",
    Kind.TIMESTAMP: "date",
    Kind.ZONED: "date",
}
_LOOKED_AT = 20_480
"""Lines of a CSV file that DuckDB guesses types from."""


def table_columns(source: str) -> tuple[list[tuple[str, Word]], list[str], list[str]]:
    """Columns that can be attributes, each with its kind, the names of those that cannot, and all names in order."""
    if source.startswith(ADDRESSES):
        found = _address_columns(source)
    else:
        table = DuckDBTable()
        try:
            found = _columns(table, local_path(source))
        finally:
            table.close()
    able = [(each.name, word) for each in found if each.name and (word := _word(each)) is not None]
    left_out = [each.name for each in found if not each.name or _word(each) is None]
    return able, left_out, [each.name for each in found]


def _columns(table: DuckDBTable, path: str) -> list[Column]:
    if database := DATABASE.fullmatch(path):
        use_database(table, Path(database["file"]), database["table"] or "")
    elif path.lower().endswith(PARQUET):
        use_parquet(table, Path(path))
    elif path.lower().endswith(CSV):
        return _csv_columns(table, transcoded(examine(Path(path), CsvFormat(), ()), table.folder))
    else:
        known = ", ".join((*CSV, *PARQUET, ".duckdb"))
        raise TableError("the file's format is not known by its name", fix=f"use one of {known}", where=path)
    return list(table.columns.values())


def _address_columns(address: str) -> list[Column]:
    table, close = open_address(address)
    try:
        from tetraodon.engine.ibis_engine import column as ibis_column

        return [ibis_column(name, kind) for name, kind in table.schema().items()]
    finally:
        close()


def _csv_columns(table: DuckDBTable, file: CsvFile) -> list[Column]:
    options = (
        f"header = true, delim = {text(file.separator)}, quote = '\"', escape = '\"', sample_size = {_LOOKED_AT}, "
        f"encoding = '{NATIVE[file.encoding]}', decimal_separator = '{file.decimal[-1]}', ignore_errors = true"
    )
    rows: list[tuple[str, ...]] = []
    with suppress(duckdb.Error):  # its message may quote the file; every column is then text
        rows = table.connection.execute(
            f"DESCRIBE SELECT * FROM read_csv({text(str(file.path))}, {options})"
        ).fetchall()
    types = [row[1] for row in rows] if len(rows) == len(file.header) else ["VARCHAR"] * len(file.header)

    return [column(name, name, shown) for name, shown in zip(file.header, types, strict=True)]


def _word(found: Column) -> Word | None:
    if found.kind is Kind.DECIMAL:
        return "integer" if found.scale == 0 else "real"
    return _WORDS.get(found.kind)
