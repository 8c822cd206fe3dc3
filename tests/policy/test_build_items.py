"""Bins and ranges in the form of values, whatever way they were typed."""

from __future__ import annotations

import pytest

from tetraodon.domain import Attribute, Categories, Integers
from tetraodon.errors import PolicyError
from tetraodon.policy.build_items import groups_of
from tetraodon.policy.load import load_policy
from tetraodon.workload.query import linear


def test_groups_are_ends_for_numbers_and_lists_for_categories() -> None:
    assert groups_of(Attribute("n", Integers(5, 9)), (0, 0, 1, 1, 1)) == ((5, 6), (7, 9))
    assert groups_of(Attribute("c", Categories(tuple("abc")), other=0), (0, 1, 0)) == (("a", "c"), ("b",))


def policy_with(item: dict) -> object:
    attributes = {"n": {"integer": [0, 9]}, "o": {"ordered": ["low", "middle", "high"]}}
    return load_policy(
        {"dataset": "d", "attributes": attributes, "budget": {"epsilon": 1}, "release": [{"name": "i", **item}]}
    )


def test_bins_mean_the_same_to_the_query() -> None:
    policy = policy_with({"histogram": ["n", "o"], "bins": {"n": 4, "o": [["middle", "high"], ["low"]]}})
    by = linear(policy.items[0].query, policy.domain).by
    assert by[0].bins == (0, 0, 0, 0, 1, 1, 1, 1, 2, 2)
    assert by[1].bins == (0, 1, 1)


def test_bins_of_ordered_categories_that_skip_a_value_are_refused_and_not_read_as_a_range() -> None:
    with pytest.raises(PolicyError, match="overlap"):
        policy_with({"histogram": "o", "bins": {"o": [["low", "high"], ["middle"]]}})


def test_ranges_without_a_name_are_called_after_their_ends() -> None:
    policy = policy_with({"ranges": {"o": [["low", "middle"]]}})
    assert policy.items[0].query.named == (("low..middle", "low", "middle"),)
