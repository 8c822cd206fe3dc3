"""An office's own words: what it can say, what is refused, and that they survive the policy file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tetraodon.errors import PolicyError
from tetraodon.policy.load import load_policy
from tetraodon.policy.publication import PHRASES, Publisher

BASE: dict[str, Any] = {"dataset": "d", "attributes": {"x": {"integer": [0, 9]}}, "budget": {"epsilon": 1}}
WORDS = {"name": "Office", "source": "Survey", "contact": "a@b.example", "licence": "CC BY 4.0", "language": "pt-BR"}


def test_it_survives_the_policy_file() -> None:
    policy = load_policy(BASE | {"publisher": WORDS})
    assert policy.publisher == Publisher(**WORDS)
    assert policy.document["publisher"] == WORDS
    assert load_policy(policy.document) == policy


def test_an_office_that_says_nothing_is_not_written_down() -> None:
    for said in ({}, {"publisher": {}}, {"publisher": {"language": "en"}}):
        policy = load_policy(BASE | said)
        assert policy.publisher == Publisher()
        assert "publisher" not in policy.document


@pytest.mark.parametrize("tag", ["german", "d", "de_DE", "de-", "<b>", "", "DE"])
def test_languages_that_are_none(tag: str) -> None:
    with pytest.raises(PolicyError, match="language"):
        load_policy(BASE | {"publisher": {"language": tag}})
    with pytest.raises(PolicyError, match="language"):
        Publisher(language=tag)


def test_phrases_may_be_said_otherwise_and_others_are_refused() -> None:
    said = {"The numbers": "Die Zahlen", "Source": "Quelle"}
    policy = load_policy(BASE | {"publisher": {"language": "de", "words": said}})
    assert dict(policy.publisher.words) == said
    assert load_policy(policy.document) == policy
    with pytest.raises(PolicyError, match=r"is no phrase of a report.*The numbers"):
        load_policy(BASE | {"publisher": {"words": {"The number": "Die Zahl"}}})
    with pytest.raises(PolicyError, match="no such phrase"):
        Publisher(words=(("Numbers", "Zahlen"),))


def test_every_phrase_is_in_the_documentation() -> None:
    page = (Path(__file__).parents[2] / "docs" / "policy-file.md").read_text(encoding="utf-8")
    assert [phrase for phrase in PHRASES if f"\n- {phrase}\n" not in page] == []


def test_unknown_words_are_refused() -> None:
    with pytest.raises(PolicyError, match="licence"):
        load_policy(BASE | {"publisher": {"license": "CC0"}})
