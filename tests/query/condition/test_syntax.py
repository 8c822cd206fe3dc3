"""Text becomes syntax trees, and nothing that is no syntax gets through."""

from __future__ import annotations

import pytest
from sqlglot import exp

from tetraodon.errors import QueryError
from tetraodon.query.condition.syntax import LONGEST, is_select, one_select, parse_condition, parsed, source_of

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
