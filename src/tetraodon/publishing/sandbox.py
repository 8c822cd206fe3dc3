"""A database that holds a view and the public tables beside it, and can reach nothing else."""

from __future__ import annotations

import glob
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, TypeAlias

import duckdb
import numpy as np
from numpy.typing import NDArray

from tetraodon.domain import Attribute, Domain
from tetraodon.engine.duckdb_sql import quoted, text
from tetraodon.errors import QueryError, ReleaseError, TableError
from tetraodon.publishing.sql_value import sql_type, sql_value
from tetraodon.releasing.foreign_parquet import read_table

Public: TypeAlias = Mapping[str, Any]
"""Public side tables by name: paths of CSV or Parquet files, frames, or arrow tables."""
NOTHING: Final[Public] = {}
LARGE: Final = 2**24
"""Files of more values than this, however well they are compressed, are read anew for each question."""
MEMORY: Final = "400MB"
"""What the database may use where a large file is read."""
TEXTS: Final = 100_000_000
"""Bytes of text in a public table that is read from Parquet."""
OWN: Final = "tetraodon_"
"""How our own tables are called, so that no public table is mistaken for one of them."""
ROW: Final = f"{OWN}row"
"""The name under which expressions know the tuple they look at."""
TUPLES: Final = f"{OWN}tuples"


class Sandbox:
    """A private database: columns a0, a1, ... stand for the attributes, public tables keep their names.

    Post  the connection reads no file, no network and no variable of the program, and its settings cannot be changed.
    """

    def __init__(self, domain: Domain, public: Public = NOTHING) -> None:
        self.domain = domain
        self.connection = duckdb.connect(":memory:")
        self.public: dict[str, tuple[str, ...]] = {}
        self._values: set[int] = set()
        self._load_all(public)
        columns = ", ".join(f"a{place} {sql_type(attribute)}" for place, attribute in enumerate(domain))
        self.connection.execute(f"CREATE TABLE {OWN}nobody({columns})")
        self._locked = False

    def lock(self) -> None:
        """From here on nothing from outside can be read. Nothing is evaluated before."""
        if not self._locked:
            self.connection.execute("SET enable_external_access = false")
            self.connection.execute("SET lock_configuration = true")
            self._locked = True

    def hold(self, file: Path) -> None:
        """Keep the tuples of a Parquet file as the table `tuples`; a large file is read anew each time."""
        [(rows,)] = self.connection.execute(
            f"SELECT coalesce(sum(num_rows), 0) FROM parquet_file_metadata({_file(file)})"
        ).fetchall()
        large = int(rows) * len(self.domain.attributes) > LARGE
        if large:
            self.connection.execute(f"SET allowed_paths = [{text(str(file))}]")
            self.connection.execute(f"SET memory_limit = '{MEMORY}'")
        kind = "VIEW" if large else "TABLE"
        columns = ", ".join(
            f"CAST({quoted(attribute.name)} AS {sql_type(attribute)}) AS a{place}"
            for place, attribute in enumerate(self.domain)
        )
        self.connection.execute(f"CREATE {kind} {TUPLES} AS SELECT {columns} FROM read_parquet({_file(file)})")

    def types_of(self, expressions: Sequence[str]) -> list[str]:
        """The types of expressions over a tuple."""
        rows = self.run(f"DESCRIBE SELECT {', '.join(expressions)} FROM {OWN}nobody AS {ROW}").fetchall()
        return [str(row[1]) for row in rows]

    def cells_where(self, condition: str, places: Sequence[int]) -> NDArray[np.bool_]:
        """Whether a condition on some attributes holds, for each of their cells. Ask their number first."""
        shape = [self.domain.attributes[place].size for place in places]
        sources, cell = [], "0"
        for place, size in zip(places, shape, strict=True):
            sources.append(self._attribute(place))
            cell = f"({cell}) * {size} + v{place}.code"
        values = ", ".join(f"v{place}.a{place}" for place in places)
        inner = f"SELECT {cell} AS cell{', ' if places else ''}{values} {'FROM ' if places else ''}{', '.join(sources)}"
        found = self.run(f"SELECT {ROW}.cell FROM ({inner}) AS {ROW} WHERE {condition}").fetchnumpy()["cell"]
        holds = np.zeros(int(np.prod(shape, dtype=np.int64)), np.bool_)
        holds[np.asarray(found, np.int64)] = True
        return holds.reshape(shape)

    def samples_where(self, condition: str, codes: Mapping[int, NDArray[np.int64]]) -> int:
        """How many of some tuples, given by the codes of the attributes that matter, satisfy a condition."""
        self.connection.register(f"{OWN}drawn", {f"c{place}": column for place, column in codes.items()})
        values = ", ".join(f"{sql_value(self.domain.attributes[place], f'c{place}')} AS a{place}" for place in codes)
        sql = f"SELECT count(*) FROM (SELECT {values} FROM {OWN}drawn) AS {ROW} WHERE {condition}"
        [(found,)] = self.run(sql).fetchall()
        return int(found)

    def run(self, sql: str) -> duckdb.DuckDBPyConnection:
        """Run a statement that was written out from a checked syntax tree."""
        self.lock()
        problem = "a value cannot be converted or computed"
        try:
            return self.connection.execute(sql)
        except duckdb.BinderException as error:
            problem = str(error).splitlines()[0].removeprefix("Binder Error: ").rstrip(".!")
        except duckdb.Error:
            pass
        raise QueryError(
            f"the condition cannot be evaluated: {problem}", fix="compare numbers with numbers and words with words"
        )

    def _attribute(self, place: int) -> str:
        """The values of one attribute with their codes, as a table made when first needed."""
        if place not in self._values:
            attribute = self.domain.attributes[place]
            self.run(
                f"CREATE TABLE {OWN}values_{place} AS SELECT range AS code, {_listed(attribute)} AS a{place} "
                f"FROM range({attribute.size})"
            )
            self._values.add(place)
        return f"{OWN}values_{place} AS v{place}"

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


def _listed(attribute: Attribute) -> str:
    return sql_value(attribute, "range")
