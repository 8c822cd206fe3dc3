"""A condition holds exactly where the same thing said in Python holds, and nothing else gets in."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from tests.query.condition.conditions import DAYS, DOMAIN, ODD, Said, Test, conditions, in_python

from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.errors import QueryError
from tetraodon.query.condition import read as room
from tetraodon.query.condition.read import truth_table


@settings(max_examples=300, deadline=None)
@given(conditions())
def test_it_holds_where_python_says_so(said: Said) -> None:
    text, test = said
    if not any(name in text for name in DOMAIN.names):
        with pytest.raises(QueryError, match="names no attribute"):
            truth_table(text, DOMAIN)
        return
    names, table = truth_table(text, DOMAIN)
    assert names == tuple(name for name in DOMAIN.names if name in names)
    if table.size <= 1500:
        assert table.tolist() == in_python(names, test)


@pytest.mark.parametrize(
    ("text", "test"),
    [
        ("name like '%_'", lambda r: len(r["name"]) >= 1),
        ("name like 'a_b'", lambda r: len(r["name"]) == 3 and r["name"][0] + r["name"][2] == "ab"),
        ("name like '50%'", lambda r: r["name"].startswith("50")),
        ("0 < 1 and not (1 < 0) and ill", lambda r: r["ill"]),
        ("(2 in (1, 2) or 3 between 1 and 2) and ill", lambda r: r["ill"]),
        ("age in (pay * 10, 4)", lambda r: r["age"] in (r["pay"] * 10, 4)),
        ("name not like '%o%'", lambda r: "o" not in r["name"]),
        ("name like ''", lambda r: r["name"] == ""),
        ("name like '.*'", lambda _: False),
        ("age like '-%'", lambda r: r["age"] < 0),
        ("day between '2020-02-28' and '2020-02-29'", lambda r: DAYS[1] <= r["day"] <= DAYS[2]),
        ("day in ('2020-02-29')", lambda r: r["day"] == DAYS[2]),
        ("grade between 'middle' and 'high'", lambda r: r["grade"] != "low"),
        ("pay < '0.14'", lambda r: r["pay"] < Fraction("0.14")),
        ("age > '1000'", lambda _: False),
        ("age > -1", lambda r: r["age"] > -1),
        ("1 + 1 = age", lambda r: r["age"] == 2),
        ("(age > 1) = ill", lambda r: (r["age"] > 1) == r["ill"]),
        ("(age > 1) <> true", lambda r: r["age"] <= 1),
        ("age == 3 -- a remark", lambda r: r["age"] == 3),
        ("age /* a remark */ != 3", lambda r: r["age"] != 3),
        ('"age" > 1e0', lambda r: r["age"] > 1),
        ("pay = 0.1", lambda r: r["pay"] == Fraction(1, 10)),
        ("name = 'x; drop table t --'", lambda r: r["name"] == ODD[5]),
        (" and ".join(["age > 1"] * 5000), lambda r: r["age"] > 1),
    ],
)
def test_by_hand(text: str, test: Test) -> None:
    names, table = truth_table(text, DOMAIN)
    assert table.tolist() == in_python(names, test)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        # more than a condition
        ("age > 1; drop table people", "more than a condition"),
        ("age > 1; select 1", "more than a condition"),
        ("age > 1 union select 1", "more than a condition"),
        ("age > 1 group by age", "more than a condition"),
        ("age > 1 order by age", "more than a condition"),
        ("age > 1 limit 1", "more than a condition"),
        ("age > 1 qualify ill", "more than a condition"),
        ("age > 1) or (1 = 1", "cannot be read"),
        ("", "cannot be read"),
        ("age >", "cannot be read"),
        ("floor() = 1", "a part of the condition is missing"),
        ("floor(", "cannot be read|a part of the condition is missing"),
        ("age > 1 /*", "cannot be read"),
        ("'", "cannot be read"),
        ("(" * 2000 + "ill" + ")" * 2000, "cannot be read"),
        ("not " * 3000 + "ill", "cannot be read|too deeply"),
        ("abs(" * 20 + "age" + ")" * 20 + " = 1", "too deeply"),
        # not offered
        ("age in (select 1)", "a subquery is not offered here"),
        ("exists (select 1)", "a subquery is not offered here"),
        ("age > (select max(age) from people)", "a subquery is not offered here"),
        ("read_csv('x') = 1", "not offered"),
        ("map {1: 2}", "`tomap` is not offered"),
        ("age = map {1: 2}", "not offered"),
        ("getenv('HOME') = 'x'", "not offered"),
        ("age between symmetric 3 and 1", "`between` with `symmetric` is not offered"),
        ("age > ?", "`placeholder` is not offered"),
        ("age > $1", "not offered"),
        ("* = 1", "cannot be read|not offered"),
        # names
        ("agee > 1", "did you mean 'age'"),
        ("t.age > 1", "names a table, t,"),
        ("grade = high", "no attribute 'high'"),
        ("1 = 1", "names no attribute"),
        ("true", "names no attribute"),
    ],
)
def test_what_is_refused(text: str, what: str) -> None:
    with pytest.raises(QueryError, match=what):
        truth_table(text, DOMAIN)


@pytest.mark.parametrize("text", ["name = 'Marker-Word'", "day = 'Marker-Word'", "grade in ('low', 'Marker-Word')"])
def test_a_word_that_is_no_value_is_not_quoted(text: str) -> None:
    with pytest.raises(QueryError, match="a word is not a value of") as error:
        truth_table(text, DOMAIN)
    assert "Marker-Word" not in str(error.value)


def test_the_value_that_may_be_meant_is_named() -> None:
    with pytest.raises(QueryError, match="did you mean 'low'"):
        truth_table("grade = 'lwo'", DOMAIN)


def test_huge_attributes_refuse_before_memory_is_taken() -> None:
    huge = Domain((Attribute("id", Integers(1, 10**12)), Attribute("a", Integers(0, 1))))
    with pytest.raises(QueryError, match="too many cells"):
        truth_table("id > 5", huge)
    assert truth_table("a = 1", huge)[1].tolist() == [False, True]


def test_the_limit_is_on_all_attributes_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "CELL_LIMIT", 14)
    assert len(truth_table("age > 1 and ill", DOMAIN)[1]) == 14
    with pytest.raises(QueryError, match="too many cells"):
        truth_table("age > 1 and grade = 'low'", DOMAIN)


def test_arithmetic_never_wraps_round() -> None:
    domain = Domain((Attribute("x", Integers(2**40 - 1, 2**40)),))
    assert truth_table("x * x * x > 0", domain)[1].all()
    assert truth_table(f"x * x = {2**80}", domain)[1].tolist() == [False, True]
    longer = Domain((Attribute("x", Integers(2**61, 2**61 + 1)),))
    assert truth_table("x + x + x + x > x", longer)[1].all()
    longest = Domain((Attribute("x", Integers(2**70, 2**70 + 1)),))
    assert truth_table(f"x = {2**70}", longest)[1].tolist() == [True, False]
    assert truth_table(f"-x < -{2**70}", longest)[1].tolist() == [False, True]


def test_a_million_values_in_exact_numbers() -> None:
    domain = Domain((Attribute("x", Integers(1, 10**6)),))
    assert np.flatnonzero(truth_table("x * x = 250000000000", domain)[1]).tolist() == [499_999]
