"""Tables in a real Postgres: least rights, nothing of the address in an error, and a server that goes away."""

from __future__ import annotations

import datetime as dt
import logging
import traceback

import psycopg
import pytest
from scripts.services import Postgres
from tests.engine.tables import found, postgres_table
from tests.services import needs_postgres, postgres

from tetraodon.domain import Attribute, Categories, Dates, Domain, Grid, Integers
from tetraodon.engine import DataRefusal, Individuals, open_table
from tetraodon.errors import TableError
from tetraodon.exact.rational import rational

pytestmark = needs_postgres
AGE = Attribute("age", Integers(0, 99))
DOMAIN = Domain((AGE, Attribute("sex", Categories(("f", "m")), other=1)))
COLUMNS = {"age": "INTEGER", "sex": "VARCHAR", "secret": "VARCHAR"}


@pytest.fixture(scope="module")
def people() -> str:
    return postgres_table(COLUMNS, [(30, "f", "x"), (31, "m", "y"), (31, "m", "z")])


def owner(statement: str) -> None:
    with psycopg.connect(postgres().address("owner"), autocommit=True) as connection:
        connection.execute(statement)  # type: ignore[arg-type]


def told(error: BaseException) -> str:
    """Everything that a traceback, or somebody who walks the chain, could show."""
    text = "".join(traceback.format_exception(error))
    chain = error.__context__ or error.__cause__
    return text + (told(chain) if chain else "")


def quoted(address: str) -> str:
    return '"house"."' + address.partition("#house.")[2] + '"'


def test_columns_that_are_not_needed_need_no_right(people):
    owner(f"REVOKE SELECT ON {quoted(people)} FROM reader")
    with pytest.raises(TableError, match=r"may not read the table.*Fix: let the owner GRANT SELECT"):
        open_table(people, DOMAIN)
    owner(f"GRANT SELECT (age, sex) ON {quoted(people)} TO reader")
    with open_table(people, DOMAIN) as engine:
        assert found(engine.counts([("age", "sex")])[0]) == {(30, 0): 1, (31, 1): 2}
        assert len(engine.dry_run()) == 2
    with open_table(people, Domain((AGE, Attribute("secret", Categories(("x",)), other=0)))) as engine:
        with pytest.raises(TableError, match="may not read") as refusal:
            engine.counts([("secret",)])
        assert not isinstance(refusal.value, DataRefusal)
    owner(f"GRANT SELECT ON {quoted(people)} TO reader")


def test_what_is_not_there_is_named_with_the_nearest(people):
    server, title = people.partition("#")[0], people.partition("#")[2]
    with pytest.raises(TableError, match=rf"no table 'house.mode.*did you mean|no table '{title}x'.*did you mean"):
        open_table(f"{server}#{title}x", DOMAIN)
    with pytest.raises(TableError, match=r"names no table.*end the address with #schema.table"):
        open_table(server, DOMAIN)
    with pytest.raises(TableError, match=r"no column 'agee'.*did you mean 'age'"):
        open_table(people, Domain((Attribute("agee", Integers(0, 1)),)))
    with pytest.raises(TableError, match="where the policy expects a date"):
        open_table(people, Domain((Attribute("age", Dates(dt.date(2000, 1, 1), dt.date(2000, 1, 2))),)))


def test_a_name_cannot_become_sql():
    columns = {'x"; DROP TABLE house.t; --': "INTEGER"}
    address = postgres_table(columns, [(1,)])
    owner(f'ALTER TABLE {quoted(address)} RENAME TO "t""; DROP SCHEMA house CASCADE; --"')
    server = address.partition("#")[0]
    domain = Domain((Attribute(next(iter(columns)), Integers(0, 9)),))
    with open_table(f'{server}#house.t"; DROP SCHEMA house CASCADE; --', domain) as engine:
        assert engine.counts([domain.names])[0].total == 1


@pytest.mark.parametrize("part", ["password", "port", "database", "role"])
def test_a_server_that_cannot_be_used_and_no_credentials_in_what_is_told(part, people, caplog):
    server = postgres()
    secret = server.passwords["reader"]
    wrong = {
        "password": people.replace(secret, "hunter2"),
        "port": people.replace(f":{server.port}/", ":1/"),
        "database": people.replace("/postgres#", "/nowhere#"),
        "role": people.replace("reader:", "nobody:"),
    }[part]
    with caplog.at_level(logging.DEBUG), pytest.raises(TableError, match="cannot be reached, or refuses") as refusal:
        open_table(wrong, DOMAIN)
    for text in (told(refusal.value), caplog.text):
        assert secret not in text
        assert "hunter2" not in text
        assert "nobody" not in text


def test_a_statement_that_takes_too_long(people):
    address = people.partition("#")[0] + "?options=-c%20statement_timeout%3D300#" + people.partition("#")[2]
    view = f"CREATE VIEW house.slow AS SELECT age, sex FROM {quoted(people)}, pg_sleep(1)"
    owner(f"{view}; GRANT SELECT ON house.slow TO reader")
    with open_table(address.replace(people.partition("#")[2], "house.slow"), DOMAIN) as engine:
        with pytest.raises(TableError, match=r"stopped the query.*statement_timeout") as refusal:
            engine.counts([("age",)])
        assert not isinstance(refusal.value, DataRefusal)


def test_the_session_cannot_write(people):
    with open_table(people, DOMAIN) as engine:
        connection = engine._table.connection
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
            connection.execute("CREATE TABLE house.x (a int)")
        with pytest.raises((psycopg.errors.ReadOnlySqlTransaction, psycopg.errors.InsufficientPrivilege)):
            connection.execute("CREATE TEMP TABLE x (a int)")
    assert connection.closed


def test_what_a_record_makes_the_server_say_stays_inside():
    owner("CREATE OR REPLACE VIEW house.bad AS SELECT ('SECRET-MARKER' || now())::int AS age, 'f'::text AS sex")
    owner("GRANT SELECT ON house.bad TO reader")
    with open_table(f"{postgres().address()}#house.bad", DOMAIN) as engine, pytest.raises(DataRefusal) as refusal:
        engine.counts([("age",)])
    assert "SECRET" not in told(refusal.value)


def test_types_that_only_postgres_has():
    columns = {
        "free": "numeric",
        "exact": "numeric(9, 2)",
        "whole": "numeric(60, 0)",
        "day": "date",
        "fixed": "char(3)",
    }
    rows = [
        ("0.35", "0.35", "7", "2000-01-02", "f"),
        ("NaN", "NaN", "NaN", "infinity", "m"),
        (None, None, None, None, None),
        ("1e9", "9.00", "1" + "0" * 50, "5000-01-01", "q"),
    ]
    grid = Grid(rational(0), rational(1), rational("0.1"))
    domain = Domain(
        (
            Attribute("free", grid, missing=1),
            Attribute("exact", grid, missing=1),
            Attribute("whole", Integers(0, 9), missing=1),
            Attribute("day", Dates(dt.date(2000, 1, 1), dt.date(2000, 1, 5)), missing=1),
            Attribute("fixed", Categories(("f", "m")), missing=1, other=0),
        )
    )
    with open_table(postgres_table(columns, rows), domain) as engine:
        assert found(engine.counts([domain.names])[0]) == {(4, 4, 7, 1, 0): 1, (1, 1, 1, 1, 1): 2, (10, 10, 9, 4, 0): 1}


def test_a_connection_lost_in_the_middle_is_no_refusal_of_the_data():
    server = Postgres()
    try:
        with psycopg.connect(server.address("owner")) as connection:
            connection.execute("CREATE TABLE t (id int, age int, sex text)")
            connection.execute("INSERT INTO t VALUES (1, 30, 'f')")
        with open_table(f"{server.address('owner')}#public.t", DOMAIN, Individuals("id")) as engine:
            assert engine.counts([("age",)])[0].total == 1
            server.stop()
            with pytest.raises(TableError, match=r"connection to the database was lost.*--resume") as refusal:
                engine.counts([("age",)])
        assert not isinstance(refusal.value, DataRefusal)
        assert server.passwords["owner"] not in told(refusal.value)
    finally:
        server.close()
