"""Finding the engine for a table, and reading a query in place of a table."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING, TypeAlias

import duckdb
import sqlglot
from sqlglot import exp

from tetraodon.database_url import may_hold_password
from tetraodon.domain import Domain
from tetraodon.engine import duckdb_source, typed_files
from tetraodon.engine.counting import Engine, Individuals
from tetraodon.engine.csv_table import CsvFormat
from tetraodon.engine.dialect import CountableTable, Door
from tetraodon.engine.duckdb_source import SMALL_FILES, SMALL_FRAMES, DuckDBTable, SmallTables
from tetraodon.errors import TableError

if TYPE_CHECKING:
    import ibis
    import pandas
    import polars
    import pyarrow
    import pyspark.sql


# -- row query --------------------------------------------------------------------------------------
# A query in place of a table: `select age, sex from 'people.parquet' where age >= 18`.
#
# The policy speaks of the table after FROM, so columns are selected as they are: a computed or renamed column could put
# a secret under a public name, or one person under two keys. The condition is not for the engine. It becomes `where` of
# every item (`releases/counting.py`), which the kernel prices, and the table is read whole.

BEGINS = re.compile(r"\s*(select|with|from)\s", re.IGNORECASE)
LONGEST = 10_000


@dataclass(frozen=True, slots=True)
class RowQuery:
    """A query that was read: the columns it selects (None for all), its condition as text, and the table it reads."""

    columns: frozenset[str] | None
    condition: str
    origin: str


def is_query(source: object) -> bool:
    """Whether a text is meant as a query rather than a path.

    >>> is_query("select age from 'people.csv'"), is_query("select.csv")
    (True, False)
    """
    return isinstance(source, str) and BEGINS.match(source) is not None


def read_query(text: str) -> RowQuery:
    """The query in a text. Raises TableError for anything but one plain SELECT of the rows of one table.

    >>> read_query("select * from 'people.csv' where sex = 'f'")
    RowQuery(columns=None, condition="sex = 'f'", origin='people.csv')
    """
    try:
        statements = sqlglot.parse(text, read="duckdb") if len(text) <= LONGEST else []
    except (sqlglot.errors.SqlglotError, RecursionError):
        statements = []
    found = [statement for statement in statements if statement is not None]
    if not found:
        raise _refused("the query cannot be read")
    if len(found) != 1:
        raise _refused("there is more than one statement")
    [query] = found
    if not isinstance(query, exp.Select):
        raise _refused("this is no SELECT of the rows of a table")
    if {key for key, value in query.args.items() if value} - {"expressions", "from_", "where"}:
        raise _refused("the query has more than columns, one table and a condition")
    where = query.args.get("where")
    return RowQuery(_columns(query), "" if where is None else where.this.sql(dialect="duckdb"), _origin(query))


def _columns(query: exp.Select) -> frozenset[str] | None:
    """The names of the columns that are selected; None for `*`."""
    if not query.expressions:
        raise _refused("the query selects no column")
    for part in query.expressions:
        given = {key for key, value in part.args.items() if value}
        star, column = isinstance(part, exp.Star) and not given, isinstance(part, exp.Column) and given == {"this"}
        if not star and not (column and isinstance(part.this, exp.Identifier)):
            raise TableError(
                "the query renames or computes a column, and the policy speaks of the columns of the table",
                fix="select columns as they are, or make a view with the computed column and name that as the table",
            )
    if any(isinstance(part, exp.Star) for part in query.expressions):
        return None
    return frozenset(part.name for part in query.expressions)


def _origin(query: exp.Select) -> str:
    found = query.args.get("from_")
    table: exp.Expression = exp.Null() if found is None else found.this
    plain = isinstance(table, exp.Table) and {key for key, value in table.args.items() if value} == {"this"}
    if not plain or not isinstance(table.this, exp.Identifier) or not table.this.args.get("quoted"):
        raise TableError("the query does not name its table in quotes", fix="write FROM 'people.parquet'")
    origin = str(table.this.this)
    if is_query(origin):
        raise _refused("the query reads another query")
    return origin


def _refused(what: str) -> TableError:
    return TableError(
        what,
        fix="write SELECT columns FROM 'table' WHERE condition; make a table of anything else first, and name that",
    )


# -- open table -------------------------------------------------------------------------------------

Source: TypeAlias = (
    "str | os.PathLike[str] | pandas.DataFrame | polars.DataFrame | polars.LazyFrame | pyarrow.Table"
    " | duckdb.DuckDBPyRelation | ibis.Table | pyspark.sql.DataFrame"
)
EVERYBODY = Individuals()
ROOM = "tetraodon.engine"
DOORS: tuple[Door, ...] = tuple(
    import_module(f"{ROOM}.{found.name}").DOOR
    for found in iter_modules([str(Path(__file__).parent)])
    if found.name.endswith("_source") and found.name != "duckdb_source"
)
"""The engines other than DuckDB, which takes every source that none of them does."""
ADDRESSES = tuple(prefix for door in DOORS for prefix in door.addresses)
"""How the names of tables begin that are not files; they may hold a password, so they are not shown."""
CSV = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz")
PARQUET = (".parquet", ".pq")
SMALL, VALUE = 2**21, 8
"""Bytes of a small table; those of a value, about."""
DATABASE = re.compile(r"(?P<file>.+?\.(?:duckdb|ddb|db))(?:#(?P<table>.*))?", re.IGNORECASE | re.DOTALL)


def open_table(
    source: Source,
    domain: Domain,
    individuals: Individuals = EVERYBODY,
    *,
    csv: CsvFormat | None = None,
    open_text: Sequence[str] = (),
) -> Engine:
    """The engine that counts a table by the attributes of a domain, and by columns of open text.

    Pre   `source` is the path of a CSV file (may end in .gz), of a Parquet file or pattern of files, or of
          a DuckDB file as `file.duckdb#table`; or of a spreadsheet or a file of SPSS, Stata or SAS, see `typed_files`;
          or the address of a table in Postgres or Spark, see `postgres_source` and `spark_source`; or a pandas, polars
          or Spark frame, a pyarrow table, a duckdb relation or an Ibis table.
    Post  every column is there and of a type that can hold its attribute; records were looked at only to see whether
          DuckDB reads the lines of a CSV file rightly by itself, and to write the objects of a pandas frame as text.
          A polars LazyFrame has been run.
    Raises TableError otherwise; it never quotes the table.

    >>> from tetraodon.domain import Attribute, Integers
    >>> with open_table(duckdb.sql("SELECT 120 AS age"), Domain((Attribute("age", Integers(0, 99)),))) as engine:
    ...     engine.counts([("age",)])[0].codes.tolist()
    [[99]]
    """
    table = opened(source, [*domain.names, *([individuals.key] if individuals.key else []), *open_text], csv)
    try:
        return Engine(table, domain, individuals, open_text)
    except BaseException:
        table.close()
        raise


def opened(source: Source, wanted: Sequence[str] = (), csv: CsvFormat | None = None) -> CountableTable:
    """A table wherever it lives, to be closed by the caller. Of files and frames, the columns wanted must be there."""
    for door in DOORS:
        if door.leads_to(source):
            return door.open(source)
    if isinstance(source, str) and is_query(source):
        raise TableError("a query is no table", fix="name the table that it reads")
    table = DuckDBTable(_shared(source))
    try:
        _show(table, source, wanted, csv)
        return table
    except BaseException:
        table.close()
        raise


def _shared(source: object) -> SmallTables | None:
    """The database that a small table is shown to; None where it is to have its own."""
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        with suppress(OSError):  # opening it says what is wrong
            if path.name.lower().endswith((*CSV, *PARQUET)) and path.is_file() and path.stat().st_size <= SMALL:
                return SMALL_FILES
        return None
    framed = type(source).__module__.startswith(("polars.", "pyarrow.", "pandas."))
    shape = getattr(source, "shape", ()) if framed else ()
    return SMALL_FRAMES if shape and math.prod(shape) * VALUE <= SMALL else None


def _show(table: DuckDBTable, source: object, wanted: Sequence[str], csv: CsvFormat | None) -> None:
    family, word = type(source).__module__.partition(".")[0], type(source).__name__
    if isinstance(source, str | os.PathLike):
        _show_path(table, os.fspath(source), wanted, csv)
    elif isinstance(source, duckdb.DuckDBPyRelation):
        duckdb_source.use_relation(table, source)
    elif (family, word) == ("polars", "LazyFrame"):
        duckdb_source.use_lazy_frame(table, source, wanted)
    elif (family, word) in (("pandas", "DataFrame"), ("polars", "DataFrame"), ("pyarrow", "Table")):
        duckdb_source.use_frame(table, source, wanted)
    else:
        raise TableError(
            f"a table cannot be a {word}",
            fix="give a path or an address, a pandas, polars or Spark frame, a pyarrow table, a duckdb relation or an "
            "Ibis table",
        )


def local_path(address: str) -> str:
    """The path in an address of this machine. As with `sqlite:///`, a file of the folder we are in has three slashes.

    >>> local_path("people.csv"), local_path("duckdb:///people.duckdb#people"), local_path("duckdb:////data/p.db")
    ('people.csv', 'people.duckdb#people', '/data/p.db')
    """
    path = address.removeprefix("duckdb://")
    whole = path == address or not path.startswith("/") or os.path.exists(path.partition("#")[0])
    if "://" in path or (may_hold_password(path) and not os.path.exists(path.partition("#")[0])):
        raise TableError(
            "there is no engine for this kind of address",
            fix="write postgresql://...#schema.table, spark:catalog.table, duckdb:///file.duckdb#table or a path",
        )
    return path if whole else path[1:]


def _show_path(table: DuckDBTable, path: str, wanted: Sequence[str], csv: CsvFormat | None) -> None:
    path = local_path(path)
    if database := DATABASE.fullmatch(path):
        duckdb_source.use_database(table, Path(database["file"]), database["table"] or "")
    elif sheet := typed_files.SHEET.fullmatch(path):
        typed_files.use_sheet(table, Path(sheet["file"]), sheet["sheet"] or "", wanted)
    elif path.lower().endswith(tuple(typed_files.READERS)):
        typed_files.use_package_file(table, Path(path), wanted)
    elif path.lower().endswith(PARQUET):
        duckdb_source.use_parquet(table, Path(path), wanted)
    elif path.lower().endswith(CSV):
        duckdb_source.use_csv(table, Path(path), csv or CsvFormat(), wanted)
    else:
        known = ", ".join((*CSV, *PARQUET, ".duckdb", ".xlsx", ".ods", *typed_files.READERS))
        raise TableError("the file's format is not known by its name", fix=f"use one of {known}", where=path)
