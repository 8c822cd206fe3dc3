"""A table of a Postgres database, named as `postgresql://USER@HOST/DATABASE#schema.table`.

A role that may only read is enough. The session is set to read only, nothing is created in it, and time limits of the
role hold. Neither the address nor what the driver says is passed on: both may hold a password.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlglot import exp

from tetraodon.database_url import server_name, table_of
from tetraodon.engine.column import REALS, Column, Kind
from tetraodon.engine.dialect import (
    BIG,
    DATE,
    DOUBLE,
    Dialect,
    Door,
    Sql,
    call,
    cast,
    clamped,
    name,
    number,
    op,
    real,
    since_1970,
    string,
    when,
)
from tetraodon.errors import DataRefusal, TableError, did_you_mean
from tetraodon.exact.arrays import Ints

if TYPE_CHECKING:
    import psycopg

READABLE = """
SELECT n.nspname, c.relname, n.nspname = ANY (current_schemas(false)),
       has_schema_privilege(n.oid, 'USAGE') AND has_any_column_privilege(c.oid, 'SELECT')
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'v', 'm', 'p', 'f') AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
ORDER BY 1, 2
"""
SETTINGS = {"default_transaction_read_only": "on", "standard_conforming_strings": "on", "datestyle": "ISO"}
"""Of our own sessions; in the last two, texts are quoted and dates are written as the standard says."""
LOST = "run the same command with --resume once the database is back; nothing is charged twice"
CHUNK = 50_000
KINDS = {
    "bool": Kind.BOOLEAN,
    **dict.fromkeys(("int2", "int4", "int8"), Kind.INTEGER),
    "float4": Kind.SINGLE,
    "float8": Kind.DOUBLE,
    **dict.fromkeys(("text", "varchar", "bpchar", "name", "uuid"), Kind.TEXT),
    "date": Kind.DATE,
    "timestamp": Kind.TIMESTAMP,
    "timestamptz": Kind.ZONED,
}
LONGEST, MOST = "DECIMAL(38, 0)", 10**37
SAFE = "[ \\t]*[+-]?0*([1-9][0-9]{0,200}([.][0-9]*)?|([.][0-9]{0,200})?)([eE][+-]?0*[0-9]{1,2})?[ \\t]*"
"""A number that is far from overflowing a double, if it is one at all; one beyond it is huge, or nothing."""
TINY = "[eE]-|^[ \\t]*[+-]?0*[.]|^[ \\t]*[+-]?0+[eE]"


def _double(text: Sql) -> Sql:
    safe = POSTGRES.matches(text, SAFE), cast(text, DOUBLE)
    tiny = exp.RegexpLike(this=text, expression=string(TINY)), real("0")
    negative = exp.RegexpLike(this=text, expression=string("^[ \\t]*-")), real("-1e40")
    return when(safe, tiny, negative, otherwise=real("1e40"))


def _day(text: Sql) -> Sql:
    """By way of the first of its month, for a cast to a day that does not exist would fail."""
    month, day = call("SUBSTR", text, number(6), number(2)), call("SUBSTR", text, number(9), number(2))
    first = cast(op(exp.DPipe, call("SUBSTR", text, number(1), number(8)), string("01")), DATE)
    reached = op(exp.Add, first, op(exp.Sub, cast(day, "INT"), number(1)))
    return when((op(exp.EQ, call("TO_CHAR", reached, string("MM")), month), since_1970(reached)))


def _value(column: Column, place: Sql) -> Sql:
    """A numeric without a scale is spelt without zeros at its end: 1 and 1.0 are equal."""
    return call("TRIM_SCALE", place) if column.shown == "numeric" and column.kind is Kind.TEXT else place


POSTGRES = Dialect(
    name="postgres",
    end="$",
    collation="C",
    value=_value,
    longest=LONGEST,
    nan_kinds=REALS | {Kind.DECIMAL, Kind.WIDE},
    is_nan=lambda value: op(exp.EQ, value, string("NaN")),
    double=_double,
    whole=lambda value: cast(clamped(value, number(-MOST), number(MOST)), LONGEST),  # it has any length there
    day=_day,
    quotient=lambda value, by: cast(exp.Paren(this=exp.Div(this=value, expression=by, typed=True, safe=False)), BIG),
)


class PostgresTable:
    """The table of the FROM clause `origin`, read through a connection."""

    dialect = POSTGRES
    decimal = "."

    def __init__(self, connection: psycopg.Connection[Any], origin: str, close: Callable[[], None]) -> None:
        self.connection = connection
        self.close = close
        self._origin = origin
        self._require_standard()
        self.columns = {column.name: column for column in self._described()}

    def fetch(self, query: Callable[[str], str]) -> dict[str, Ints]:
        """By the driver itself: through a data frame, a million cells would take hundreds of megabytes."""
        import psycopg

        try:
            with self.connection.transaction(), self.connection.cursor(binary=True) as cursor:
                cursor.execute(query(self._origin).encode(self.connection.info.encoding))
                names = [column.name for column in cursor.description or ()]
                parts = [np.zeros((0, len(names)), np.int64)]
                while rows := cursor.fetchmany(CHUNK):
                    parts.append(np.array(rows, np.int64))
            whole = np.concatenate(parts)
            return {title: np.ascontiguousarray(whole[:, place]) for place, title in enumerate(names)}
        except psycopg.Error as error:
            failure = explained(error)
        raise failure  # outside, so that the driver's error is not its context

    def _require_standard(self) -> None:
        """Refuse a session in which a backslash would end our texts, or dates are written otherwise."""
        status = self.connection.info.parameter_status
        strings, dates = status("standard_conforming_strings"), status("DateStyle") or ""
        if strings != "on" or not dates.startswith("ISO"):
            raise TableError(
                "the session quotes texts or writes dates in another way than the standard",
                fix="SET standard_conforming_strings = on and SET datestyle = ISO in it",
            )

    def _described(self) -> list[Column]:
        """The columns, from the server's own description of a query that is never run: it needs no rights."""
        from psycopg.pq import ExecStatus

        pg, encoding = self.connection.pgconn, self.connection.info.encoding
        pg.prepare(b"", f"SELECT * FROM {self._origin}".encode(encoding))
        found = pg.describe_prepared(b"")
        if found.status != ExecStatus.COMMAND_OK:
            raise TableError("the table cannot be opened", fix="check that the role may use its schema, and try again")
        types = self.connection.adapters.types
        listed = []
        for place in range(found.nfields):
            known = types.get(found.ftype(place))  # that of an array is its elements'
            kind = "another type" if known is None else known.name if known.oid == found.ftype(place) else "array"
            title = (found.fname(place) or b"").decode(encoding)
            listed.append(column(title, kind, found.fmod(place)))
        return listed


def column(title: str, kind: str, modifier: int) -> Column:
    """A column of a type of Postgres. A numeric without a scale is read as it is written."""
    if kind != "numeric" or modifier < 0:
        return Column(title, title, Kind.TEXT if kind == "numeric" else KINDS.get(kind, Kind.STRANGE), kind)
    width, scale = (modifier - 4) >> 16, (((modifier - 4) & 0x7FF) ^ 0x400) - 0x400
    if scale <= 0:
        return Column(title, title, Kind.WIDE, kind)
    return Column(title, title, Kind.DECIMAL, kind, width, scale)


def open_postgres(address: str) -> PostgresTable:
    """The table of an address, through a connection of its own."""
    try:
        import psycopg
    except ImportError:
        raise TableError(
            "the driver for Postgres is not installed", fix="install it with `pip install 'tetraodon[postgres]'`"
        ) from None
    where = server_name(address)
    server, title = table_of(address)
    connection = None
    with suppress(psycopg.Error, UnicodeError, ValueError):  # ours is raised outside: the driver's tells the address
        connection = psycopg.connect(server, autocommit=True)
    if connection is None:
        raise TableError(
            "the database cannot be reached, or refuses this role",
            fix="check host, port, database, role and password; psql with the same address says more",
            where=where,
        )
    try:
        failure: TableError | None = None
        try:
            for setting, value in SETTINGS.items():
                connection.execute("SELECT set_config(%s, %s, false)", (setting, value))
            parts = _table(connection.execute(READABLE).fetchall(), title, where)
            origin = ".".join(name(part).sql(dialect="postgres") for part in parts)
            return PostgresTable(connection, origin, connection.close)
        except psycopg.Error as error:
            failure = explained(error)
        raise failure.at(where)
    except BaseException:
        connection.close()
        raise


def _table(known: list[tuple[str, str, bool, bool]], asked: str, where: str) -> tuple[str, str]:
    spelt = {f"{schema}.{title}": (schema, title, readable) for schema, title, _, readable in known}
    spelt |= {title: (schema, title, readable) for schema, title, near, readable in known if near}
    if asked not in spelt:
        what = f"there is no table {asked!r}" if asked else "the address names no table"
        names = [title for title, found in spelt.items() if found[2]]
        fix = did_you_mean(asked, names) if asked else f"end the address with #schema.table; {did_you_mean('', names)}"
        raise TableError(what, fix=fix, where=where)
    schema, title, readable = spelt[asked]
    if not readable:
        raise _no_right(where)
    return schema, title


def explained(error: psycopg.Error) -> TableError:
    """What an error of the driver means. Whatever else it is, the records may have caused it."""
    import psycopg

    match error:
        case psycopg.errors.InsufficientPrivilege():
            return _no_right("")
        case psycopg.errors.QueryCanceled():
            return TableError(
                "the database stopped the query",
                fix="raise the role's statement_timeout, or ask for fewer items at once; nothing was charged",
            )
        case psycopg.errors.UndefinedTable() | psycopg.errors.UndefinedColumn():
            return TableError("the table has changed since it was opened", fix="run the same command again")
        case psycopg.OperationalError() | psycopg.InterfaceError():
            return TableError("the connection to the database was lost", fix=LOST)
        case _:
            return DataRefusal("the table cannot be counted", fix="check that the table can be read")


def _no_right(where: str) -> TableError:
    return TableError(
        "this role may not read the table",
        fix="let the owner GRANT SELECT on its columns, and USAGE on its schema, to the role",
        where=where,
    )


DOOR = Door(addresses=("postgresql://", "postgres://"), open=open_postgres)
