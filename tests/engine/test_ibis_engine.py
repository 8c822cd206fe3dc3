from __future__ import annotations

import ibis
import polars
import pytest

from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.engine import DataRefusal, open_table
from tetraodon.errors import TableError

DOMAIN = Domain((Attribute("age", Integers(0, 99)),))


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
