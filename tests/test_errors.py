"""An error says what, where and how to put it right, and can be told its place later."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tetraodon import errors
from tetraodon.errors import BudgetExhausted, LedgerError, TetraodonError, did_you_mean

KINDS = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, TetraodonError)]


@pytest.mark.parametrize("kind", KINDS)
def test_the_message_has_three_parts(kind: type[TetraodonError]) -> None:
    error = kind("the cup is empty", fix="fill it")
    assert str(error) == "the cup is empty. Fix: fill it."
    placed = error.at("kitchen.yaml:3")
    assert type(placed) is kind
    assert str(placed) == "kitchen.yaml:3: the cup is empty. Fix: fill it."
    assert (placed.what, placed.fix, placed.where) == ("the cup is empty", "fill it", "kitchen.yaml:3")
    assert error.where == ""
    with pytest.raises(TypeError):
        kind("the cup is empty")  # type: ignore[call-arg]


@pytest.mark.parametrize("kind", KINDS)
def test_each_type_says_when_it_is_raised(kind: type[TetraodonError]) -> None:
    assert kind.__doc__
    assert len(kind.__doc__.split()) > 4


def test_one_root() -> None:
    assert len(KINDS) == 14
    assert issubclass(BudgetExhausted, LedgerError)


@given(st.text(max_size=8), st.lists(st.text(max_size=8), max_size=20))
def test_a_suggestion_names_something_known(word: str, known: list[str]) -> None:
    said = did_you_mean(word, known)
    if said.startswith("did you mean"):
        assert any(said == f"did you mean {name!r}?" for name in known)
    elif known:
        assert said.startswith(f"use one of: {known[0]}")
        assert said.endswith(", ...") == (len(known) > 12) or known[-1].endswith("...")
    else:
        assert said == "there is none to choose from"


@pytest.mark.parametrize(
    ("word", "near"), [("agee", "age"), ("captial_loss", "capital_loss"), ("sexx", "sex"), ("AGE", "age")]
)
def test_misspelt_words_are_near(word: str, near: str) -> None:
    assert did_you_mean(word, ["age", "sex", "capital_loss"]) == f"did you mean {near!r}?"


def test_a_refusal_because_of_the_records_keeps_its_type_when_it_is_placed() -> None:
    assert type(errors.DataRefusal("x", fix="y").at("z")) is errors.DataRefusal
