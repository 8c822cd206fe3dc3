"""Public tables beside a view: a confined database for them, and the check that none is the protected one."""

from __future__ import annotations

import datetime as dt
import glob
import math
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, TypeAlias

import duckdb
import numpy as np
import pyarrow
from numpy.typing import NDArray

from tetraodon.domain import Domain
from tetraodon.engine import Counts, DataRefusal, open_table
from tetraodon.engine.duckdb_source import quoted, text
from tetraodon.errors import PolicyError, QueryError, ReleaseError, TableError
from tetraodon.exact.arrays import Ints
from tetraodon.policy.policy import SideTable
from tetraodon.query.condition.nodes import (
    BLOCK,
    OWN,
    ROW,
    Codes,
    Logical,
    Outside,
    Reading,
    Truth,
    Truths,
    as_number,
    evaluate,
    numbers,
)
from tetraodon.query.condition.public_tables import PublicColumn
from tetraodon.releases.folder import file_hash
from tetraodon.releases.untrusted_parquet import read_table
from tetraodon.views.tuple_files import sql_code, sql_value

# -- sandbox ----------------------------------------------------------------------------------------
# A database that holds a view and its public tables, and can reach nothing else.

Public: TypeAlias = Mapping[str, Any]
"""Public side tables by name: paths of CSV or Parquet files, frames, or arrow tables."""
NOTHING: Final[Public] = {}
Labels: TypeAlias = tuple[tuple[str, ...], Ints]
"""The values of a public column, and which of them each cell of some attributes has."""
LARGE: Final = 2**24
"""Files of more values than this, however well they are compressed, are read anew for each question."""
MEMORY: Final = "400MB"
"""What the database may use where a large file is read."""
TEXTS: Final = 100_000_000
"""Bytes of text in a public table that is read from Parquet."""
TUPLES: Final = f"{OWN}tuples"
EPOCH: Final = dt.date(1970, 1, 1).toordinal()


class Sandbox:
    """A private database: columns c0, c1, ... hold the codes of the attributes, public tables keep their names.

    Post  the connection reads no file, no network and no variable of the program, and its settings cannot be changed.
    """

    def __init__(self, domain: Domain, public: Public = NOTHING) -> None:
        self.domain = domain
        self.connection = duckdb.connect(":memory:")
        self.public: dict[str, tuple[str, ...]] = {}
        self._load_all(public)
        self._locked = False

    def lock(self) -> None:
        """From here on nothing from outside can be read. Nothing is evaluated before."""
        if not self._locked:
            self.connection.execute("SET enable_external_access = false")
            self.connection.execute("SET lock_configuration = true")
            self._locked = True

    def hold(self, file: Path) -> None:
        """Keep the tuples of a Parquet file, as their codes; a large file is read anew each time."""
        [(rows,)] = self.connection.execute(
            f"SELECT coalesce(sum(num_rows), 0) FROM parquet_file_metadata({_file(file)})"
        ).fetchall()
        large = int(rows) * len(self.domain.attributes) > LARGE
        if large:
            self.connection.execute(f"SET allowed_paths = [{text(str(file))}]")
            self.connection.execute(f"SET memory_limit = '{MEMORY}'")
        kind = "VIEW" if large else "TABLE"
        columns = ", ".join(
            f"{sql_code(attribute, quoted(attribute.name))} AS c{place}" for place, attribute in enumerate(self.domain)
        )
        self.connection.execute(f"CREATE {kind} {TUPLES} AS SELECT {columns} FROM read_parquet({_file(file)})")

    def counts(self, condition: Truth | None, by: Sequence[int]) -> NDArray[Any]:
        """How many of the tuples held satisfy a condition, for each cell of the attributes at `by`."""
        places = sorted({*by, *(() if condition is None else condition.places)})
        shape = [self.domain.shape[place] for place in places]
        columns = "".join(f"c{place}, " for place in places)
        few = math.prod(shape) <= LARGE  # elsewhere there are hardly fewer cells than tuples
        counted = f"count(*) AS n FROM {TUPLES} GROUP BY ALL" if few else f"1 AS n FROM {TUPLES}"
        found = np.zeros([self.domain.shape[place] for place in by], object)
        rows: Any = self.run(f"SELECT {columns}{counted}", self.connection.cursor())
        batches = getattr(rows, "to_arrow_reader", None) or rows.fetch_record_batch  # of DuckDB before 1.5
        for batch in batches(BLOCK):
            listed = [column.fill_null(-1).to_numpy().astype(np.int64) for column in batch.columns[:-1]]
            if any(np.any((part < 0) | (part >= size)) for part, size in zip(listed, shape, strict=True)):
                raise ReleaseError("the view holds a tuple that is not in its domain", fix="ask for a new copy")
            codes, times = dict(zip(places, listed, strict=True)), batch.column("n").to_numpy()
            true = np.array(True) if condition is None else evaluate(condition, codes, self)[0]
            here = np.broadcast_to(true, times.shape)
            np.add.at(found, tuple(codes[place][here] for place in by), times[here] if by else times[here].sum())
        return found

    def holds(self, reading: Reading, codes: Codes) -> Truths:
        """Where a predicate that reads public tables is true, and where it is false, for tuples with these codes."""
        columns = np.broadcast_arrays(*(codes[place] for place in reading.places)) or [np.zeros(1, np.int64)]
        shape, given = columns[0].shape, {"i": np.arange(columns[0].size)}
        own = {place: column.ravel() for place, column in zip(reading.places, columns, strict=False)}
        given |= {f"c{place}": column for place, column in own.items()}
        given |= {f"v{n}": self._outside(one, own, columns[0].size) for n, one in enumerate(reading.outside)}
        self.connection.register(f"{OWN}drawn", pyarrow.table(given))
        source = f"SELECT *{self._values(reading.places)} FROM {OWN}drawn"
        sql = f"SELECT ({reading.sql}) AS true FROM ({source}) AS {ROW} ORDER BY {ROW}.i"
        found = np.ma.asarray(self.run(sql).fetchnumpy()["true"])
        known = ~np.ma.getmaskarray(found)
        true = np.asarray(found.filled(False), np.bool_)
        shape = shape if reading.places else ()
        return (true & known).reshape(shape), (~true & known).reshape(shape)

    def _outside(self, one: Outside, codes: Codes, size: int) -> pyarrow.Array:
        """The column of a value that is compared with what a subquery reads."""
        value = as_number(one.value) if isinstance(one.value, Logical) else one.value
        ratios = numbers(value, codes, self)
        over, under, unknown = (np.broadcast_to(part, (size,)) for part in (ratios.over, ratios.under, ~ratios.known))
        match one.kind:
            case "text":
                texts = pyarrow.array(one.texts, pyarrow.string())
                return texts.take(pyarrow.array(over.astype(np.int64), mask=unknown))
            case "day":
                return pyarrow.array((over - EPOCH).astype(np.int32), mask=unknown).cast(pyarrow.date32())
            case "truth":
                return pyarrow.array(over.astype(np.bool_), mask=unknown)
            case _ if isinstance(ratios.under, int) and ratios.under == 1 and over.dtype != object:
                return pyarrow.array(over.astype(np.int64), mask=unknown)
            case _:
                return pyarrow.array(over.astype(np.float64) / under.astype(np.float64), mask=unknown)

    def require_once(self, table: str, columns: Sequence[str]) -> None:
        """Refuse a public table that has some values of these columns twice: a join would count records twice."""
        names = ", ".join(quoted(column) for column in columns)
        sql = f"SELECT count(*) FROM (SELECT {names} FROM {quoted(table)} GROUP BY ALL HAVING count(*) > 1)"
        if self.run(sql).fetchall() != [(0,)]:
            raise QueryError(
                f"{table} has more than one row for a value of {' and '.join(columns)}, so a join counts records twice",
                fix=f"write `in (select {columns[0]} from {table} where ...)`",
            )

    def labels(self, column: PublicColumn) -> Labels:
        """The values of a public column, as texts, and which of them a record has, for each cell of the attributes that
        its table is joined on; -1 where it has none.
        """
        join, shape = column.join, [self.domain.shape[place] for place in column.join.places]
        if math.prod(shape) > LARGE:
            raise QueryError("a table is joined on too many values to group by", fix="group by an attribute")
        cells = np.indices(shape).reshape(len(shape), -1)
        given = {f"c{place}": codes for place, codes in zip(join.places, cells, strict=True)}
        self.connection.register(f"{OWN}drawn", {"i": np.arange(cells.shape[1]), **given})
        source = f"SELECT *{self._values(join.places)} FROM {OWN}drawn"
        on = " AND ".join(
            f"{OWN}t.{quoted(key)} = {ROW}.a{place}" for key, place in zip(join.columns, join.places, strict=True)
        )
        value = f"CAST({OWN}t.{quoted(column.column)} AS VARCHAR)"
        sql = f"SELECT {ROW}.i, {value} FROM ({source}) AS {ROW} JOIN {quoted(join.table)} AS {OWN}t ON {on}"
        found = dict(self.run(sql).fetchall())
        if None in found.values():
            raise QueryError(f"{column.name} has gaps", fix="group by a column that has a value in every row")
        labels = tuple(sorted(set(found.values())))
        which = np.full(cells.shape[1], -1)
        which[list(found)] = [labels.index(label) for label in found.values()]
        return labels, which.reshape(shape)

    def _values(self, places: Sequence[int]) -> str:
        """The values of some attributes beside their codes, for what compares them with public tables."""
        attributes = self.domain.attributes
        return "".join(f", {sql_value(attributes[place], f'c{place}')} AS a{place}" for place in places)

    def run(self, sql: str, connection: duckdb.DuckDBPyConnection | None = None) -> duckdb.DuckDBPyConnection:
        """Run a statement that was written out from a checked syntax tree."""
        self.lock()
        problem = "a value cannot be converted or computed"
        try:
            return (connection or self.connection).execute(sql)
        except duckdb.BinderException as error:
            problem = str(error).splitlines()[0].removeprefix("Binder Error: ").rstrip(".!")
        except duckdb.Error:
            pass
        raise QueryError(
            f"the condition cannot be evaluated: {problem}", fix="compare numbers with numbers and words with words"
        )

    def _load_all(self, public: Public) -> None:
        """Keep the public tables, in bounded memory: a kilobyte of Parquet can hold a billion equal rows."""
        if not public:
            return
        self.connection.execute("SET temp_directory = ''")
        self.connection.execute(f"SET memory_limit = '{MEMORY}'")
        for name, table in public.items():
            self._load(name, table)
        self.connection.execute("RESET memory_limit")
        self.connection.execute("RESET temp_directory")

    def _load(self, name: str, table: Any) -> None:
        made, source = False, f"{OWN}given"
        if name.lower().startswith(OWN):
            raise TableError(f"a public table is called {name}", fix=f"use a name that does not start with {OWN}")
        with suppress(duckdb.Error, ReleaseError):  # ours is raised outside, for DuckDB's may quote the file
            if isinstance(table, str | os.PathLike):
                path = Path(table)
                if path.suffix.lower() in (".parquet", ".pq"):
                    table = read_table(path, values=LARGE, texts=TEXTS)
                else:
                    source = f"read_csv({_file(path)})"
            if not isinstance(table, str | os.PathLike):
                self.connection.register(source, table)
            self.connection.execute(f"CREATE TABLE {quoted(name)} AS SELECT * FROM {source}")
            made = True
        if not made:
            raise TableError(
                f"the public table {name} cannot be read, or takes more than {MEMORY}",
                fix="give a CSV or Parquet file, or a frame, of fewer rows or columns",
                where=name,
            )
        rows = self.connection.execute(f"DESCRIBE {quoted(name)}").fetchall()
        self.public[name] = tuple(str(row[0]) for row in rows)


def _file(path: Path) -> str:
    """A path as SQL, taken at its word: DuckDB would expand patterns in it."""
    return text(glob.escape(str(path)))


# -- side check -------------------------------------------------------------------------------------


def refuse_the_table(side: Mapping[str, SideTable], table: Any) -> None:
    """Refuse a public table that is the protected table's own file, or a copy of it byte by byte."""
    protected = _own_file(table)
    if protected is None:
        return
    for name, one in side.items():
        same = os.path.samefile(one.path, protected)
        if same or (_size(one.path) == _size(protected) and file_hash(one.path) == file_hash(protected)):
            raise PolicyError(
                f"the public table {name} is the table that is to be protected, and a view would copy it",
                fix="take it out of `public`",
                where=f"public {name}",
            )


def check_side_tables(domain: Domain, side: Mapping[str, SideTable], counted: Mapping[tuple[str, ...], Counts]) -> None:
    """Refuse a public table whose rows, on the attributes that it has, are those of the protected table.

    Why  another format, another order of rows or columns, or columns left out make other bytes of the same records.
    """
    for name, one in side.items():
        names = shared_names(domain, one)
        if names and _same(counted[names], _counts(domain.project(names), one.path)):
            raise DataRefusal(
                f"the public table {name} has the rows of the table that is to be protected",
                fix="take it out of `public`",
                where=f"public {name}",
            )


def shared_names(domain: Domain, table: SideTable) -> tuple[str, ...]:
    """The attributes that a public table has too, in the order of the domain."""
    return tuple(name for name in domain.names if name in table.columns)


def _counts(domain: Domain, path: Path) -> Counts | None:
    try:
        with open_table(path, domain) as engine:
            return engine.counts([domain.names])[0]
    except (DataRefusal, TableError):
        return None  # it is no table of these attributes


def _same(one: Counts, other: Counts | None) -> bool:
    return (
        other is not None
        and one.total == other.total
        and np.array_equal(one.codes, other.codes)
        and np.array_equal(one.counts, other.counts)
    )


def _own_file(table: Any) -> Path | None:
    """The file that a table is in, where it is in one."""
    if not isinstance(table, str | os.PathLike):
        return None
    path = Path(str(table).split("#", 1)[0].removeprefix("duckdb:///"))
    return path if path.is_file() else None


def _size(path: Path) -> int:
    return path.stat().st_size
