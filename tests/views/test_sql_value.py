"""Values in the database are the values of the domain, exactly wherever decimals can be exact."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from fractions import Fraction

import duckdb
import pytest

from tetraodon.domain import Attribute, Booleans, Categories, Dates, Grid, Integers, Values
from tetraodon.views.tuple_files import sql_code, sql_type, sql_value

CASES: list[tuple[Values, str]] = [
    (Integers(-3, 5), "BIGINT"),
    (Integers(10**20, 10**20 + 3), "HUGEINT"),
    (Grid(Fraction(-1, 4), Fraction(3, 4), Fraction(1, 8)), "DECIMAL(5, 3)"),
    (Grid(Fraction(0), Fraction(1000), Fraction(100)), "DECIMAL(6, 0)"),
    (Grid(Fraction(-1), Fraction(1), Fraction(1, 3)), "DOUBLE"),
    (Dates(dt.date(1999, 12, 30), dt.date(2000, 1, 3)), "DATE"),
    (Booleans(), "BOOLEAN"),
    (Categories(("O'Brien", 'a"b', "")), "VARCHAR"),
]


@pytest.mark.parametrize(("values", "kind"), CASES)
def test_every_code_has_its_value(values: Values, kind: str) -> None:
    attribute = Attribute("x", values, other=0)
    assert sql_type(attribute) == kind
    found = duckdb.sql(f"SELECT {sql_value(attribute, 'range')} AS v FROM range({attribute.size}) ORDER BY range")
    assert str(found.types[0]).replace(",", ", ") == kind
    codes = duckdb.sql(f"SELECT {sql_code(attribute, 'v')} AS c FROM found").fetchall()
    assert [code for (code,) in codes] == list(range(attribute.size))
    for code, (value,) in enumerate(found.fetchall()):
        if kind == "DOUBLE":
            assert value == float(attribute.number(code))
        elif isinstance(value, Decimal):
            assert Fraction(value) == attribute.number(code)
        else:
            assert value == attribute.value(code)
