"""Tables in a real cluster of two executors: names, sessions left as they were, and an executor that dies."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Timer

import duckdb
import psutil
import pytest
from tests.engine.tables import found
from tests.services import needs_spark, spark

from tetraodon.domain import Attribute, Categories, Domain, Integers
from tetraodon.engine import DataRefusal, open_table
from tetraodon.errors import TableError

ZONE = "spark.sql.session.timeZone"
pytestmark = [needs_spark, pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")]
DOMAIN = Domain((Attribute("age", Integers(0, 9)), Attribute("sex", Categories(("f", "m")), other=1)))


@pytest.fixture(scope="module")
def view() -> str:
    spark().sql("SELECT 3 AS age, 'f' AS sex").createOrReplaceTempView("people")
    return "people"


def test_a_table_of_the_session_by_its_name(view):
    zone = spark().conf.get(ZONE)
    before = spark().sql("SHOW TABLES").toArrow()
    for address in (f"spark:{view}", f"spark:{spark().sparkContext.master}#{view}"):
        with open_table(address, DOMAIN) as engine:
            assert found(engine.counts([("age", "sex")])[0]) == {(3, 0): 1}
    assert spark().conf.get(ZONE) == zone
    assert spark().sql("SHOW TABLES").toArrow() == before


def test_names_that_lead_nowhere(view, tmp_path):
    with pytest.raises(TableError, match=r"no table 'peoplee'.*did you mean 'people'"):
        open_table(f"spark:{view}e", DOMAIN)
    with pytest.raises(TableError, match="Spark cannot open the table"):
        open_table(f"spark:{tmp_path}/none.parquet", DOMAIN)
    with pytest.raises(TableError, match="another master"):
        open_table("spark:local[1]#people", DOMAIN)
    for address in ("spark:", "spark:#people", "spark://host:7077", "spark:local[2]#"):
        with pytest.raises(TableError, match=r"cannot be read.*spark:MASTER#catalog.table"):
            open_table(address, DOMAIN)


def test_a_name_cannot_become_sql():
    name = "x`; DROP VIEW people; --"
    spark().sql("SELECT 3 AS age, 'f' AS sex").withColumnRenamed("age", name).createOrReplaceTempView("odd")
    domain = Domain((Attribute(name, Integers(0, 9)),))
    with open_table("spark:odd", domain) as engine:
        assert engine.counts([domain.names])[0].total == 1


def test_what_a_record_makes_spark_say_stays_inside():
    frame = spark().sql("SELECT CAST(concat('SECRET-MARKER', id) AS INT) AS age, 'f' AS sex FROM range(3)")
    with open_table(frame, DOMAIN) as engine, pytest.raises(DataRefusal) as refusal:
        engine.counts([("age",)])
    assert refusal.value.__context__ is None
    assert "SECRET" not in str(refusal.value)


def executors() -> list[psutil.Process]:
    """The executor processes of our own cluster, oldest first."""
    return [one for one in psutil.Process().children(recursive=True) if _is_executor(one)]


def _is_executor(process: psutil.Process) -> bool:
    """A process that has ended since it was listed, reaped or not, is none."""
    try:
        return any("CoarseGrainedExecutorBackend" in part for part in process.cmdline())
    except psutil.NoSuchProcess:
        return False


def _has_ended(process: psutil.Process) -> bool:
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def _until(holds: Callable[[], bool]) -> None:
    for _ in range(300):
        if holds():
            return
        time.sleep(0.1)
    raise AssertionError("not within thirty seconds")


def test_an_executor_that_dies_in_the_middle_changes_nothing(tmp_path):
    """One of two executors is killed while it counts; Spark does its part again elsewhere."""
    path = tmp_path / "many.parquet"
    duckdb.sql("SELECT (range % 10)::INT AS age, 'f' AS sex FROM range(2000)").write_parquet(str(path))
    slow = "java_method('java.lang.Thread', 'sleep', CAST(age * 0 + 4 AS BIGINT))"
    frame = spark().read.parquet(str(path)).repartition(8)
    frame = frame.selectExpr(f"age + CAST(coalesce({slow}, '0') = 'x' AS INT) AS age", "sex")
    _until(lambda: len(executors()) == 2)
    victim, _ = executors()
    killing = Timer(2.0, victim.kill)
    killing.start()
    with open_table(frame, DOMAIN) as engine:
        counts = found(engine.counts([("age", "sex"), ("age",)])[0])
    killing.join()
    _until(lambda: _has_ended(victim))
    assert counts == {(age, 0): 200 for age in range(10)}
