"""What is parsed, and what names may stand for."""

from __future__ import annotations

import datetime as dt

import pytest
from sqlglot import exp

from tetraodon.domain import Attribute, Booleans, Categories, Dates, Domain, Integers
from tetraodon.errors import QueryError
from tetraodon.query.condition.read import read_condition
from tetraodon.query.condition.select import is_select, one_select, source_of
from tetraodon.query.condition.syntax import LONGEST, Names, bare, parse_condition, parsed, quoted

# -- syntax -----------------------------------------------------------------------------------------
# Text becomes syntax trees, and nothing that is no syntax gets through.


SAID = """/* a */ select /* b */ count(*) /* c */ from -- */ drop table people
people /* d */ where /* e */ age /* f */ > 3 -- g"""


def test_no_comment_is_left_in_a_tree() -> None:
    for tree in (one_select(SAID), parse_condition("age > 3 /* */ and -- */ drop\n sex = 'm' /* z */")):
        assert not any(node.comments for node in tree.walk())
        assert "/*" not in tree.sql(dialect="duckdb", comments=True)
        assert "drop" not in tree.sql(dialect="duckdb", comments=True)


def test_words_that_look_like_comments_are_words() -> None:
    assert parse_condition("sex = '/* x */ --'").expression.this == "/* x */ --"


def test_a_question_is_one_select_from_one_table() -> None:
    assert is_select("  SELECT 1")
    assert not is_select("selected = 1")
    table = source_of(one_select(SAID))
    assert isinstance(table, exp.Table)
    assert table.name == "people"
    for other in ("select 1", "select 1 from (select 1)", "select 1 from a.b", "select 1 from f(3)"):
        assert source_of(one_select(other)) is None


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        ("select 1 limit 2 offset 1", "`offset` is not offered"),
        ("select 1; select 2", "more than one SELECT"),
        ("select (", "it cannot be read|question cannot be read"),
        ("select " + "(" * 5000 + "1" + ")" * 5000, "question cannot be read"),
        ("select " + " " * LONGEST, "question is too long"),
    ],
)
def test_anything_else_is_refused(text: str, refusal: str) -> None:
    with pytest.raises(QueryError, match=refusal):
        one_select(text)


def test_the_reader_says_what_cannot_be_read() -> None:
    with pytest.raises(QueryError, match=r"the wish cannot be read. Fix: write it"):
        parsed("1 +", what="the wish", fix="write it")


# -- names ------------------------------------------------------------------------------------------
# Names are found as they are meant, and a word that is no name is told how to be written.


DOMAIN = Domain(
    (
        Attribute("Age", Integers(0, 9)),
        Attribute("sex", Categories(("Female", "Male")), other=0),
        Attribute("x", Integers(0, 9)),
        Attribute("X", Integers(0, 9)),
        Attribute("case", Integers(0, 9)),
        Attribute("from", Integers(0, 9)),
        Attribute("current_date", Integers(0, 9)),
        Attribute("hours-per-week", Integers(0, 9)),
        Attribute("born", Dates(dt.date(2000, 1, 1), dt.date(2000, 1, 31))),
        Attribute("ill", Booleans(), other=0),
    )
)
NAMES = Names(DOMAIN, "people")


def test_names_that_differ_in_case_only() -> None:
    assert NAMES.place("AGE") == 0
    assert (NAMES.place("x"), NAMES.place("X")) == (2, 3)
    assert read_condition("people.age > 3 and PEOPLE.x < X", NAMES).places == (0, 2, 3)
    with pytest.raises(QueryError, match="did you mean 'sex'"):
        NAMES.place("sxe")


@pytest.mark.parametrize(
    ("asked", "fix"),
    [
        ("sex = Female", "put words in single quotes: sex = 'Female'"),
        ('sex = "Female"', "put words in single quotes: sex = 'Female'"),
        ("case > 3", 'write "case", in double quotes'),
        ("age > 3 and from = 2", 'write "from", in double quotes'),
        ("current_date > 3", 'write "current_date", in double quotes'),
        ("hours-per-week > 3", 'did you mean "hours-per-week"? Write it in double quotes'),
        ("ill = 1", "compare it with true or false"),
        ("ill = 'yes'", "compare it with true or false"),
        ("born > 2000", "compare it with a date from '2000-01-01' to '2000-01-31', in quotes"),
        ("born > '01.02.2000'", "write a date as '2020-01-31'"),
        ("other.age > 3", "write people.age, or the name alone"),
        ("a.b.c.age > 3", "use comparisons"),
    ],
)
def test_the_fix_says_how_to_write_it(asked: str, fix: str) -> None:
    with pytest.raises(QueryError) as caught:
        read_condition(asked, NAMES)
    assert fix in str(caught.value.fix)


def test_words_of_sql_are_names_in_double_quotes() -> None:
    assert read_condition('"case" > 3 and "from" = 1 and "hours-per-week" < 3', NAMES).places == (4, 5, 7)
    assert [bare(name) for name in ("age", "case", "a b", "hours-per-week", "Zoë")] == [True, False, False, False, True]
    assert quoted('a"b') == '"a""b"'
