"""Showing DuckDB a table: a CSV or Parquet file, a DuckDB file, a frame in memory or a relation."""

from __future__ import annotations

import glob
import zlib
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol, cast

import duckdb

from tetraodon.engine import csv_lines
from tetraodon.engine.column import Column, Kind, require
from tetraodon.engine.csv_file import NATIVE, CsvFile, CsvFormat, examine
from tetraodon.engine.duckdb_sql import quoted, text
from tetraodon.engine.duckdb_table import DuckDBTable, Origin
from tetraodon.errors import DataRefusal, TableError, did_you_mean

MENDED = "mended"


class LazyFrame(Protocol):
    """What is used of a `polars.LazyFrame`."""

    def collect_schema(self) -> dict[str, object]: ...
    def select(self, names: list[str]) -> LazyFrame: ...
    def sink_parquet(self, path: Path) -> object: ...


def use_csv(table: DuckDBTable, path: Path, layout: CsvFormat, wanted: Collection[str]) -> None:
    """Every column is text, found by its position; numbers and dates are read later, value by value.

    What a record is, and why no line changes how another is read, is said in `csv_lines`.
    """
    file = examine(_existing(path), layout, wanted)
    _require_declared(file, wanted)
    clean = None
    with suppress(OSError, EOFError, zlib.error):
        clean = csv_lines.clean(file)
    if clean is None:
        raise DataRefusal("the CSV file cannot be read", fix="check that it is whole", where=path.name)
    mended: Origin = partial(_mended_origin, file)
    table.origins = (lambda: nullcontext(_csv(_file(file.path), file)), mended) if clean else (mended,)
    table.decimal = file.decimal
    table.columns = {name: Column(name, f"f{place}", Kind.TEXT, "text") for place, name in enumerate(file.header)}
    table.lock(files=True)


@contextmanager
def _mended_origin(file: CsvFile) -> Iterator[str]:
    """A scan of the mended lines, which are never written to the disk."""
    plain = replace(file, separator=csv_lines.separator_of(file), encoding="utf-8", end=b"\n")
    with csv_lines.piped(csv_lines.mended(file)) as name:
        yield _csv(text(name), plain, header=False)


def _csv(place: str, file: CsvFile, *, header: bool = True) -> str:
    fields = ", ".join(f"'f{place}': 'VARCHAR'" for place in range(len(file.header)))
    end = {b"\n": "\\n", b"\r\n": "\\r\\n"}[file.end]
    return (
        f"read_csv({place}, auto_detect = false, header = {header}, delim = {text(file.separator)}, quote = '\"', "
        f"escape = '\"', new_line = '{end}', encoding = '{NATIVE[file.encoding]}', columns = {{{fields}}})"
    )


def _require_declared(file: CsvFile, wanted: Collection[str]) -> None:
    """Refuse a file without a column that the policy names. Its own names are not told: they may be a record."""
    for name in wanted:
        if name not in file.header:
            like = [place for place, known in enumerate(file.header, 1) if known.strip().casefold() == name.casefold()]
            alike = f"column {like[0]} differs in capitals or blanks only" if like else "spell it as in the policy"
            raise TableError(
                f"the CSV file has no column {name!r}",
                fix=f"write the columns' names in its first line; {alike}",
                where=file.path.name,
            )


def use_parquet(table: DuckDBTable, path: Path, wanted: Collection[str] = ()) -> None:
    """One Parquet file, or all that match a pattern, in which the wanted columns are of the same types."""
    if path.exists():
        paths = [path]
    else:
        paths = [Path(found) for found in sorted(glob.glob(str(path), recursive=True))]
    if not paths:
        raise _not_found(path)
    files = [_file(found) for found in paths]
    table.describe(f"read_parquet([{', '.join(files)}])")
    if wanted and len(files) > 1:
        _require_alike(table, files, wanted, path)
    if wanted:
        table.origins += (partial(_lenient_parquet, table, paths, wanted),)
    table.lock(files=True)


@contextmanager
def _lenient_parquet(table: DuckDBTable, paths: Sequence[Path], wanted: Collection[str]) -> Iterator[str]:
    """The same rows through pyarrow, for DuckDB refuses a file for one text that is no UTF-8, or for one far moment."""
    import pyarrow

    from tetraodon.engine.arrow_cells import parquet_parts

    connection, parts, first = table.connection, parquet_parts(paths, wanted), None
    found: dict[str, Column] = {}
    with suppress(pyarrow.ArrowException):
        first = next(parts)
        connection.register(MENDED, first)
        found = table.described(MENDED)
    if first is None or any(name not in found or not found[name].same_type(table.columns[name]) for name in wanted):
        raise DataRefusal("the table cannot be counted", fix="write the Parquet file anew with plain types")
    batches = (batch for part in parts for batch in part.to_batches())
    connection.register(MENDED, pyarrow.RecordBatchReader.from_batches(first.schema, batches))
    try:
        with suppress(pyarrow.ArrowException):
            yield MENDED
    finally:
        connection.unregister(MENDED)


def _require_alike(table: DuckDBTable, files: list[str], wanted: Collection[str], path: Path) -> None:
    """Refuse files that differ: DuckDB would convert, and fail or not as their records have it."""
    rows = None
    with suppress(duckdb.Error):  # ours is raised outside, for DuckDB's may quote a file
        rows = table.connection.execute(
            "SELECT count(DISTINCT file_name), count(DISTINCT (type, type_length, converted_type, scale, precision, "
            f"CAST(logical_type AS VARCHAR))) FROM parquet_schema([{', '.join(files)}]) "
            f"WHERE name IN ({', '.join(map(text, wanted))}) GROUP BY name"
        ).fetchall()
    if rows is None or any(row != (len(files), 1) for row in rows):
        raise TableError(
            "a column is not of the same type in all files, or not in all of them",
            fix="write the files anew with one type for each column",
            where=path.name,
        )


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


def use_frame(table: DuckDBTable, frame: Any, wanted: Collection[str]) -> None:
    """A frame of pandas or polars, or a pyarrow table: read where it is in memory, as far as its types allow."""
    import pyarrow

    from tetraodon.engine.arrow_cells import arrow_table
    from tetraodon.engine.frame_cells import pandas_table, polars_table

    tabled: dict[str, Callable[[Any, Collection[str]], Any]]
    tabled = {"pandas": pandas_table, "polars": polars_table, "pyarrow": arrow_table}
    made = None
    with suppress(pyarrow.ArrowException, duckdb.Error):  # ours is raised outside, for theirs may quote the frame
        made = tabled[type(frame).__module__.partition(".")[0]](frame, wanted)
        table.connection.register("frame", made)
    if made is None:
        raise TableError("the frame cannot be read", fix="write it to a Parquet file, and name that")
    table.describe("frame")
    table.lock(files=False)


def use_lazy_frame(table: DuckDBTable, frame: object, wanted: Collection[str]) -> None:
    """A polars query: streamed to Parquet in the private folder, so that it may exceed memory."""
    from polars.exceptions import PolarsError  # whoever has such a frame has imported polars

    from tetraodon.engine.frame_cells import narrowed

    lazy, path = cast(LazyFrame, frame), table.folder / "table.parquet"
    with suppress(PolarsError):  # ours is raised outside, for that of polars may quote the table
        require(list(lazy.collect_schema()), wanted)
        narrowed(lazy.select(list(dict.fromkeys(wanted)))).sink_parquet(path)
        use_parquet(table, path, wanted)
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
