"""Postgres, Spark and a browser for the tests: started when the first test needs them, ended with the run.

Marks say which tests need Spark or the browser, and are left out where TETRAODON_SKIP asks for it.
"""

from __future__ import annotations

import atexit
import warnings
from functools import cache
from typing import Any

import pytest
from scripts.services import SKIP, Postgres, skipped, spark_session

needs_postgres = pytest.mark.skipif("postgres" in skipped(), reason=f"{SKIP} names it")
needs_spark = pytest.mark.skipif("spark" in skipped(), reason=f"{SKIP} names it")
needs_browser = pytest.mark.skipif("browser" in skipped(), reason=f"{SKIP} names it")
QUICK_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Counting a few rows ends before the better compiler has paid for itself: half of the time of the processors."""
MARKS: dict[str, Any] = {"postgres": needs_postgres, "spark": needs_spark}


def forms(*names: str) -> list[Any]:
    """Forms of a table as parameters of a test, with the marks of those that need a service."""
    return [pytest.param(name, marks=MARKS.get(name, ())) for name in names]


@cache
def postgres() -> Postgres:
    """A server with a role that may only read, and only for ten seconds at a time."""
    import psycopg

    server = Postgres()
    atexit.register(server.close)
    with psycopg.connect(server.address("owner")) as connection:
        connection.execute("CREATE SCHEMA house")
        connection.execute(f"CREATE ROLE reader LOGIN PASSWORD '{server.passwords['reader']}'")
        connection.execute("ALTER ROLE reader SET default_transaction_read_only = on")
        connection.execute("ALTER ROLE reader SET statement_timeout = '10s'")
        connection.execute("REVOKE TEMPORARY ON DATABASE postgres FROM PUBLIC")
        connection.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
        connection.execute("GRANT USAGE ON SCHEMA house TO reader")
        for name, level in (("nocase", 2), ("noaccent", 1)):
            settings = f"provider = icu, locale = 'und-u-ks-level{level}', deterministic = false"
            connection.execute(f"CREATE COLLATION house.{name} ({settings})")
    return server


@cache
def spark() -> Any:
    """A session on a cluster of two executors; two that it may lose."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        session = spark_session(
            spark__sql__session__timeZone="America/New_York",
            spark__sql__codegen__wholeStage="false",  # compiling takes longer than counting a few rows
            spark__sql__codegen__factoryMode="NO_CODEGEN",
            spark__sql__adaptive__enabled="false",
            spark__driver__extraJavaOptions=QUICK_JAVA,
            spark__executor__extraJavaOptions=QUICK_JAVA,
        )
    atexit.register(session.stop)
    return session
