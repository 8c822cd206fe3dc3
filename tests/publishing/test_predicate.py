"""A checked condition names columns of the tuple at hand and public tables, and nothing else."""

from __future__ import annotations

import pytest

from tetraodon.domain import Attribute, Categories, Domain, Integers
from tetraodon.errors import QueryError
from tetraodon.publishing.predicate import Known, checked, place_of, places_in, written
from tetraodon.workload.condition import parse_condition

DOMAIN = Domain(
    (
        Attribute("Age", Integers(0, 9)),
        Attribute("country", Categories(("A", "B")), other=0),
        Attribute("x", Integers(0, 9)),
        Attribute("X", Integers(0, 9)),
    )
)
KNOWN = Known(DOMAIN, "people", {"regions": ("country", "gdp")})


@pytest.mark.parametrize(
    ("asked", "sql", "places"),
    [
        ("people.age > 3 and x < X", "tetraodon_row.a0 > 3 AND tetraodon_row.a2 < tetraodon_row.a3", (0, 2, 3)),
        ("country = 'A'", "tetraodon_row.a1 = 'A'", (1,)),
        (
            "country in (select country from regions where gdp < age)",
            "tetraodon_row.a1 IN (SELECT country FROM regions WHERE gdp < tetraodon_row.a0)",
            (0, 1),
        ),
        (
            "exists (select 1 from regions as r where r.country = people.country)",
            "EXISTS(SELECT 1 FROM regions AS r WHERE r.country = tetraodon_row.a1)",
            (1,),
        ),
        (
            "exists (select 1 from regions as R where r.country = People.country)",
            "EXISTS(SELECT 1 FROM regions AS R WHERE r.country = tetraodon_row.a1)",
            (1,),
        ),
        ("not x like '1%'", "NOT REGEXP_FULL_MATCH(tetraodon_row.a2, '1.*', 's')", (2,)),
        ("x not ilike 'A!%_' escape '!'", "NOT REGEXP_FULL_MATCH(LOWER(tetraodon_row.a2), 'a%.', 's')", (2,)),
        ("age > 3 /* a */ -- */ or true\n and age < 4", "tetraodon_row.a0 > 3 AND tetraodon_row.a0 < 4", (0,)),
    ],
)
def test_names_are_resolved(asked: str, sql: str, places: tuple[int, ...]) -> None:
    found = checked(parse_condition(asked), KNOWN)
    assert written(found) == sql
    assert places_in(found) == places


def test_the_tree_that_was_given_is_left_alone() -> None:
    tree = parse_condition("age > 3")
    checked(tree, KNOWN)
    assert tree.sql() == "age > 3"


def test_names_that_differ_in_case_only() -> None:
    assert place_of("AGE", DOMAIN) == 0
    assert (place_of("x", DOMAIN), place_of("X", DOMAIN)) == (2, 3)
    with pytest.raises(QueryError, match="did you mean 'country'"):
        place_of("contry", DOMAIN)
