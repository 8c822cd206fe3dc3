"""Names on the page of a release: the first of many, the office's own title, and nothing read as HTML."""

from __future__ import annotations

from typing import Any

import tetraodon as td
from tetraodon.releases.names import NamesAnswer
from tetraodon.releases.report import MOST_NAMES as MOST_ROWS
from tetraodon.releases.report import named_answer

BASE: dict[str, Any] = {
    "dataset": "d",
    "attributes": {"x": {"integer": [0, 3]}, "word": {"open": "text"}},
    "budget": {"epsilon": 1, "delta": "1e-6"},
}


def shown(told: tuple[tuple[str, int], ...], **more: Any) -> dict[str, Any]:
    (item,) = td.plan(BASE | {"release": [{"name": "words", "names": "word", **more}]}).names
    return named_answer(NamesAnswer(item, told))


def test_what_does_not_appear_is_said() -> None:
    page = shown((("b", 500), ("a", 400)))
    assert page["title"] == "Names in word"
    assert "do not appear" in page["question"]
    assert page["table"].rows[0][:2] == ("b", "500")
    assert page["chart"]["data"]["values"][0].items()
    assert "delta" in page["facts"]["Certificate"]


def test_the_office_has_its_own_words() -> None:
    page = shown((("b", 500),), title="What people wrote", notes="Translated.")
    assert (page["title"], page["theirs"], page["notes"]) == ("What people wrote", True, ("Translated.",))
    assert page["chart"] is None


def test_the_first_of_many_names_are_shown() -> None:
    page = shown(tuple((f"w{place:04}", 9000 - place) for place in range(MOST_ROWS + 5)))
    assert len(page["table"].rows) == MOST_ROWS
    assert "the first 200 of 205 names" in page["table"].caption


def test_no_name_is_said_in_words() -> None:
    page = shown(())
    assert page["figures"][0]["number"] == "No name"
    assert page["table"].rows == []
