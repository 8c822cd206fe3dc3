"""Aggregates of one table can be asked, by groups that are chosen and ordered; all else is refused with the fix."""

from __future__ import annotations

from typing import Any

import pytest

from tetraodon.domain import Attribute, Categories, Domain, Integers
from tetraodon.errors import QueryError
from tetraodon.query.condition.select import Order, read_question
from tetraodon.query.condition.syntax import Names

NAMES = Names(
    Domain((Attribute("age", Integers(0, 99)), Attribute("sex", Categories(("f", "m")), other=0))), "people", {}
)


@pytest.mark.parametrize(
    ("sql", "kinds", "places", "by", "bare"),
    [
        ("age > 3", ["count"], [()], (), False),
        ("select count(*) from people", ["count"], [()], (), True),
        ("SELECT Sex, COUNT(*) AS n FROM People GROUP BY sex", ["count"], [()], (1,), True),
        ("select sum(age) from people where sex = 'f'", ["sum"], [(0,)], (), False),
        ("select avg(p.age), p.sex from people p group by p.sex", ["avg"], [(0,)], (1,), True),
        ("select sex, age, count(*) from people group by 2, 1", ["count"], [()], (0, 1), True),
        (
            "select count(age), count(distinct sex), sum(2 * age) from people",
            ["count", "distinct", "sum"],
            [(), (1,), (0,)],
            (),
            True,
        ),
        ("select avg(case when sex = 'f' then age end) from people group by age", ["avg"], [(0, 1)], (0,), True),
        ("select count(case when sex = 'f' then age end) from people", ["count"], [(0, 1)], (), True),
    ],
)
def test_what_can_be_asked(sql: str, kinds: list[str], places: list[Any], by: tuple[int, ...], bare: bool) -> None:
    found = read_question(sql, NAMES)
    assert ([one.kind for one in found.aggregates], [one.places for one in found.aggregates]) == (kinds, places)
    assert (found.by, found.condition is None, found.chosen_by_looking) == (by, bare, False)


def test_groups_that_are_chosen_and_ordered() -> None:
    sql = (
        "select sex, count(*) as n from people group by sex having N > 3 and avg(age) < 9 order by 2 desc, sex limit 5"
    )
    found = read_question(sql, NAMES)
    assert [(one.kind, one.name) for one in found.aggregates] == [("count", "n"), ("avg", "avg(age)")]
    assert (found.shown, found.limit, found.chosen_by_looking) == (1, 5, True)
    assert found.order == (Order(0, None, descending=True), Order(None, 1, descending=False))
    assert found.having is not None
    assert found.having.sql() == "a0 > 3 AND a1 < 9"
    assert not read_question("select count(*) from people group by sex order by sex limit 1", NAMES).chosen_by_looking
    assert not read_question("select count(*) from people group by sex order by 1", NAMES).chosen_by_looking


@pytest.mark.parametrize(
    ("sql", "what"),
    [
        ("select min(age) from people", "`min`"),
        ("select count(distinct age, sex) from people", "`count"),
        ("select sum(distinct age) from people", "`sum"),
        ("select count(distinct 1 / age) from people", "quotient"),
        ("select count(distinct lower(sex)) from people", "a number is needed"),
        ("select sum(sex) from people", "not a number"),
        ("select count(*), count(*) from people", "one name"),
        ("select sex from people", "not grouped by"),
        ("select sex from people group by sex", "no aggregate"),
        ("select * from people", "not offered"),
        ("select count(*) from person", "people is asked here"),
        ("select count(*)", "one table"),
        ("select count(*) from people, people", "kind of join"),
        ("select count(*) from people join regions on true", "not a public table"),
        ("select count(*) from other.people", "one table"),
        ("select count(*) from 'secret.csv'", "people is asked here"),
        ("select count(*) from read_csv('secret.csv')", "one table"),
        ("select count(*) from (select * from people)", "one table"),
        ("select count(*) from people having count(*) > 1", "one group"),
        ("select count(*) from people order by 1", "one group"),
        ("select count(*) from people limit 1", "one group"),
        ("select count(*) from people group by sex limit 0", "positive whole"),
        ("select count(*) from people group by sex limit 5 offset 2", "`offset`"),
        ("select count(*) from people group by sex having sex = 'f'", "about an attribute"),
        ("select count(*) from people group by sex order by age", "neither aggregate nor group"),
        ("select count(*) from people group by sex order by max(age)", "`max`"),
        ("select distinct count(*) from people group by sex", "`distinct`"),
        ("select count(*) filter (where age > 3) from people", "`filter`"),
        ("with people as (select 1) select count(*) from people", "cannot be read|more than|`with"),
        ("select count(*) from people union select 1", "more than one"),
        ("select count(*) from people; drop table people", "more than one"),
        ("select count(*) over () from people", "`window`"),
        ("select count(*) from people group by age // 10", "no attribute"),
        ("select count(*) from people group by rollup (sex)", "kind of grouping|no attribute"),
        ("select count(*) from people group by sex, sex", "twice"),
        ("select count(*) from people where", "cannot be read"),
        ("select sum(x.people.age) from people", "`db` is not offered"),
        ("select other.sex, count(*) from people group by 1", "names a table, other,"),
        ("select count(*) from people where height > 3", "no attribute 'height'"),
        ("delete from people", "cannot be read|more than"),
    ],
)
def test_what_cannot(sql: str, what: str) -> None:
    with pytest.raises(QueryError, match=what) as caught:
        read_question(sql, NAMES)
    assert caught.value.fix


def test_a_view_whose_name_is_no_word_is_named_in_quotes() -> None:
    names = Names(NAMES.domain, "people-2026", {})
    with pytest.raises(QueryError) as caught:
        read_question("select count(*) from people", names)
    assert caught.value.fix == 'write `from "people-2026"`, or just the condition'
    assert read_question('select count(*) from "people-2026"', names).plain
