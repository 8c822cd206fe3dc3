"""Maps of the file: known keys, and exactly one kind."""

from __future__ import annotations

import pytest
from pydantic import TypeAdapter, ValidationError

from tetraodon.policy.document import AttributeSection, Individuals
from tetraodon.policy.section import choice


def test_keys_are_those_that_curators_write() -> None:
    assert Individuals.keys() == ["key", "at most"]


def test_the_kind_is_the_one_that_was_written() -> None:
    assert AttributeSection.model_validate({"integer": ["0", "9"]}).kind == "integer"
    for wrong in ({}, {"integer": ["0", "9"], "boolean": "true"}, {"integre": []}):
        with pytest.raises(ValidationError):
            AttributeSection.model_validate(wrong)


def test_a_choice_takes_its_words_only() -> None:
    adapter = TypeAdapter(choice("yes", "no"))
    assert adapter.validate_python("yes") == "yes"
    assert adapter.json_schema() == {"enum": ["yes", "no"]}
    for wrong in ("Yes", None, [], {}):
        with pytest.raises(ValidationError):
            adapter.validate_python(wrong)
