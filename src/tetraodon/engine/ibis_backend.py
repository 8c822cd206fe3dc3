"""What is particular to each database behind Ibis: its dialect, how answers are fetched, and what its errors mean.

Only backends that pass the whole of `tests/engine/test_conformance.py` and whose errors we know are let in: a
driver's own error may quote a record, so none of it is ever passed on.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

import duckdb
import ibis
import numpy as np
from ibis.common.exceptions import IbisError
from numpy.typing import NDArray

from tetraodon.errors import DataRefusal, TableError

Columns: TypeAlias = dict[str, NDArray[np.int64]]
Failures: TypeAlias = tuple[type[Exception], ...]

SUPPORTED = ("duckdb", "postgres", "pyspark")
CHUNK = 50_000


class IbisBackend:
    """The database that an Ibis table lives in."""

    def __init__(self, table: Any) -> None:
        if not isinstance(table, ibis.Table):
            raise TableError("the Ibis expression is not a table", fix="give a table expression")
        backends, _ = table._find_backends()
        found = list(backends) or [ibis.get_backend(table)]
        for backend in found:
            if backend.name not in SUPPORTED:
                raise TableError(f"counting with {backend.name} is not supported", fix=f"use {', '.join(SUPPORTED)}")
        self.backend = found[0]
        self.dialect: str = self.backend.name
        self._failures, self._explained = _errors(self.dialect)

    def fetch(self, expression: Any) -> Columns:
        """The answer to a query for whole numbers. Raises TableError, with nothing from the driver in it."""
        try:
            with _apart():
                match self.dialect:
                    case "postgres":
                        return self._fetch_postgres(expression)
                    case "pyspark":
                        return self._fetch_spark(expression)
                    case _:
                        return _columns(expression.to_pyarrow())
        except self._failures as error:
            failure = self._explained(error)
        raise failure  # outside, so that the driver's error is not its context

    def _fetch_postgres(self, expression: Any) -> Columns:
        """By the driver itself: through a data frame, a million cells would take hundreds of megabytes."""
        names = expression.schema().names
        with self.backend.con.cursor(binary=True) as cursor:
            cursor.execute(self.backend.compile(expression))
            parts = [np.zeros((0, len(names)), np.int64)]
            while rows := cursor.fetchmany(CHUNK):
                parts.append(np.array(rows, np.int64))
        whole = np.concatenate(parts)
        return {name: np.ascontiguousarray(whole[:, place]) for place, name in enumerate(names)}

    def _fetch_spark(self, expression: Any) -> Columns:
        session = self.backend._session
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)  # PySpark leaves its sockets to the garbage collector
            found = session.sql(self.backend.compile(expression)).toArrow()
        return _columns(found)

    def compile(self, expression: Any) -> str:
        """The SQL of an expression."""
        with _apart():
            return str(self.backend.compile(expression))


@contextmanager
def _apart() -> Iterator[None]:
    """SELECTs stay nested as we nest them: fused into one, each would read a value as often as it is used."""
    before = ibis.options.sql.fuse_selects
    ibis.options.sql.fuse_selects = False
    try:
        yield
    finally:
        ibis.options.sql.fuse_selects = before


def _columns(found: Any) -> Columns:
    return {name: found[name].to_numpy().astype(np.int64, copy=False) for name in found.column_names}


def _errors(dialect: str) -> tuple[Failures, Callable[[Exception], TableError]]:
    """The roots of a backend's errors, and what one of them means."""
    match dialect:
        case "postgres":
            from tetraodon.engine.postgres_source import explained, failures
        case "pyspark":
            from tetraodon.engine.spark_source import explained, failures
        case _:
            return (IbisError, duckdb.Error), _cannot_be_counted
    return (IbisError, *failures()), lambda error: explained(error) or _cannot_be_counted(error)


def _cannot_be_counted(_error: Exception) -> TableError:
    return DataRefusal("the table cannot be counted", fix="check that the table can be read")
