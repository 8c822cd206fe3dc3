"""A table of a Postgres database, named as `postgresql://USER@HOST/DATABASE#schema.table`.

A role that may only read is enough. The session is set to read only, nothing is created in it, and time limits of the
role hold. Neither the address nor what the driver says is passed on: both may hold a password.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from tetraodon.errors import TableError, did_you_mean
from tetraodon.server_address import server_name, table_of

SCHEMES = ("postgresql://", "postgres://")
READABLE = """
SELECT n.nspname, c.relname, n.nspname = ANY (current_schemas(false)),
       has_schema_privilege(n.oid, 'USAGE') AND has_any_column_privilege(c.oid, 'SELECT')
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'v', 'm', 'p', 'f') AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
ORDER BY 1, 2
"""
LOST = "run the same command with --resume once the database is back; nothing is charged twice"


def open_postgres(address: str) -> tuple[Any, Callable[[], None]]:
    """The table as an Ibis table, and how to let go of it."""
    try:
        import ibis
        import psycopg
    except ImportError:
        raise TableError(
            "the driver for Postgres is not installed", fix="install it with `pip install 'tetraodon[postgres]'`"
        ) from None
    where = server_name(address)
    server, name = table_of(address)
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
            connection.execute("SET default_transaction_read_only = on")
            schema, title = _table(connection.execute(READABLE).fetchall(), name, where)
            backend = ibis.postgres.from_connection(connection)
            return backend.table(title, database=schema), connection.close
        except psycopg.Error as error:
            failure = explained(error) or _lost()
        raise failure.at(where)
    except BaseException:
        connection.close()
        raise


def _table(known: list[tuple[str, str, bool, bool]], name: str, where: str) -> tuple[str, str]:
    spelt = {f"{schema}.{title}": (schema, title, readable) for schema, title, _, readable in known}
    spelt |= {title: (schema, title, readable) for schema, title, near, readable in known if near}
    if name not in spelt:
        what = f"there is no table {name!r}" if name else "the address names no table"
        names = [title for title, found in spelt.items() if found[2]]
        fix = did_you_mean(name, names) if name else f"end the address with #schema.table; {did_you_mean('', names)}"
        raise TableError(what, fix=fix, where=where)
    schema, title, readable = spelt[name]
    if not readable:
        raise _no_right(where)
    return schema, title


def failures() -> tuple[type[Exception], ...]:
    """The root of the driver's errors."""
    import psycopg

    return (psycopg.Error,)


def explained(error: Exception) -> TableError | None:
    """What an error of the driver means; None if the records may have caused it."""
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
            return _lost()
        case _:
            return None


def _lost() -> TableError:
    return TableError("the connection to the database was lost", fix=LOST)


def _no_right(where: str) -> TableError:
    return TableError(
        "this role may not read the table",
        fix="let the owner GRANT SELECT on its columns, and USAGE on its schema, to the role",
        where=where,
    )
