"""A table that Spark can read: a data frame, or `spark:[MASTER#]TABLE`.

TABLE is a table of the catalogue or a path of Parquet files. Without MASTER, the session that is already there is
used, or one is started as Spark's own settings say. Only aggregates come back to us.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
from sqlglot import exp

from tetraodon.engine.column import Column, Kind
from tetraodon.engine.dialect import BIG, DATE, DOUBLE, Dialect, Door, Sql, call, cast, number, op, try_cast
from tetraodon.errors import DataRefusal, TableError, did_you_mean
from tetraodon.exact.arrays import Ints

SCHEME = "spark:"
QUIET: dict[str, bool | float | int | str | None] = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",  # what Spark logs of a failed task may quote a record
}
FIX = "write spark:catalog.table, spark:MASTER#catalog.table or spark://HOST:PORT#catalog.table"


KINDS = {
    **dict.fromkeys(("byte", "short", "integer", "long"), Kind.INTEGER),
    "float": Kind.SINGLE,
    "double": Kind.DOUBLE,
    **dict.fromkeys(("string", "varchar", "char"), Kind.TEXT),
    "boolean": Kind.BOOLEAN,
    "date": Kind.DATE,
    "timestamp": Kind.ZONED,
    "timestamp_ntz": Kind.TIMESTAMP,
}
LONGEST = "DECIMAL(38, 0)"


def _days(day: Sql) -> Sql:
    return cast(call("UNIX_DATE", day), BIG)


def _utc_days(instant: Sql) -> Sql:
    """By the clock, for the date of an instant depends on the session's time zone."""
    seconds = call("UNIX_SECONDS", instant)
    return op(exp.IntDiv, op(exp.Sub, seconds, call("PMOD", seconds, number(86400))), number(86400))


SPARK = Dialect(
    name="spark",
    end="\\z",
    collation="UTF8_BINARY",
    longest=LONGEST,
    is_nan=lambda value: call("ISNAN", value),
    double=lambda text: try_cast(text, DOUBLE),
    whole=lambda value: cast(value, LONGEST),
    day=lambda text: _days(try_cast(text, DATE)),
    days=_days,
    utc_days=_utc_days,
    quotient=lambda value, by: op(exp.IntDiv, value, by),
)


class SparkTable:
    """A data frame, under a name of its own in its session, which is otherwise left as it is."""

    dialect = SPARK
    decimal = "."

    def __init__(self, frame: Any, stop: Callable[[], None] = lambda: None) -> None:
        self._session, self._view, self._stop = frame.sparkSession, f"tetraodon_{uuid4().hex}", stop
        opened = False
        with suppress(*failures()):  # ours is raised outside, for Spark's may quote the table
            frame.createOrReplaceTempView(self._view)
            self.columns = {field.name: column(field.name, field.dataType) for field in frame.schema}
            opened = True
        if not opened:
            raise TableError("Spark cannot open the table", fix="check that Spark itself can show it")

    def fetch(self, query: Callable[[str], str]) -> dict[str, Ints]:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ResourceWarning)  # PySpark leaves its sockets to the garbage collector
                found = self._session.sql(query(self._view)).toArrow()
            return {name: found[name].to_numpy().astype(np.int64, copy=False) for name in found.column_names}
        except failures() as error:
            failure = explained(error)
        raise failure  # outside, so that Spark's error is not its context

    def close(self) -> None:
        with suppress(*failures()):  # the cluster may be gone
            self._session.catalog.dropTempView(self._view)
        self._stop()


def column(name: str, kind: Any) -> Column:
    """A column of a type of Spark."""
    word = kind.typeName()
    if word != "decimal":
        return Column(name, name, KINDS.get(word, Kind.STRANGE), word)
    if kind.scale == 0:
        return Column(name, name, Kind.WIDE, word)
    return Column(name, name, Kind.DECIMAL, word, kind.precision, kind.scale)


def open_spark(source: Any) -> SparkTable:
    """The table of an address, or a data frame. A session that was started for it ends with it."""
    _installed()
    if not isinstance(source, str):
        return SparkTable(source)
    master, table = _parts(source)
    session, ours = _session(master)
    stop = session.stop if ours else lambda: None  # a session of the caller goes on
    try:
        return SparkTable(_frame(session, table), stop)
    except BaseException:
        stop()
        raise


def _parts(address: str) -> tuple[str, str]:
    """The master, if one is named, and the table."""
    rest = address.removeprefix(SCHEME)
    master, mark, table = rest.rpartition("#")
    if rest.startswith("//"):
        master = address.rpartition("#")[0]
    if not table or (mark and not master) or (rest.startswith("//") and not mark):
        raise TableError("the name of the Spark table cannot be read", fix=FIX)
    return master, table


def _session(master: str) -> tuple[Any, bool]:
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    if active is not None:
        if master and active.sparkContext.master != master:
            raise TableError(
                "there is already a Spark session with another master", fix="stop it, or leave the master out"
            )
        return active, False
    import pyspark

    os.environ.setdefault("SPARK_HOME", str(Path(pyspark.__file__).parent))  # executors are started from there
    builder = SparkSession.builder.appName("tetraodon").config(map=QUIET)
    session = None
    with suppress(*failures(), OSError):  # ours is raised outside, for Spark's may quote its settings
        session = (builder.master(master) if master else builder).getOrCreate()
    if session is None:
        raise TableError(
            "Spark cannot be started or reached", fix="install Java 17 or newer, and check the address of the master"
        )
    return session, True


def _frame(session: Any, table: str) -> Any:
    from pyspark.errors import AnalysisException

    with suppress(*failures()):  # ours is raised outside
        if table.endswith((".parquet", ".pq")):
            return session.read.parquet(table)
        parts = ["`" + part.replace("`", "``") + "`" for part in table.split(".")]
        try:
            return session.table(".".join(parts))
        except AnalysisException:
            known = [row.tableName for row in session.sql("SHOW TABLES").collect()]
            missing = TableError(f"there is no table {table!r}", fix=did_you_mean(table, known), where="Spark")
        raise missing
    raise TableError(
        "Spark cannot open the table", fix="check its name, and that this user may read it", where=f"spark:{table}"
    )


def _installed() -> None:
    try:
        import pyspark  # noqa: F401
    except ImportError:
        raise TableError("Spark is not installed", fix="install it with `pip install 'tetraodon[spark]'`") from None


def failures() -> tuple[type[Exception], ...]:
    """The roots of what PySpark raises."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    return (PySparkException, Py4JError, ConnectionError)


def explained(error: Exception) -> TableError:
    """What an error of Spark means. Whatever else it is, the records may have caused it."""
    from py4j.protocol import Py4JNetworkError
    from pyspark.errors import AnalysisException

    match error:
        case Py4JNetworkError() | ConnectionError():
            return _lost()
        case AnalysisException():
            return TableError("the table has changed since it was opened", fix="run the same command again")
        case _ if "stopped SparkContext" in str(error) or "SparkContext was shut down" in str(error):
            return _lost()
        case _:
            return DataRefusal("the table cannot be counted", fix="check that the table can be read")


def _lost() -> TableError:
    return TableError(
        "the connection to Spark was lost",
        fix="run the same command with --resume once Spark is back; nothing is charged twice",
    )


DOOR = Door(addresses=(SCHEME,), objects="pyspark.sql.", open=open_spark)
