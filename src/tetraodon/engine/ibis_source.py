"""An Ibis table: its own SQL, read by the engine that it lives in.

Only backends whose engine passes the whole of `tests/engine/test_conformance*.py` are let in. Ibis itself is imported
by callers that have such a table, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import duckdb

from tetraodon.engine.dialect import CountableTable, Door
from tetraodon.engine.duckdb_source import DuckDBTable, use_relation
from tetraodon.engine.postgres_source import PostgresTable
from tetraodon.engine.spark_source import open_spark
from tetraodon.errors import TableError


def open_ibis(table: Any) -> CountableTable:
    """The table, which stays in its backend. The connection is the caller's and stays open."""
    import ibis
    from ibis.common.exceptions import IbisError

    if not isinstance(table, ibis.Table):
        raise TableError("the Ibis expression is not a table", fix="give a table expression")
    backends, _ = table._find_backends()
    found = list(backends) or [ibis.get_backend(table)]
    for backend in found:
        if backend.name not in OPENERS:
            raise TableError(f"counting with {backend.name} is not supported", fix=f"use {', '.join(OPENERS)}")
    query = None
    with suppress(IbisError):  # ours is raised outside, for that of Ibis may quote the table
        found[0]._run_pre_execute_hooks(table)  # data in memory is shown to the backend
        query = str(found[0].compile(table))
    if query is None:
        raise _unreadable()
    return OPENERS[found[0].name](found[0], query)


def _unreadable() -> TableError:
    return TableError("the Ibis table cannot be read", fix="see whether Ibis itself can show it")


def _in_duckdb(backend: Any, query: str) -> CountableTable:
    relation = None
    with suppress(duckdb.Error):  # ours is raised outside, for DuckDB's may quote the table
        relation = backend.con.sql(query)
    if relation is None:
        raise _unreadable()
    table = DuckDBTable()
    try:
        use_relation(table, relation)
    except BaseException:
        table.close()
        raise
    return table


OPENERS: dict[str, Callable[[Any, str], CountableTable]] = {
    "duckdb": _in_duckdb,
    "postgres": lambda backend, query: PostgresTable(backend.con, f"({query}) AS given", lambda: None),
    "pyspark": lambda backend, query: open_spark(backend._session.sql(query)),
}
DOOR = Door(objects="ibis.", open=open_ibis)
