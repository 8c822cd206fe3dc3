"""Short forms stand for long ones."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from tetraodon.policy.document import PolicyDocument


def read(**changes: object) -> PolicyDocument:
    return PolicyDocument.model_validate(
        {"dataset": "d", "attributes": {"a": "boolean"}, "budget": {"epsilon": "1"}, **changes}
    )


@pytest.mark.parametrize(
    ("short", "long"),
    [
        ({"attributes": {"a": ["x", "y"]}}, {"attributes": {"a": {"categories": ["x", "y"]}}}),
        ({"attributes": {"a": "boolean"}}, {"attributes": {"a": {"boolean": "true"}}}),
        ({"secrets": {"a": "public"}}, {"secrets": {"a": {"public": "true"}}}),
        ({"secrets": {"a": "everything"}}, {"secrets": {"a": {"everything": "true"}}}),
        ({"together": "one attribute at a time"}, {"together": {"at most": "1"}}),
        ({"together": "all at once"}, {"together": {}}),
    ],
)
def test_short_forms(short: dict, long: dict) -> None:
    assert read(**short) == read(**long)


def test_one_row_each_is_the_default() -> None:
    assert read(individuals="one row each").individuals is None
    assert read().individuals is None


def test_attributes_may_be_a_list_with_names() -> None:
    listed = read(attributes=[{"name": "z", "boolean": "true"}, {"name": "a", "integer": ["0", "1"]}])
    assert list(listed.attributes) == ["z", "a"]


def test_defaults_are_the_strongest_protection() -> None:
    document = read()
    assert document.presence == "secret"
    assert document.secrets == {}
    assert document.together.at_most is None
    assert [entry.kind for entry in document.attackers] == ["independent"]


def test_a_unit_is_one_word_or_two() -> None:
    said = {"attributes": {"a": {"integer": ["0", "9"], "unit": ["child", "children"]}}}
    assert read(**said).attributes["a"].unit == ("child", "children")
    assert read(attributes={"a": {"integer": ["0", "9"], "unit": "EUR"}}).attributes["a"].unit == ("EUR",)
    with pytest.raises(ValidationError, match="of one and of several"):
        read(attributes={"a": {"integer": ["0", "9"], "unit": ["a", "b", "c"]}})
