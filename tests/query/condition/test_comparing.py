"""Like is compared with like, or the question is refused with what to compare instead."""

from __future__ import annotations

import pytest
from tests.query.condition.conditions import DOMAIN

from tetraodon.errors import QueryError
from tetraodon.query.condition.read import truth_table


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("name < 'Zoë'", "name have no order"),
        ("'Zoë' >= name", "name have no order"),
        ("name between 'a_b' and 'Zoë'", "name have no order"),
        ("name < nick", "name have no order"),
        ("ill < old", "ill have no order"),
        ("ill < true", "no order"),
        ("ill < 'true'", "ill have no order"),
        ("name = grade", "different values"),
        ("day = name", "different values"),
        ("age = name", "name is not a number"),
        ("age = day", "day is not a number"),
        ("day > 5", "day is not a number"),
        ("ill = 1", "ill is not a number"),
        ("name + 1 = 2", "name is not a number"),
        ("day + 1 = 2", "compare it with a date"),
        ("'a' + age = 2", "a number is needed"),
        ("(age > 1) + 1 = 2", "a number is needed"),
        ("'a' = 'a' and ill", "two words"),
        ("age", "not true or false"),
        ("age and ill", "not true or false"),
        ("3 or ill", "not true or false"),
        ("age = ill", "ill is not a number"),
        ("age = true", "not true or false"),
        ("'a' like name", "`like` needs"),
        ("name like nick", "`like` needs"),
        ("age > '1x'", "number cannot be read"),
        ("age > 1e999999999", "number cannot be read"),
        ("day = age", "day is not a number"),
        ("day = lower(name)", "date is needed"),
        ("lower(name) = ill", "ill is not a number"),
        ("lower(name) = age", "age is compared with a text|number is needed"),
        ("(ill = old) < true", "no order"),
        ("day + 1 > 5", "not a number"),
    ],
)
def test_what_is_refused(text: str, what: str) -> None:
    with pytest.raises(QueryError, match=what) as caught:
        truth_table(text, DOMAIN)
    assert caught.value.fix


@pytest.mark.parametrize(
    ("text", "turned"),
    [("age < 2", "2 > age"), ("grade <= 'middle'", "'middle' >= grade"), ("day > '2020-02-28'", "'2020-02-28' < day")],
)
def test_sides_can_be_turned(text: str, turned: str) -> None:
    (names, one), (others, other) = truth_table(text, DOMAIN), truth_table(turned, DOMAIN)
    assert names == others
    assert one.tolist() == other.tolist()
