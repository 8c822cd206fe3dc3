"""A table that Spark can read: a data frame, or `spark:[MASTER#]TABLE`.

TABLE is a table of the catalogue or a path of Parquet files. Without MASTER, the session that is already there is
used, or one is started as Spark's own settings say. Only aggregates come back to us.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

from tetraodon.errors import TableError, did_you_mean

SCHEME = "spark:"
ZONE = "spark.sql.session.timeZone"
QUIET: dict[str, bool | float | int | str | None] = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",  # what Spark logs of a failed task may quote a record
}
FIX = "write spark:catalog.table, spark:MASTER#catalog.table or spark://HOST:PORT#catalog.table"


def open_spark(address: str) -> tuple[Any, Callable[[], None]]:
    """The table as an Ibis table, and how to let go of it. A session that was started for it ends with it."""
    _installed()
    master, table = _parts(address)
    session, ours = _session(master)
    stop = session.stop if ours else _nothing
    try:
        return open_frame(_frame(session, table), stop)
    except BaseException:
        stop()
        raise


def open_frame(frame: Any, stop: Callable[[], None] = lambda: None) -> tuple[Any, Callable[[], None]]:
    """A Spark data frame as an Ibis table, and how to let go of it. The session is left as it was."""
    _installed()
    import ibis

    session, view = frame.sparkSession, f"tetraodon_{uuid4().hex}"
    zone = session.conf.get(ZONE)
    opened = None
    with suppress(*failures()):  # ours is raised outside, for Spark's may quote the table
        frame.createOrReplaceTempView(view)
        opened = ibis.pyspark.connect(session).table(view)

    def close() -> None:
        with suppress(*failures()):  # the cluster may be gone
            session.catalog.dropTempView(view)
            session.conf.set(ZONE, zone)
        stop()

    if opened is None:
        close()
        raise TableError("Spark cannot open the table", fix="check that Spark itself can show it")
    return opened, close


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


def explained(error: Exception) -> TableError | None:
    """What an error of Spark means; None if the records may have caused it."""
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
            return None


def _lost() -> TableError:
    return TableError(
        "the connection to Spark was lost",
        fix="run the same command with --resume once Spark is back; nothing is charged twice",
    )


def _nothing() -> None:
    """Leave the session alone: it is somebody else's."""
