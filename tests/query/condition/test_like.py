"""`like` means what SQL says, and no pattern takes long."""

from __future__ import annotations

import itertools

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tetraodon.errors import QueryError
from tetraodon.query.condition.values import LONGEST, like, like_regex

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
