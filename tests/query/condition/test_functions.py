"""Functions and operations mean what the same thing says in Python, and what is not offered is refused."""

from __future__ import annotations

from fractions import Fraction

import pytest
from tests.query.condition.conditions import DAYS, DOMAIN, Test, in_python

from tetraodon.errors import QueryError
from tetraodon.query.condition.read import truth_table


@pytest.mark.parametrize(
    ("text", "test"),
    [
        ("abs(age) > 1", lambda r: abs(r["age"]) > 1),
        ("age is null", lambda _: False),
        ("age is not null and ill is true", lambda r: r["ill"]),
        ("age / 2 > 0.5", lambda r: Fraction(r["age"], 2) > Fraction(1, 2)),
        ("age // 2 = -1", lambda r: r["age"] == -2),
        ("age % 2 = 1 and Age % -2 = 1", lambda r: r["age"] in (1, 3)),
        ("age % 2 = -1", lambda r: r["age"] == -1),
        ("1 / age > 0.4", lambda r: r["age"] in (1, 2)),
        ("(1 / age > 0.4) is null", lambda r: r["age"] == 0),
        ("not (pay / age < 1)", lambda r: r["age"] != 0 and not r["pay"] / r["age"] < 1),
        ("pay / 3 = 0.1", lambda r: r["pay"] == Fraction(3, 10)),
        ("age ^ 2 = 4 and age ** 3 < 0", lambda r: r["age"] == -2),
        ("floor(pay) = -1 and ceil(pay) = 0", lambda r: r["pay"] < 0),
        ("round(pay) = 0", lambda r: abs(r["pay"]) < Fraction(1, 2)),
        ("round(pay * 2.5) = 1", lambda r: r["pay"] >= Fraction(1, 5)),
        ("round(pay / 3, 2) = 0.07", lambda r: r["pay"] == Fraction(1, 5)),
        ("cast(pay * 5 as integer) = -1", lambda r: r["pay"] in (Fraction(-2, 10), Fraction(-1, 10))),
        ("least(age, 2) = greatest(pay, 2, null)", lambda r: r["age"] >= 2),
        ("age::text = '1'", lambda r: r["age"] == 1),
        ("cast(pay as varchar) like '-%'", lambda r: r["pay"] < 0),
        ("cast(day as varchar) like '%02-2_'", lambda r: r["day"].month == 2),
        ("case when ill then ill else old end", lambda r: r["ill"] or r["old"]),
        (
            "case age when 1 then pay when 2 then 0 end < 0.1",
            lambda r: (r["age"] == 1 and r["pay"] < Fraction("0.1")) or r["age"] == 2,
        ),
        ("name ilike 'ZO_'", lambda r: r["name"] == "Zoë"),
        ("name like '50!%' escape '!'", lambda r: r["name"] == "50%"),
        ("name not like 'a!_b' escape '!'", lambda r: r["name"] != "a_b"),
        ("lower(NAME) = 'zoë' or upper(grade) = 'LOW'", lambda r: r["name"] == "Zoë" or r["grade"] == "low"),
        ("length(name) + age = 4", lambda r: len(r["name"]) + r["age"] == 4),
        ("substring(name, 2, 2) = 'oë' or substring(name, 2) = '_b'", lambda r: r["name"] in ("Zoë", "a_b")),
        ("grade || '!' = 'low!' and starts_with(grade, 'l')", lambda r: r["grade"] == "low"),
        ("coalesce(nullif(grade, 'low'), 'none') = 'none'", lambda r: r["grade"] == "low"),
        ("nullif(grade, 'low') is null", lambda r: r["grade"] == "low"),
        ("lower(name) = lower(grade)", lambda r: r["name"].lower() == r["grade"].lower()),
        ("nullif(age, 1) is distinct from 2", lambda r: r["age"] != 2),
        ("nullif(age, 1) is not distinct from null", lambda r: r["age"] == 1),
        ("age in (1, null)", lambda r: r["age"] == 1),
        ("age not in (1, null)", lambda _: False),
        ("if(ill, age, -age) > 1", lambda r: (r["age"] if r["ill"] else -r["age"]) > 1),
        ("day + 1 = date '2020-02-29'", lambda r: r["day"] == DAYS[1]),
        ("day - interval 1 week < '2020-02-21'", lambda r: r["day"] == DAYS[0]),
        ("day - date '2020-02-27' = 2", lambda r: r["day"] == DAYS[2]),
        ("month(day) = 3 or extract(day from day) = 28", lambda r: r["day"].month == 3 or r["day"].day == 28),
        ("extract(isodow from day) = 4", lambda r: r["day"].isoweekday() == 4),
        ("day > '1999-01-01'", lambda _: True),
        ("age > 1e300 or age > -1e300 and pay <> 1e-300", lambda _: True),
        ("try_cast(level as integer) = 3", lambda r: r["level"] == "2.5"),
        ("try_cast(name as double) is null", lambda _: True),
        ("ill is distinct from old", lambda r: r["ill"] != r["old"]),
    ],
)
def test_by_hand(text: str, test: Test) -> None:
    names, table = truth_table(text, DOMAIN)
    assert table.tolist() == in_python(names, test)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("age > null", "names no attribute"),
        ("age is 3", "`is` of this is not offered"),
        ("age::json = '1'", "a cast to this type"),
        ("age::decimal(3, 1) = 1", "a cast to this type"),
        ("cast(name as integer) = 1", "cannot be converted"),
        ("cast(day as integer) = 1", "day is not a number"),
        ("age ^ 0.5 > 1", "power is not offered"),
        ("age ^ age > 1", "power is not offered"),
        ("round(age, -1) = 1", "rounding is not offered"),
        ("substring(name, 0) = 'a'", "substring is not offered"),
        ("substring(name, age) = 'a'", "substring is not offered"),
        ("name || nick = 'a'", "several attributes"),
        ("case when ill then name else 'x' end = 'x'", "several attributes"),
        ("lower(name) < 'a'", "texts have no order"),
        ("upper(name) = 1", "a text is compared with something else"),
        ("case when ill then age else name end = 1", "name is not a number"),
        ("day + interval 1 month > '2020-02-28'", "interval is not offered"),
        ("interval 1 day < interval 2 day", "number of days"),
        ("day + 0.5 > '2020-02-28'", "a part of a day"),
        ("day + day > '2020-02-28'", "two dates are added"),
        ("extract(hour from day) = 1", "`hour` of a date"),
        ("year(name) = 1", "name is not a date"),
        ("year(day + 10000000) = 1", "out of reach"),
        ("year(day + age) = 2020", "several attributes"),
        ("(age * 1e19) * (age * 1e19) > 1", "too large"),
        ("current_date > day", "not offered"),
        ("count(*) > 1", "`count` is not offered"),
    ],
)
def test_what_is_refused(text: str, what: str) -> None:
    with pytest.raises(QueryError, match=what):
        truth_table(text, DOMAIN)
