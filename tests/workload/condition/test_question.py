"""Only one aggregate of one table can be asked; everything else is refused with the fix."""

from __future__ import annotations

import pytest

from tetraodon.domain import Attribute, Categories, Domain, Integers
from tetraodon.errors import QueryError
from tetraodon.workload.condition.names import Names
from tetraodon.workload.condition.question import read_question

NAMES = Names(
    Domain((Attribute("age", Integers(0, 99)), Attribute("sex", Categories(("f", "m")), other=0))), "people", {}
)


@pytest.mark.parametrize(
    ("sql", "aggregate", "attribute", "by", "bare"),
    [
        ("age > 3", "count", None, (), False),
        ("select count(*) from people", "count", None, (), True),
        ("SELECT Sex, COUNT(*) AS n FROM People GROUP BY sex", "count", None, (1,), True),
        ("select sum(age) from people where sex = 'f'", "sum", 0, (), False),
        ("select avg(p.age), p.sex from people p group by p.sex", "avg", 0, (1,), True),
        ("select sex, age, count(*) from people group by 2, 1", "count", None, (0, 1), True),
    ],
)
def test_what_can_be_asked(sql: str, aggregate: str, attribute: int | None, by: tuple[int, ...], bare: bool) -> None:
    found = read_question(sql, NAMES)
    assert (found.aggregate, found.attribute, found.by) == (aggregate, attribute, by)
    assert (found.condition is None) == bare


@pytest.mark.parametrize(
    ("sql", "what"),
    [
        ("select min(age) from people", "`min`"),
        ("select count(distinct age) from people", "`count`"),
        ("select count(age) from people", "`count`"),
        ("select sum(sex) from people", "not a number"),
        ("select sum(age + 1) from people", "`sum`"),
        ("select count(*), sum(age) from people", "one aggregate"),
        ("select sex from people", "not grouped by"),
        ("select sex from people group by sex", "one aggregate"),
        ("select * from people", "one aggregate|not offered"),
        ("select count(*) from person", "people is asked here"),
        ("select count(*)", "one table"),
        ("select count(*) from people, people", "`joins`"),
        ("select count(*) from people join regions on true", "`joins`"),
        ("select count(*) from other.people", "one table"),
        ("select count(*) from 'secret.csv'", "people is asked here"),
        ("select count(*) from read_csv('secret.csv')", "one table"),
        ("select count(*) from (select * from people)", "one table"),
        ("select count(*) from people having count(*) > 1", "`having`"),
        ("select count(*) from people order by 1", "`order`"),
        ("select count(*) from people limit 1", "`limit`"),
        ("with people as (select 1) select count(*) from people", "cannot be read|more than|`with"),
        ("select count(*) from people union select 1", "more than one"),
        ("select count(*) from people; drop table people", "more than one"),
        ("select count(*) over () from people", "`window`"),
        ("select count(*) from people group by age // 10", "no attribute"),
        ("select count(*) from people group by rollup (sex)", "kind of grouping|no attribute"),
        ("select count(*) from people group by sex, sex", "twice"),
        ("select sum(age) from people group by age", "also grouped by"),
        ("select count(*) from people where", "cannot be read"),
        ("select sum(x.people.age) from people", "another database"),
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
    assert read_question('select count(*) from "people-2026"', names).aggregate == "count"
