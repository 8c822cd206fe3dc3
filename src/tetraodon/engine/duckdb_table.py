"""A table that DuckDB can scan, with the connection and the private folder that go with it."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import threading
import weakref
import zlib
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias, TypeVar
from uuid import uuid4

import duckdb
import numpy as np

from tetraodon.arrays import Ints
from tetraodon.engine.column import Column, Kind
from tetraodon.engine.duckdb_sql import DUCKDB
from tetraodon.errors import DataRefusal, TableError

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
    Where it is `ordered`, rows stay in their order.

    Why   making a database takes longer than counting a small table.
    """

    def __init__(self, *, files: bool, ordered: bool = False) -> None:
        self._files, self._ordered = files, ordered
        self._made: tuple[int, duckdb.DuckDBPyConnection] | None = None
        self._making = threading.Lock()

    def cursor(self) -> duckdb.DuckDBPyConnection:
        with self._making:
            if self._made is None or self._made[0] != os.getpid():
                self._made = os.getpid(), self._connected()
            return self._made[1].cursor()

    def _connected(self) -> duckdb.DuckDBPyConnection:
        config = {**SETTINGS, "threads": 1, "temp_directory": "", "enable_external_file_cache": "false"}
        config |= {"preserve_insertion_order": "true"} if self._ordered else {}
        made = duckdb.connect(":memory:", config=config)
        made.execute("SET enable_progress_bar = false")
        if not self._files:
            made.execute("SET enable_external_access = false")
        made.execute("SET lock_configuration = true")
        return made


SMALL_FILES, SMALL_FRAMES = SmallTables(files=True), SmallTables(files=False)
WRITTEN_TABLES = SmallTables(files=True, ordered=True)
"""For short tables that are written: a release has several of them."""


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
        with suppress(OSError):  # locked, or of somebody else, or removed by somebody who was faster
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
