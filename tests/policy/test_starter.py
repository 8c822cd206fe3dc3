"""The first draft holds no value of the table, and is refused until it has been confirmed."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tetraodon.errors import PolicyError
from tetraodon.policy.draft import starter
from tetraodon.policy.load import PLACEHOLDER, load_policy
from tetraodon.policy.source import parse

COLUMNS = [
    ("person_id", "text"),
    ("age", "integer"),
    ("Birth Year", "integer"),
    ("sex", "text"),
    ("zip", "integer"),
    ("lat", "real"),
    ("income", "real"),
    ("seen", "date"),
    ("smokes", "boolean"),
    ("diagnosis", "text"),
]


def test_guesses_come_from_names_and_types() -> None:
    draft = parse(starter(COLUMNS, "people").encode(), "p").data
    assert draft["individuals"] == {"key": "person_id", "at most": PLACEHOLDER}
    attributes = draft["attributes"]
    blank = [PLACEHOLDER, PLACEHOLDER]
    assert "person_id" not in attributes
    assert attributes["age"] == {"integer": blank, "missing": "separate"}
    assert attributes["Birth Year"] == {"integer": blank, "missing": "separate"}
    assert attributes["sex"] == attributes["diagnosis"]
    assert attributes["zip"] == attributes["diagnosis"]
    assert attributes["lat"] == {"real": blank, "step": PLACEHOLDER, "missing": "separate"}
    assert attributes["income"] == attributes["lat"]
    assert attributes["seen"] == {"date": blank, "missing": "separate"}
    assert attributes["smokes"] == {"boolean": "true", "missing": "separate"}
    assert attributes["diagnosis"] == {
        "categories": blank,
        "missing": "separate",
        "other": PLACEHOLDER,
        "trim": "true",
    }
    assert draft["presence"] == "secret"


def test_a_column_without_a_type_is_guessed_from_its_name_or_not_at_all() -> None:
    attributes = parse(starter([("age", "unknown"), ("wage", "unknown")], "people").encode(), "p").data["attributes"]
    assert attributes == {
        "age": {"integer": [PLACEHOLDER, PLACEHOLDER], "missing": "separate"},
        "wage": PLACEHOLDER,
    }


def test_a_name_that_contradicts_the_type_is_not_believed() -> None:
    draft = parse(starter([("age", "text"), ("sex", "real")], "people").encode(), "p").data
    assert "categories" in draft["attributes"]["age"]
    assert "real" in draft["attributes"]["sex"]
    assert draft["individuals"] == "one row each"


def test_the_draft_is_refused_until_it_is_confirmed(tmp_path: Path) -> None:
    path = tmp_path / "people.policy.yaml"
    text = starter([("age", "integer"), ("ok", "boolean")], "people")
    path.write_text(text)
    with pytest.raises(PolicyError, match="CONFIRM still stands here"):
        load_policy(path)
    path.write_text(text.replace("[CONFIRM, CONFIRM]", "[0, 120]"))
    assert load_policy(path).domain.names == ("age", "ok")


def test_a_table_of_keys_alone_has_nothing_to_release() -> None:
    assert "CONFIRM: [CONFIRM]" in starter([("id", "integer")], "people")


names = st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp", "Cn", "Co"]), min_size=1, max_size=20)


@settings(max_examples=100, deadline=None)
@given(
    st.dictionaries(names, st.sampled_from(["integer", "real", "text", "date", "boolean", "unknown"]), max_size=4),
    names,
)
def test_any_names_make_a_readable_draft(columns: dict, dataset: str) -> None:
    draft = parse(starter(columns.items(), dataset).encode(), "p").data
    assert draft["dataset"] == dataset
    key = draft["individuals"]["key"] if isinstance(draft["individuals"], dict) else None
    assert set(draft["attributes"]) - {PLACEHOLDER} <= set(columns) - {key}
