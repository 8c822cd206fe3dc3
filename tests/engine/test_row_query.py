"""A query in place of a table: columns as they are, one table and a condition as text; anything else is refused."""

from __future__ import annotations

import pytest

from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.engine import open_table
from tetraodon.engine.open_table import is_query, read_query
from tetraodon.errors import TableError


@pytest.mark.parametrize(
    ("text", "columns", "condition", "origin"),
    [
        ("select * from 'people.csv'", None, "", "people.csv"),
        ("SELECT age, sex FROM 'p.parquet' WHERE age>=18", {"age", "sex"}, "age >= 18", "p.parquet"),
        ('select "home id" from "db.duckdb#t" where sex in (\'f\')', {"home id"}, "sex IN ('f')", "db.duckdb#t"),
        ("select *, age from 'p.csv' where not a = 1 or b is null", None, "NOT a = 1 OR b IS NULL", "p.csv"),
    ],
)
def test_a_query_is_read(text: str, columns: set[str] | None, condition: str, origin: str) -> None:
    found = read_query(text)
    assert (found.columns, found.condition, found.origin) == (columns, condition, origin)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("select age from 'p.csv'; drop table people", "more than one statement"),
        ("select age from 'p.csv' limit 3", "more than columns"),
        ("select distinct age from 'p.csv'", "more than columns"),
        ("select age from 'p.csv' group by age", "more than columns"),
        ("select age from 'p.csv' order by age", "more than columns"),
        ("with t as (select 1) select * from 'p.csv'", "more than columns"),
        ("select a from 'p.csv' union all select a from 'q.csv'", "no SELECT of the rows"),
        ("select a.age from 'p.csv' a", "renames or computes"),
        ("select age from 'p.csv' a", "in quotes"),
        ("select age from 'p.csv', 'q.csv'", "more than columns"),
        ("select age from 'p.csv' join 'q.csv' using (age)", "more than columns"),
        ("select age from people", "in quotes"),
        ("select age from read_csv('p.csv')", "in quotes"),
        ("select age from (select * from 'p.csv')", "in quotes"),
        ("select age from \"select * from 'p.csv'\"", "another query"),
        ("select 1", "renames or computes"),
        ("select age as sex from 'p.csv'", "renames or computes"),
        ("select age as age from 'p.csv'", "renames or computes"),
        ("select age * 10 as age from 'p.csv'", "renames or computes"),
        ("select cast(x as varchar) as p from 'p.csv'", "renames or computes"),
        ("select count(*) from 'p.csv'", "renames or computes"),
        ("select * exclude (age) from 'p.csv'", "renames or computes"),
        ("select * replace (age * 2 as age) from 'p.csv'", "renames or computes"),
        ("select * rename (age as sex) from 'p.csv'", "renames or computes"),
        ("select columns('a.*') from 'p.csv'", "renames or computes"),
        ("select t.* from 'p.csv' t", "renames or computes"),
        ("select from 'p.csv'", "selects no column"),
        ("select * from 'p.csv' where", "cannot be read"),
        ("select * from 'p.csv' where " + "(" * 5000, "cannot be read"),
        ("select " + "age, " * 5000 + "age from 'p.csv'", "cannot be read"),
    ],
)
def test_whatever_is_more_than_that_is_refused(query: str, message: str) -> None:
    with pytest.raises(TableError, match=message):
        read_query(query)


def test_an_engine_selects_nothing() -> None:
    """A condition that nobody has priced counts no row."""
    assert is_query("select age from 'people.csv'")
    with pytest.raises(TableError, match="a query is no table"):
        open_table("select * from 'people.csv' where sex = 'f'", Domain((Attribute("age", Integers(0, 9)),)))
