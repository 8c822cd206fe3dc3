"""Typed values of conditions: numbers, texts, patterns, dates, comparisons."""

from __future__ import annotations

import datetime as dt
import itertools
from fractions import Fraction

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.query.condition.conditions import DOMAIN

from tetraodon.domain import Attribute, Booleans, Categories, Dates, Domain, Grid, Integers
from tetraodon.errors import QueryError
from tetraodon.query.condition import values as texts
from tetraodon.query.condition.nodes import Code, Constant
from tetraodon.query.condition.read import truth_table
from tetraodon.query.condition.values import (
    LONGEST,
    Day,
    Nothing,
    Plain,
    Span,
    Words,
    day_in,
    joined,
    like,
    like_regex,
    mapped,
    measured,
    number_in,
    read_number,
    truth_in,
    values_of,
    words_in,
)

# -- values -----------------------------------------------------------------------------------------
# What a part of a condition stands for, and what is said when it stands for something else.


PAY = Attribute("pay", Grid(Fraction(1, 2), Fraction(5, 2), Fraction(1, 3)))
BORN = Attribute("born", Dates(dt.date(2000, 1, 1), dt.date(2000, 1, 2)))
SEX = Attribute("sex", Categories(("f", "m")), other=0)
ILL = Attribute("ill", Booleans(), other=0)


def test_a_grid_is_its_codes_in_steps() -> None:
    assert number_in(Plain(PAY, 0)) == Code(0, 7, Fraction(1, 2), Fraction(1, 3))


@pytest.mark.parametrize(
    ("attribute", "clause"),
    [
        (PAY, "a number from 0.5 to 2.5"),
        (BORN, "a date from '2000-01-01' to '2000-01-02'"),
        (SEX, "use one of: f, m"),
        (ILL, "true or false"),
    ],
)
def test_what_an_attribute_is_compared_with(attribute: Attribute, clause: str) -> None:
    assert clause in values_of(attribute)


def test_a_kind_is_not_another() -> None:
    with pytest.raises(QueryError, match="sex is not a number"):
        number_in(Plain(SEX, 0))
    with pytest.raises(QueryError, match="a date is not a number"):
        number_in(Day(Code(0, 2)))
    with pytest.raises(QueryError, match="not true or false"):
        truth_in(Span(Constant(1)))
    with pytest.raises(QueryError, match="ill is not a date"):
        day_in(Plain(ILL, 0))
    with pytest.raises(QueryError, match="a date is needed"):
        day_in(Constant(1))
    with pytest.raises(QueryError, match="cannot be read"):
        read_number("nan")
    assert day_in(Words(("2000-01-01",))) == Day(Constant(dt.date(2000, 1, 1).toordinal()))
    assert number_in(Nothing()) == Constant(None)


# -- texts ------------------------------------------------------------------------------------------
# Text is worked out for the one attribute that it comes from.


AB = Words(("a", None, "b"), 3)


def test_texts_keep_what_is_unknown() -> None:
    assert mapped(AB, str.upper) == Words(("A", None, "B"), 3)
    assert joined(AB, Words(("!",))) == Words(("a!", None, "b!"), 3)
    assert joined(Words(("!",)), Words(("?",))) == Words(("!?",))
    assert measured(Words(("abc",)), len) == Constant(3)


def test_numbers_are_written_as_they_are() -> None:
    assert words_in(Code(0, 4, step=Fraction(1, 2))).words == ("0", "0.5", "1", "1.5")
    assert words_in(Constant(3)).words == ("3",)


def test_an_attribute_with_too_many_values_has_no_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "LISTED", 5)
    assert truth_table("x like '3'", Domain((Attribute("x", Integers(0, 4)),)))[1].tolist() == [False] * 3 + [
        True,
        False,
    ]
    with pytest.raises(QueryError, match="too many values"):
        truth_table("x like '3'", Domain((Attribute("x", Integers(0, 5)),)))


# -- like -------------------------------------------------------------------------------------------
# `like` means what SQL says, and no pattern takes long.


TEXTS = ["".join(letters) for size in range(5) for letters in itertools.product("ab%\n", repeat=size)]


@given(st.text("ab%_.\\", max_size=6))
def test_patterns_match_as_in_a_database(pattern: str) -> None:
    rows = duckdb.execute("select t like $2 from unnest($1) as u(t)", [TEXTS, pattern]).fetchall()
    assert like(TEXTS, pattern).tolist() == [found for (found,) in rows]


@given(st.text("ab%_!", max_size=6).filter(lambda pattern: not pattern.replace("!!", "").endswith("!")))
def test_escaped_letters_stand_for_themselves_as_in_a_database(pattern: str) -> None:
    asked = "select t like $2 escape '!', regexp_full_match(t, $3, 's') from unnest($1) as u(t)"
    rows = duckdb.execute(asked, [TEXTS, pattern, like_regex(pattern, "!")]).fetchall()
    assert [there for there, _ in rows] == [here for _, here in rows]


@pytest.mark.parametrize("pattern", ["%_" * 400 + "b", "%a" * 400 + "b", "%a_" * 300 + "b", "%" * 900 + "b"])
def test_no_pattern_takes_long(pattern: str) -> None:
    """Going back and forth, a text of 2,000 letters and a pattern of 400 wildcards never came to an end."""
    assert like(["a" * 2000, "a" * 2000 + "b"], pattern).tolist() == [False, True]


def test_a_pattern_too_long_is_refused() -> None:
    with pytest.raises(QueryError, match="too long"):
        like(["a"], "%" * (LONGEST + 1))


# -- comparing --------------------------------------------------------------------------------------
# Like is compared with like, or the question is refused with what to compare instead.


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
