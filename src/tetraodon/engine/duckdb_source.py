"""Tables in DuckDB: files, frames and relations, with their connection and private folder."""

from __future__ import annotations

import fcntl
import glob
import os
import shutil
import tempfile
import threading
import weakref
import zlib
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeAlias, TypeVar, cast
from uuid import uuid4

import duckdb
import numpy as np
from sqlglot import exp

from tetraodon.engine import csv_table as csv_lines
from tetraodon.engine.column import Column, Kind, require
from tetraodon.engine.csv_table import NATIVE, CsvFile, CsvFormat, examine
from tetraodon.engine.dialect import (
    DATE,
    DOUBLE,
    Dialect,
    Sql,
    call,
    number,
    op,
    plain,
    since_1970,
    string,
    try_cast,
    when,
)
from tetraodon.engine.dialect import cast as sql_cast
from tetraodon.errors import DataRefusal, TableError, did_you_mean
from tetraodon.exact.arrays import Ints

# -- duckdb sql -------------------------------------------------------------------------------------
# DuckDB's own SQL: names and texts for statements that are written by hand, and its differences from other engines.

SHORT_LIST = 64
"""Up to here a list is searched faster than an enumeration is hashed, on dictionary-encoded Parquet."""
HUGE = 2**126
"""An unsigned 128-bit number may be larger than any signed one; this is larger than any range."""


def quoted(title: str) -> str:
    """A name as SQL, whatever is in it."""
    return '"' + plain(title).replace('"', '""') + '"'


def text(value: str) -> str:
    """A string as SQL, whatever is in it."""
    return "'" + plain(value).replace("'", "''") + "'"


def _position(value: Sql, labels: Sequence[str]) -> Sql:
    listed = [string(label) for label in labels]
    if len(labels) <= SHORT_LIST:
        return op(exp.Sub, call("LIST_POSITION", exp.Array(expressions=listed), value), number(1))
    kind = exp.DataType(this=exp.DataType.Type.ENUM, expressions=listed)
    return call("ENUM_CODE", exp.TryCast(this=value, to=kind))


def _value(column: Column, place: Sql) -> Sql:
    """Seconds and milliseconds beyond the range of microseconds are no moment: any other use of them fails."""
    return call("TRY", sql_cast(place, "TIMESTAMP")) if column.shown in ("TIMESTAMP_S", "TIMESTAMP_MS") else place


def _utc_days(instant: Sql) -> Sql:
    """By the clock, for taking the date of the first and last instants fails; an infinite one has none."""
    ticks, day = call("EPOCH_US", instant), number(86_400_000_000)
    early = op(exp.LT, op(exp.Mod, ticks, day), number(0))
    return op(exp.Sub, op(exp.IntDiv, ticks, day), when((early, number(1)), otherwise=number(0)))


DUCKDB = Dialect(
    name="duckdb",
    end="\\z",
    collation="binary",
    value=_value,
    longest="INT128",
    wide=True,
    is_nan=lambda value: call("ISNAN", value),
    double=lambda text: try_cast(text, DOUBLE),
    whole=lambda value: call("COALESCE", try_cast(value, "INT128"), number(HUGE)),
    day=lambda text: since_1970(try_cast(text, DATE)),
    utc_days=_utc_days,
    quotient=lambda value, by: op(exp.IntDiv, value, by),
    position=_position,
    sums_apart=True,
)


# -- duckdb table -----------------------------------------------------------------------------------
# A table that DuckDB can scan, with the connection and the private folder that go with it.

Origin: TypeAlias = Callable[[], AbstractContextManager[str]]
"""A way to scan a table, as SQL that is good for one query."""
Run: TypeAlias = duckdb.DuckDBPyConnection | duckdb.DuckDBPyRelation
T = TypeVar("T")

SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": "false",  # nothing is fetched from anywhere
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "preserve_insertion_order": "false",  # counts have none, and keeping it costs memory
    "pandas_analyze_sample": "0",  # a column of objects is text, whatever its first values are
}

KINDS = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT"), Kind.INTEGER),
    **dict.fromkeys(("UTINYINT", "USMALLINT", "UINTEGER"), Kind.INTEGER),
    **dict.fromkeys(("UBIGINT", "HUGEINT", "UHUGEINT"), Kind.WIDE),
    **dict.fromkeys(("VARCHAR", "UUID", "ENUM", "NULL", '"NULL"'), Kind.TEXT),
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"), Kind.TIMESTAMP),
    "FLOAT": Kind.SINGLE,
    "DOUBLE": Kind.DOUBLE,
    "BOOLEAN": Kind.BOOLEAN,
    "DATE": Kind.DATE,
    "TIMESTAMP WITH TIME ZONE": Kind.ZONED,
}


class SmallTables:
    """A database that small tables share, each with a cursor of its own: no other sees what is registered there.

    It has no thread and no folder: it spills nothing, keeps nothing of a file, and may be there when a process forks.

    Why   making a database takes longer than counting a small table.
    """

    def __init__(self, *, files: bool) -> None:
        self._files = files
        self._made: tuple[int, duckdb.DuckDBPyConnection] | None = None
        self._making = threading.Lock()

    def cursor(self) -> duckdb.DuckDBPyConnection:
        with self._making:
            if self._made is None or self._made[0] != os.getpid():
                self._made = os.getpid(), self._connected()
            return self._made[1].cursor()

    def _connected(self) -> duckdb.DuckDBPyConnection:
        config = {**SETTINGS, "threads": 1, "temp_directory": "", "enable_external_file_cache": "false"}
        made = duckdb.connect(":memory:", config=config)
        made.execute("SET enable_progress_bar = false")
        if not self._files:
            made.execute("SET enable_external_access = false")
        made.execute("SET lock_configuration = true")
        return made


SMALL_FILES, SMALL_FRAMES = SmallTables(files=True), SmallTables(files=False)


class DuckDBTable:
    """What an engine needs to know of a table: its columns, and how to run a query on it.

    `origins` are the ways to scan it, tried in turn: a CSV file is first taken to be well-formed.
    """

    def __init__(self, shared: SmallTables | None = None) -> None:
        self._shared = shared
        self.dialect = DUCKDB if shared is None else replace(DUCKDB, sums_apart=False)  # fewer queries are quicker
        self._folder: PrivateFolder | None = None
        if shared is None:
            config = {**SETTINGS, "temp_directory": str(self.folder)}
            self.connection = duckdb.connect(":memory:", config=config)
            self.connection.execute("SET enable_progress_bar = false")
        else:
            remove_abandoned()
            self.connection = shared.cursor()
        self.relation: duckdb.DuckDBPyRelation | None = None
        self.view = f"tetraodon_{uuid4().hex}"  # DuckDB puts it into the relation's own connection
        self.origins: tuple[Origin, ...] = ()
        self.columns: dict[str, Column] = {}
        self.decimal = "."

    @property
    def folder(self) -> Path:
        """A private folder that goes with the table."""
        self._folder = self._folder or PrivateFolder()
        return self._folder.path

    def describe(self, origin: str) -> None:
        """Scan the table from `origin` and take its columns from there."""
        self.origins = (lambda: nullcontext(origin),)
        self.columns = self.described(origin)

    def described(self, origin: str) -> dict[str, Column]:
        """The columns of a table that DuckDB reads from `origin`."""
        rows = None
        with suppress(duckdb.Error):  # ours is raised outside, for DuckDB's may quote the table
            rows = self._run(f"DESCRIBE SELECT * FROM {origin}").fetchall()
        if rows is None:
            raise TableError("the table cannot be opened", fix="check that the file is whole and readable")
        return {name: column(name, shown) for name, shown, *_ in rows}

    def lock(self, *, files: bool) -> None:
        """No setting changes from here on, and no other file is read unless the table needs files."""
        if self._shared is not None:
            return  # they are locked from the first
        if not files:
            self.connection.execute("SET enable_external_access = false")
        self.connection.execute("SET lock_configuration = true")

    def fetch(self, query: Callable[[str], str]) -> dict[str, Ints]:
        """Run the query that `query` makes of an origin. Raises DataRefusal, with nothing from DuckDB in it."""
        found = self._tried(query, lambda done: done.fetchnumpy())
        return {name: np.asarray(found[name], np.int64) for name in found}

    def _tried(self, query: Callable[[str], str], take: Callable[[Run], T]) -> T:
        while self.origins:
            with suppress(duckdb.Error, OSError, EOFError, zlib.error), self.origins[0]() as origin:
                return take(self._run(query(origin)))
            if len(self.origins) == 1:
                break
            self.origins = self.origins[1:]
        raise DataRefusal("the table cannot be counted", fix="check that the file is whole and well-formed")

    def fetch_texts(self, query: Callable[[str], str]) -> list[tuple[str, int]]:
        """Run a query that gives texts with their numbers. Raises DataRefusal, with nothing from DuckDB in it."""
        return [(str(text), int(number)) for text, number in self._tried(query, lambda done: done.fetchall())]

    def close(self) -> None:
        if self.relation is not None:
            with suppress(duckdb.Error):  # that connection may be closed already
                self.relation.query(self.view, f"DROP VIEW {self.view}")
            self.relation = None
        self.connection.close()
        if self._folder is not None:
            self._folder.remove()

    def _run(self, sql: str) -> Run:
        if self.relation is not None:
            return self.relation.query(self.view, sql)
        return self.connection.execute(sql)


def column(name: str, shown: str) -> Column:
    """A column of a DuckDB type. Of `ENUM('a', 'b')` only the word is shown: the rest comes from records."""
    if shown.startswith("DECIMAL(") and shown.endswith(")"):
        width, scale = (int(part) for part in shown[8:-1].split(","))
        return Column(name, name, Kind.DECIMAL, shown, width, scale)
    word = shown.partition("(")[0]
    nested = shown.endswith("]")
    kind = Kind.STRANGE if nested else KINDS.get(word, Kind.STRANGE)
    return Column(name, name, kind, f"{word}[]" if nested and "(" in shown else word)


PREFIX = "tetraodon-"
LOCK = "lock"


class PrivateFolder:
    """A new folder that only this user can enter (mode 0700), removed by `remove` or at the end of the process.

    >>> folder = PrivateFolder()
    >>> oct(folder.path.stat().st_mode & 0o777)
    '0o700'
    >>> folder.remove()
    >>> folder.path.exists()
    False
    """

    def __init__(self) -> None:
        remove_abandoned()
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX))
        draft = self.path / f"{LOCK}.new"
        handle = os.open(draft, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        fcntl.flock(handle, fcntl.LOCK_EX)
        os.rename(draft, self.path / LOCK)  # once it is seen, it is locked
        self.remove = weakref.finalize(self, _remove, self.path, handle)


def remove_abandoned() -> None:
    """Remove the folders of this user whose processes have ended without doing so."""
    place = tempfile.gettempdir()
    for found in (Path(place, name, LOCK) for name in os.listdir(place) if name.startswith(PREFIX)):
        with suppress(OSError):  # locked, of another user, or removed by a faster process
            if found.parent.is_symlink() or found.parent.stat().st_uid != os.getuid():
                continue
            handle = os.open(found, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(found.parent, ignore_errors=True)
            finally:
                os.close(handle)


def _remove(path: Path, handle: int) -> None:
    shutil.rmtree(path, ignore_errors=True)
    os.close(handle)


# -- duckdb source ----------------------------------------------------------------------------------

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
    """Refuse a file without a column that the policy names. Its own names are not printed: they may be a record."""
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

    from tetraodon.engine.frames import parquet_parts

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

    from tetraodon.engine.frames import arrow_table, pandas_table, polars_table

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
    from polars.exceptions import PolarsError  # a caller with such a frame has imported polars

    from tetraodon.engine.frames import narrowed

    lazy, path = cast(LazyFrame, frame), table.folder / "table.parquet"
    with suppress(PolarsError):  # ours is raised outside, for that of polars may quote the table
        require(list(lazy.collect_schema()), wanted)
        narrowed(lazy.select(list(dict.fromkeys(wanted)))).sink_parquet(path)
        use_parquet(table, path, wanted)
        return
    raise DataRefusal("the polars query fails", fix="collect it, and see why")


def use_relation(table: DuckDBTable, relation: duckdb.DuckDBPyRelation) -> None:
    """A relation of the caller's connection, whose settings are left alone."""
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
