"""A condition holds exactly where the same thing said in Python holds, and nothing else gets in."""

from __future__ import annotations

import datetime as dt
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tetraodon.domain import Attribute, Booleans, Categories, Dates, Domain, Grid, Integers
from tetraodon.errors import QueryError
from tetraodon.workload import condition as room
from tetraodon.workload.condition import truth_table

ODD = ("O'Brien", "Zoë", '"quoted"', "50%", "a_b", "x; drop table t --", "")
GRADES = ("low", "middle", "high")
DAYS = [dt.date(2020, 2, 27) + dt.timedelta(days=n) for n in range(5)]
DOMAIN = Domain(
    (
        Attribute("age", Integers(-2, 4)),
        Attribute("pay", Grid(Fraction("-0.2"), Fraction("0.3"), Fraction("0.1"))),
        Attribute("name", Categories(ODD), other=0),
        Attribute("grade", Categories(GRADES, ordered=True), other=0),
        Attribute("level", Categories(("1", "2.5", "10"), ordered=True), other=0),
        Attribute("day", Dates(DAYS[0], DAYS[-1])),
        Attribute("ill", Booleans(), other=0),
        Attribute("old", Booleans(), other=0),
        Attribute("best", Categories(GRADES, ordered=True), other=0),
        Attribute("nick", Categories(ODD), other=0),
    )
)
Test = Callable[[dict[str, Any]], Any]
Said = tuple[str, Test]
SIGNS = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
signs = st.sampled_from(sorted(SIGNS))
equality = st.sampled_from(["=", "<>"])
numbers = st.one_of(
    st.integers(-3, 5), st.fractions(-1, 1, max_denominator=20).filter(lambda f: 20 % f.denominator == 0)
)


def quoted(word: str) -> str:
    return "'" + word.replace("'", "''") + "'"


def spelt(number: Fraction | int) -> str:
    return str(number) if Fraction(number).denominator == 1 else str(float(number))


@st.composite
def sums(draw: st.DrawFn, depth: int = 2) -> Said:
    """Arithmetic over the numeric attributes."""
    kind = draw(st.sampled_from(["age", "pay", "number", "neg", "op"] if depth else ["age", "pay", "number"]))
    if kind in ("age", "pay"):
        return kind, lambda r: r[kind]
    if kind == "number":
        number = draw(numbers)
        return spelt(number), lambda _: number
    left, value = draw(sums(depth - 1))
    if kind == "neg":
        return f"-({left})", lambda r: -value(r)
    sign, operate = draw(st.sampled_from([("+", operator.add), ("-", operator.sub), ("*", operator.mul)]))
    right, other = draw(sums(depth - 1))
    return f"({left}) {sign} ({right})", lambda r: operate(value(r), other(r))


def ranked(labels: tuple[str, ...], name: str) -> Test:
    return lambda r: labels.index(r[name])


@st.composite
def comparisons(draw: st.DrawFn) -> Said:
    kind = draw(
        st.sampled_from(["sums", "between", "in", "name", "names", "grade", "grades", "level", "day", "bool", "bools"])
    )
    sign = draw(signs)
    compare = SIGNS[sign]
    flip = draw(st.booleans())

    def around(column: str, value: Test, word: str, other: Any) -> Said:
        if flip:
            return f"{word} {sign} {column}", lambda r: compare(other, value(r))
        return f"{column} {sign} {word}", lambda r: compare(value(r), other)

    match kind:
        case "sums":
            (left, x), (right, y) = draw(sums()), draw(sums())
            return f"{left} {sign} {right}", lambda r: compare(x(r), y(r))
        case "between":
            (middle, x), low, high = draw(sums(1)), draw(numbers), draw(numbers)
            return f"{middle} between {spelt(low)} and {spelt(high)}", lambda r: low <= x(r) <= high
        case "in":
            options = draw(st.lists(numbers, min_size=1, max_size=3))
            listed = ", ".join(spelt(option) for option in options)
            return (
                f"pay not in ({listed})" if flip else f"age in ({listed})",
                lambda r: (r["pay"] not in options) if flip else (r["age"] in options),
            )
        case "name":
            sign = draw(equality)
            compare = SIGNS[sign]
            word = draw(st.sampled_from(ODD))
            return around("name", lambda r: r["name"], quoted(word), word)
        case "names":
            sign = draw(equality)
            return f"name {sign} nick", lambda r: SIGNS[sign](r["name"], r["nick"])
        case "grade":
            word = draw(st.sampled_from(GRADES))
            return around("grade", ranked(GRADES, "grade"), quoted(word), GRADES.index(word))
        case "grades":
            return f"grade {sign} best", lambda r: compare(ranked(GRADES, "grade")(r), ranked(GRADES, "best")(r))
        case "level":
            words = ("1", "2.5", "10")
            word = draw(st.sampled_from(words))
            return around(
                "level", ranked(words, "level"), draw(st.sampled_from([word, quoted(word)])), words.index(word)
            )
        case "day":
            day = draw(st.sampled_from(DAYS))
            return around("day", lambda r: r["day"], quoted(str(day)), day)
        case "bool":
            return draw(
                st.sampled_from(
                    [
                        ("ill", lambda r: r["ill"]),
                        ("ill = true", lambda r: r["ill"]),
                        ("false = ill", lambda r: not r["ill"]),
                        ("ill <> 'true'", lambda r: not r["ill"]),
                    ]
                )
            )
        case _:
            sign = draw(equality)
            return f"ill {sign} old", lambda r: SIGNS[sign](r["ill"], r["old"])


@st.composite
def conditions(draw: st.DrawFn, depth: int = 2) -> Said:
    kind = draw(st.sampled_from(["plain", "and", "or", "not"])) if depth else "plain"
    if kind == "plain":
        return draw(comparisons())
    left, x = draw(conditions(depth - 1))
    if kind == "not":
        return f"not ({left})", lambda r: not x(r)
    right, y = draw(conditions(depth - 1))
    if kind == "and":
        return f"({left}) and ({right})", lambda r: x(r) and y(r)
    return f"({left}) OR ({right})", lambda r: x(r) or y(r)


def in_python(names: tuple[str, ...], test: Test) -> list[bool]:
    part = DOMAIN.project(names)
    return [bool(test(dict(zip(names, part.value(cell), strict=True)))) for cell in range(part.size)]


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
        ("age > 1 /*", "cannot be read"),
        ("'", "cannot be read"),
        ("(" * 2000 + "ill" + ")" * 2000, "cannot be read"),
        ("not " * 3000 + "ill", "cannot be read|too deeply"),
        (" and ".join(["age > 1"] * 5000), "too deeply"),
        # not offered
        ("age in (select 1)", "`in` with `query` is not offered"),
        ("exists (select 1)", "`exists` is not offered"),
        ("age > (select max(age) from people)", "`subquery` is not offered"),
        ("abs(age) > 1", "`abs` is not offered"),
        ("read_csv('x') = 1", "not offered"),
        ("getenv('HOME') = 'x'", "not offered"),
        ("age is null", "`is` is not offered"),
        ("age > null", "`null` is not offered"),
        ("age / 2 > 1", "`div` is not offered"),
        ("age % 2 = 1", "`mod` is not offered"),
        ("age::text = '1'", "`cast` .*not offered"),
        ("case when ill then ill else old end", "`case` .*not offered"),
        ("name ilike 'a'", "`ilike` is not offered"),
        ("name like 'a' escape '!'", "`escape` is not offered"),
        ("age between symmetric 3 and 1", "`between` with `symmetric` is not offered"),
        ("age > ?", "`placeholder` is not offered"),
        ("age > $1", "not offered"),
        ("* = 1", "cannot be read|not offered"),
        # names
        ("agee > 1", "did you mean 'age'"),
        ("t.age > 1", "names a table"),
        ("grade = high", "no attribute 'high'"),
        ("1 = 1", "names no attribute"),
        ("true", "names no attribute"),
        # like with like
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
