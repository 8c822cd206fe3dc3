"""A predicate that reads public tables names columns of the tuple at hand and these tables, and nothing else."""

from __future__ import annotations

import pytest

from tetraodon.domain import Attribute, Categories, Domain, Integers
from tetraodon.errors import QueryError
from tetraodon.query.condition.nodes import condition_sql
from tetraodon.query.condition.read import read_condition
from tetraodon.query.condition.syntax import Names

DOMAIN = Domain(
    (
        Attribute("Age", Integers(0, 9)),
        Attribute("country", Categories(("A", "B")), other=0),
        Attribute("x", Integers(0, 9)),
        Attribute("X", Integers(0, 9)),
    )
)
NAMES = Names(DOMAIN, "people", {"regions": ("country", "gdp")})


@pytest.mark.parametrize(
    ("asked", "sql", "places"),
    [
        (
            "country in (select country from regions where gdp < age)",
            "(tetraodon_row.a1 IN (SELECT country FROM regions WHERE gdp < tetraodon_row.a0))",
            (0, 1),
        ),
        (
            "exists (select 1 from regions as r where r.country = people.country)",
            "(EXISTS (SELECT 1 FROM regions AS r WHERE r.country = tetraodon_row.a1))",
            (1,),
        ),
        (
            "exists (select 1 from regions as R where r.country = People.country)",
            "(EXISTS (SELECT 1 FROM regions AS R WHERE r.country = tetraodon_row.a1))",
            (1,),
        ),
        (
            "exists (select 1 from regions where country not ilike 'A!%_' escape '!' /* a */ -- */ or true\n)",
            "(EXISTS (SELECT 1 FROM regions WHERE NOT REGEXP_FULL_MATCH(LOWER(country), 'a%.', 's')))",
            (),
        ),
        (
            "lower(country) = (select min(country) from regions where people.country = 'B')",
            "((CAST(['a', 'b'] AS VARCHAR[]))[tetraodon_row.c1 + 1] = "
            "(SELECT MIN(country) FROM regions WHERE tetraodon_row.a1 = 'B'))",
            (1,),
        ),
        (
            "age + x > (select max(gdp) from regions)",
            "((tetraodon_row.c0 + tetraodon_row.c2) > (SELECT MAX(gdp) FROM regions))",
            (0, 2),
        ),
        (
            "age / 2 in (select gdp from regions) and x > 1",
            "(((CAST(tetraodon_row.c0 AS DOUBLE) / 2) IN (SELECT gdp FROM regions)) AND (tetraodon_row.c2 > 1))",
            (0, 2),
        ),
    ],
)
def test_names_are_resolved(asked: str, sql: str, places: tuple[int, ...]) -> None:
    found = read_condition(asked, NAMES)
    assert condition_sql(found) == sql
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
def test_what_is_refused(asked: str, what: str) -> None:
    with pytest.raises(QueryError, match=what):
        read_condition(asked, NAMES)


def test_without_public_tables_there_is_nothing_to_read() -> None:
    with pytest.raises(QueryError, match="not a public table"):
        read_condition("exists (select 1 from regions)", Names(DOMAIN))
