from __future__ import annotations

import datetime as dt

import ibis
import polars
import psycopg
import pytest
from psycopg import sql
from tests.engine.tables import postgres_table, table
from tests.services import forms, needs_postgres, postgres

from tetraodon.domain import Attribute, Dates, Domain, Integers
from tetraodon.engine import DataRefusal, open_table
from tetraodon.errors import TableError

DOMAIN = Domain((Attribute("age", Integers(0, 99)),))
DAYS = Domain((*DOMAIN, Attribute('a"b', Dates(dt.date(2020, 2, 28), dt.date(2020, 3, 1)))))
RECORDS = [
    (7, dt.datetime(2020, 2, 28, 23, 30, tzinfo=dt.timezone(-dt.timedelta(hours=5)))),
    (None, dt.datetime(2020, 2, 28, 20, 30, tzinfo=dt.UTC)),
]


def test_ibis_tables_of_untried_backends_are_refused():
    source = ibis.polars.connect({"t": polars.DataFrame({"age": [1]})}).table("t")
    with pytest.raises(TableError, match="counting with polars is not supported"):
        open_table(source, DOMAIN)
    with pytest.raises(TableError, match="not a table"):
        open_table(ibis.literal(1), DOMAIN)


def test_what_the_driver_says_stays_inside():
    backend = ibis.duckdb.connect()
    source = backend.sql("SELECT error('SECRET-MARKER')::VARCHAR AS age", schema={"age": "string"})
    with open_table(source, DOMAIN) as engine, pytest.raises(DataRefusal) as refusal:
        engine.counts([("age",)])
    assert refusal.value.__context__ is None
    assert "SECRET" not in str(refusal.value)
    backend.disconnect()


def test_the_connection_is_the_callers():
    backend = ibis.duckdb.connect()
    source = backend.sql("SELECT 1 AS age", schema={"age": "int32"})
    open_table(source, DOMAIN).close()
    assert source.count().to_pyarrow().as_py() == 1
    backend.disconnect()


def test_data_in_memory_is_counted_in_one_scan():
    source = ibis.memtable(polars.DataFrame({"age": ["1", "7", "x"], "wide": [2**62, 1, 5]}))
    domain = Domain((Attribute("age", Integers(0, 2**63 - 1)), Attribute("wide", Integers(0, 2**63 - 1))))
    with open_table(source, domain) as engine:
        ages, wide = engine.counts([("age",), ("wide",)])
    assert (ages.codes.tolist(), wide.codes.tolist()) == ([[0], [1], [7]], [[1], [5], [2**62]])


def test_an_ibis_table_that_cannot_be_read_is_not_quoted():
    backend = ibis.duckdb.connect()
    backend.raw_sql("CREATE TABLE gone AS SELECT 1 AS age")
    source = backend.table("gone")
    backend.raw_sql("DROP TABLE gone")
    with pytest.raises(TableError, match=r"the Ibis table cannot be read.*Ibis itself") as refusal:
        open_table(source, DOMAIN)
    assert refusal.value.__context__ is None
    backend.disconnect()


@pytest.mark.parametrize("form", forms("postgres", "spark"))
def test_an_ibis_table_of_another_engine_is_read_there(form, tmp_path):
    """An expression of Ibis, and not only a table, in a session whose time zone is far from UTC."""
    with table(form, tmp_path, {"age": "INTEGER", 'a"b': "TIMESTAMPTZ"}, RECORDS) as source:
        if form == "postgres":
            server, title = source.split("#house.")
            connection = psycopg.connect(server, autocommit=True)
            backend = ibis.postgres.from_connection(connection)
            connection.execute("SET TIME ZONE 'Asia/Kathmandu'")
            given = backend.table(title, database="house")
        else:
            source.createOrReplaceTempView("given")
            backend = ibis.pyspark.connect(source.sparkSession)
            given = backend.table("given")
        given = given.mutate(age=given.age + 1)
        with open_table(given, DAYS) as engine:
            ages, days = engine.counts([("age",), ('a"b',)])
        assert (ages.codes.tolist(), ages.counts.tolist()) == ([[0], [8]], [1, 1])
        assert (days.codes.tolist(), days.counts.tolist()) == ([[0], [1]], [1, 1])
        if form == "postgres":
            assert given.count().to_pyarrow().as_py() == 2
            connection.close()


@needs_postgres
def test_an_ibis_table_that_is_gone_from_its_server_is_not_one_without_columns():
    server, title = postgres_table({"age": "INTEGER"}, [(1,)]).split("#house.")
    with psycopg.connect(server, autocommit=True) as connection:
        given = ibis.postgres.from_connection(connection).table(title, database="house")
        with psycopg.connect(postgres().address("owner")) as owner:
            owner.execute(sql.SQL("DROP TABLE {}").format(sql.Identifier("house", title)))
        with pytest.raises(TableError, match="the table cannot be opened") as refusal:
            open_table(given, DOMAIN)
        assert refusal.value.__context__ is None
        assert connection.execute("SELECT 1").fetchall() == [(1,)]


@needs_postgres
def test_a_session_in_which_a_backslash_ends_a_text_is_refused():
    source = postgres_table({"age": "INTEGER"}, [(1,)])
    server, title = source.split("#house.")
    with psycopg.connect(server, autocommit=True) as connection:
        given = ibis.postgres.from_connection(connection).table(title, database="house")
        connection.execute("SET standard_conforming_strings = off")
        with pytest.raises(TableError, match=r"another way than the standard.*standard_conforming_strings = on"):
            open_table(given, DOMAIN)
    address = server + "?options=-c%20standard_conforming_strings%3Doff#house." + title
    domain = Domain((DOMAIN["age"],))
    with open_table(address, domain) as engine:  # our own session is set back
        assert engine.counts([("age",)])[0].codes.tolist() == [[1]]
