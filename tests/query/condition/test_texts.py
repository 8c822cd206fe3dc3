"""Text is worked out for the one attribute that it comes from."""

from __future__ import annotations

import pytest

from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.errors import QueryError
from tetraodon.query.condition import values as texts
from tetraodon.query.condition.nodes import Code, Constant
from tetraodon.query.condition.read import truth_table
from tetraodon.query.condition.values import Ratio, Words, joined, mapped, measured, number, words_in

AB = Words(("a", None, "b"), 3)


def test_texts_keep_what_is_unknown() -> None:
    assert mapped(AB, str.upper) == Words(("A", None, "B"), 3)
    assert joined(AB, Words(("!",))) == Words(("a!", None, "b!"), 3)
    assert joined(Words(("!",)), Words(("?",))) == Words(("!?",))
    assert measured(Words(("abc",)), len) == Constant(3)


def test_numbers_are_written_as_they_are() -> None:
    assert words_in(Ratio(Code(0, 4), Constant(2))).words == ("0", "0.5", "1", "1.5")
    assert words_in(number(3)).words == ("3",)


def test_an_attribute_with_too_many_values_has_no_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "LISTED", 5)
    assert truth_table("x like '3'", Domain((Attribute("x", Integers(0, 4)),)))[1].tolist() == [False] * 3 + [
        True,
        False,
    ]
    with pytest.raises(QueryError, match="too many values"):
        truth_table("x like '3'", Domain((Attribute("x", Integers(0, 5)),)))
