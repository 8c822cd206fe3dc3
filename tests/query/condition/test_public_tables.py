"""Joins with public tables, and subqueries over them."""

from __future__ import annotations

import re

import pytest

from tetraodon.domain import Attribute, Categories, Domain, Integers
from tetraodon.errors import QueryError
from tetraodon.query.condition.nodes import Reading
from tetraodon.query.condition.public_tables import Joined, beside
from tetraodon.query.condition.read import read_condition
from tetraodon.query.condition.select import read_question
from tetraodon.query.condition.syntax import Names

# -- joining ----------------------------------------------------------------------------------------
# A join is a condition on the record alone; what could count a record twice, or mean two things, is refused.


PUBLIC = {"regions": ("country", "gdp", "age"), "cities": ("city", "size")}
DOMAIN = Domain((Attribute("age", Integers(0, 9)), Attribute("home", Categories(("a", "b")), other=0)))
NAMES = beside(DOMAIN, "people", PUBLIC)


@pytest.mark.parametrize(
    ("joining", "same"),
    [
        ("people join regions on country = home", "exists (select 1 from regions where country = home)"),
        (
            "people p join regions r on r.country = p.home where r.gdp < 3 and p.age > 2",
            "p.age > 2 and exists (select 1 from regions r where r.country = p.home and r.gdp < 3)",
        ),
        (
            "people inner join regions r on (r.country = home and r.age = people.age) "
            "where gdp < people.age or gdp = 9",
            "exists (select 1 from regions r where country = home and r.age = people.age and "
            "(gdp < people.age or gdp = 9))",
        ),
    ],
)
def test_a_join_is_a_condition(joining: str, same: str) -> None:
    table = "people p" if "people p " in joining else "people"
    found = read_question(f"select count(*) from {joining}", NAMES)
    wanted = read_question(f"select count(*) from {table} where {same}", NAMES)
    assert found.joins[0].table == "regions"
    assert _bare(found.condition) == _bare(wanted.condition)


def _bare(condition: object) -> str:
    return re.sub(r"[()]|r\.", "", str(condition))


def test_what_must_be_once() -> None:
    sql = "select count(*) from people join regions on country = home join cities on city = home where size > 3"
    found = read_question(sql, NAMES).joins
    assert found == (Joined("regions", ("country",), (1,), "regions"), Joined("cities", ("city",), (1,), "cities"))


def test_columns_of_joined_tables_are_counted_on_from_the_attributes() -> None:
    sql = (
        "select r.gdp, home, count(*) from people join regions r on r.country = home group by r.gdp, home order by gdp"
    )
    found = read_question(sql, NAMES)
    assert (found.by, [one.name for one in found.columns]) == ((2, 1), ["r.gdp"])
    assert [one.place for one in found.order] == [2]


@pytest.mark.parametrize(
    ("sql", "what"),
    [
        ("people left join regions on country = home", "kind of join"),
        ("people join regions using (home)", "kind of join"),
        ("people, regions", "kind of join"),
        ("people join (select 1) on true", "kind of join"),
        ("people join lands on country = home", "not a public table"),
        ("people join regions on country > home", "columns that are equal"),
        ("people join regions on country = gdp", "columns that are equal"),
        ("people join regions on country = home or gdp = 1", "columns that are equal"),
        ("people join regions on country = home where age > 3", "in two tables"),
        ("people join regions people on country = home", "one name"),
        ("people join regions on country = home join cities on city = home where gdp < size", "no attribute"),
    ],
)
def test_what_is_refused(sql: str, what: str) -> None:
    with pytest.raises(QueryError, match=what) as caught:
        read_question(f"select count(*) from {sql}", NAMES)
    assert caught.value.fix


# -- subquery ---------------------------------------------------------------------------------------
# A predicate that reads public tables names columns of the tuple at hand and these tables, and nothing else.


SUBQUERY_DOMAIN = Domain(
    (
        Attribute("Age", Integers(0, 9)),
        Attribute("country", Categories(("A", "B")), other=0),
        Attribute("x", Integers(0, 9)),
        Attribute("X", Integers(0, 9)),
    )
)
SUBQUERY_NAMES = beside(SUBQUERY_DOMAIN, "people", {"regions": ("country", "gdp")})


@pytest.mark.parametrize(
    ("asked", "sql", "places"),
    [
        (
            "country in (select country from regions where gdp < age)",
            "tetraodon_row.a1 IN (SELECT country FROM regions WHERE gdp < tetraodon_row.a0)",
            (0, 1),
        ),
        (
            "exists (select 1 from regions as r where r.country = people.country)",
            "EXISTS (SELECT 1 FROM regions AS r WHERE r.country = tetraodon_row.a1)",
            (1,),
        ),
        (
            "exists (select 1 from regions as R where r.country = People.country)",
            "EXISTS (SELECT 1 FROM regions AS R WHERE r.country = tetraodon_row.a1)",
            (1,),
        ),
        (
            "exists (select 1 from regions where country not ilike 'A!%_' escape '!' /* a */ -- */ or true\n)",
            "EXISTS (SELECT 1 FROM regions WHERE NOT REGEXP_FULL_MATCH(LOWER(country), 'a%.', 's'))",
            (),
        ),
        (
            "lower(country) = (select min(country) from regions where people.country = 'B')",
            "tetraodon_row.v0 = (SELECT MIN(country) FROM regions WHERE tetraodon_row.a1 = 'B')",
            (1,),
        ),
        (
            "age + x > (select max(gdp) from regions)",
            "tetraodon_row.v0 > (SELECT MAX(gdp) FROM regions)",
            (0, 2),
        ),
        (
            "age / 2 in (select gdp from regions)",
            "tetraodon_row.v0 IN (SELECT gdp FROM regions)",
            (0,),
        ),
    ],
)
def test_names_are_resolved(asked: str, sql: str, places: tuple[int, ...]) -> None:
    found = read_condition(asked, SUBQUERY_NAMES)
    assert isinstance(found, Reading)
    assert found.sql == sql
    assert found.places == places
    assert found.reads


@pytest.mark.parametrize(
    ("asked", "what"),
    [
        ("exists (select 1 from regions where people.country < 'B')", "no order in a subquery"),
        ("exists (select 1 from regions where people.country = 'C')", "not a value of country"),
        ("exists (select 1 from regions where country like gdp)", "needs a pattern in quotes"),
        ("exists (select 1 from regions full join regions as r on true)", "kind of join"),
        ("age + (select 1 from regions) > 1", "`subquery` is not offered"),
        ("null in (select gdp from regions)", "compare an attribute"),
    ],
)
def test_what_is_refused_of_subquery(asked: str, what: str) -> None:
    with pytest.raises(QueryError, match=what):
        read_condition(asked, SUBQUERY_NAMES)


def test_without_public_tables_there_is_nothing_to_read() -> None:
    with pytest.raises(QueryError, match="not a public table"):
        read_condition("exists (select 1 from regions)", Names(SUBQUERY_DOMAIN))
