"""Showing DuckDB a table: a CSV or Parquet file, a DuckDB file, a frame in memory or a relation."""

from __future__ import annotations

import glob
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import Protocol, cast

import duckdb

from tetraodon.engine.column import Column, Kind, require
from tetraodon.engine.csv_file import NATIVE, CsvFormat, examine, transcoded
from tetraodon.engine.duckdb_sql import quoted, text
from tetraodon.engine.duckdb_table import DuckDBTable
from tetraodon.engine.refusal import DataRefusal
from tetraodon.errors import TableError, did_you_mean


class LazyFrame(Protocol):
    """What is used of a `polars.LazyFrame`."""

    def collect_schema(self) -> dict[str, object]: ...
    def select(self, names: list[str]) -> LazyFrame: ...
    def sink_parquet(self, path: Path) -> object: ...


def use_csv(table: DuckDBTable, path: Path, layout: CsvFormat, wanted: Collection[str]) -> None:
    """Every column is text, found by its position; numbers and dates are read later, value by value.

    A row with too few fields lacks the last ones, and one with too many makes the file unreadable. Short rows
    are let pass only in a file without quotation marks: filling them up, DuckDB may lose its place at a line
    break inside quotes, or pass in silence over everything after a quote that is never closed.
    """
    file = transcoded(examine(_existing(path), layout, wanted), table.folder)
    fields = ", ".join(f"'f{place}': 'VARCHAR'" for place in range(len(file.header)))
    options = (
        f"auto_detect = false, header = true, delim = {text(file.separator)}, quote = '\"', escape = '\"', "
        f"encoding = '{NATIVE[file.encoding]}', columns = {{{fields}}}"
    )
    scan = f"read_csv({_file(file.path)}, {options}"
    table.origins = (f"{scan})",) if file.quotes else (f"{scan})", f"{scan}, null_padding = true)")
    table.decimal = file.decimal
    table.columns = {name: Column(name, f"f{place}", Kind.TEXT, "text") for place, name in enumerate(file.header)}
    table.lock(files=True)


def use_parquet(table: DuckDBTable, path: Path) -> None:
    """One Parquet file, or all that match a pattern."""
    if path.exists():
        files = [_file(path)]
    else:
        files = [_file(Path(found)) for found in sorted(glob.glob(str(path), recursive=True))]
    if not files:
        raise _not_found(path)
    table.describe(f"read_parquet([{', '.join(files)}])")
    table.lock(files=True)


def use_database(table: DuckDBTable, path: Path, name: str) -> None:
    """A table or view of a DuckDB file, which is opened for reading only."""
    known: list[tuple[str, str]] | None = None
    with suppress(duckdb.Error):  # ours is raised outside, for DuckDB's may quote the file
        table.connection.execute(f"ATTACH {text(str(_existing(path)))} AS source (READ_ONLY)")
        known = table.connection.execute(
            "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = 'source' UNION ALL "
            "SELECT schema_name, view_name FROM duckdb_views() WHERE database_name = 'source' AND NOT internal "
            "ORDER BY ALL"
        ).fetchall()
    if known is None:
        raise TableError(
            "the file is not a DuckDB database, or another program is writing to it",
            fix="check the file, or wait until it is free",
            where=path.name,
        )
    spelt = {title if schema == "main" else f"{schema}.{title}": (schema, title) for schema, title in known}
    if not name and len(spelt) == 1:
        name = next(iter(spelt))
    if name not in spelt:
        what = f"there is no table {name!r}" if name else "the database has several tables or none"
        fix = did_you_mean(name, spelt) if name else f"add #table to the path; {did_you_mean('', spelt)}"
        raise TableError(what, fix=fix, where=path.name)
    schema, title = spelt[name]
    table.describe(f"source.{quoted(schema)}.{quoted(title)}")
    table.lock(files=False)


def use_frame(table: DuckDBTable, frame: object) -> None:
    """A pandas or polars frame or a pyarrow table, read where it is in memory."""
    table.connection.register("frame", frame)
    table.describe("frame")
    table.lock(files=False)


def use_lazy_frame(table: DuckDBTable, frame: object, wanted: Collection[str]) -> None:
    """A polars query: streamed to Parquet in the private folder, so that it may exceed memory."""
    from polars.exceptions import PolarsError  # whoever has such a frame has imported polars

    lazy, path = cast(LazyFrame, frame), table.folder / "table.parquet"
    with suppress(PolarsError):  # ours is raised outside, for that of polars may quote the table
        require(list(lazy.collect_schema()), wanted)
        lazy.select(list(dict.fromkeys(wanted))).sink_parquet(path)
        use_parquet(table, path)
        return
    raise DataRefusal("the polars query fails", fix="collect it, and see why")


def use_relation(table: DuckDBTable, relation: duckdb.DuckDBPyRelation) -> None:
    """A relation of somebody else's connection, whose settings are left alone."""
    table.relation = relation
    table.describe(table.view)


def _existing(path: Path) -> Path:
    if not path.is_file():
        raise _not_found(path)
    return path


def _not_found(path: Path) -> TableError:
    return TableError("there is no such file", fix="check the path", where=str(path))


def _file(path: Path) -> str:
    """A path as SQL, taken at its word: DuckDB would expand patterns in it."""
    return text(glob.escape(str(path)))
