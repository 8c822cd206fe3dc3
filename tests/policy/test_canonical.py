"""The normal form of a policy reads back as the same policy, wherever it has been kept."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest
from hypothesis import given, settings
from tests.policy.policies import policies

from tetraodon.policy.load import load_policy
from tetraodon.query.query import plain


@settings(max_examples=200, deadline=None)
@given(policies())
def test_documents_read_back_as_equal_policies(document: dict) -> None:
    policy = load_policy(document)
    kept = json.loads(json.dumps(policy.document, sort_keys=True, allow_nan=False))
    again = load_policy(kept)
    assert again == policy
    assert again.document == policy.document
    assert kept == policy.document


def test_ways_to_say_the_same_have_one_document() -> None:
    one = {"dataset": "d", "attributes": {"x": {"integer": ["0", 9]}}, "budget": {"epsilon": "1.0"}}
    long = {
        "tetraodon": 1,
        "dataset": "d",
        "individuals": "one row each",
        "presence": "secret",
        "attributes": [{"name": "x", "integer": [0, 9], "missing": 0}],
        "secrets": {"x": "everything"},
        "together": {"at most": 3},
        "known": [],
        "attackers": ["independent"],
        "budget": {"epsilon": 1},
        "release": [],
    }
    assert load_policy(one) == load_policy(long)
    assert load_policy(one).document == load_policy(long).document == {**long, "together": "all at once"}


def test_numbers_are_exact() -> None:
    assert [plain(Fraction(1, 10)), plain(Fraction(4, 2)), plain(Fraction(1, 3))] == ["0.1", 2, "1/3"]


def test_the_order_of_attributes_and_ranges_survives_sorted_keys() -> None:
    policy = load_policy(
        {
            "dataset": "d",
            "attributes": {"z": {"integer": [0, 9]}, "a": ["x", "y"]},
            "budget": {"epsilon": 1},
            "release": [{"name": "r", "ranges": {"z": {"old": [5, 9], "all": [0, 9]}}}],
        }
    )
    kept = load_policy(json.loads(json.dumps(policy.document, sort_keys=True)))
    assert kept.domain.names == ("z", "a")
    assert [name for name, _, _ in kept.items[0].query.named] == ["old", "all"]


def test_the_office_s_words_for_items_and_units_survive() -> None:
    item = {"name": "n", "title": "How many", "notes": "Not those\n  abroad.", "count": "all"}
    policy = load_policy(
        {
            "dataset": "d",
            "attributes": {"x": {"integer": [0, 9], "unit": ["child", "children"]}},
            "budget": {"epsilon": 1},
            "release": [item, {"name": "m", "mean": "x", "notes": ["One.", "Two."]}],
        }
    )
    assert [(item.title, item.notes) for item in policy.items] == [
        ("How many", ("Not those abroad.",)),
        ("", ("One.", "Two.")),
    ]
    assert policy.domain["x"].measured(1) == "1 child"
    assert load_policy(json.loads(json.dumps(policy.document))) == policy
    assert "title" not in policy.document["release"][1]


@pytest.mark.parametrize("word", ["among", "of"])
def test_a_part_of_the_records_is_written_back_with_one_word(word: str) -> None:
    policy = {"dataset": "d", "attributes": {"x": {"integer": [0, 9]}}, "budget": {"epsilon": 1}}
    one, other = (
        load_policy({**policy, "release": [{"name": "n", "median": "x", key: "x > 3"}]}) for key in (word, "where")
    )
    assert one == other
    assert one.document == other.document
