"""Bins and ranges in the form of values, whatever way they were typed."""

from __future__ import annotations

import pytest
from tests.policy.mistakes import small

from tetraodon.domain import Attribute, Categories, Integers
from tetraodon.errors import PolicyError
from tetraodon.policy.build import groups_of
from tetraodon.policy.load import load_policy
from tetraodon.queries import cdf, count, histogram, mean, quantiles, ranges, total
from tetraodon.query.kinds import linear


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


def test_bins_of_ordered_categories_that_skip_a_value_are_lists_and_not_read_as_a_range() -> None:
    policy = policy_with({"histogram": "o", "bins": {"o": [["low", "high"], ["middle"]]}})
    assert linear(policy.items[0].query, policy.domain).by[0].bins == (0, 1, 0)
    with pytest.raises(PolicyError, match="leave middle out"):
        policy_with({"histogram": "o", "bins": {"o": [["high", "low"]]}})


def test_ranges_without_a_name_are_called_after_their_ends() -> None:
    policy = policy_with({"ranges": {"o": [["low", "middle"]]}})
    assert policy.items[0].query.named == (("low..middle", "low", "middle"),)


@pytest.mark.parametrize(
    ("words", "query"),
    [
        ({"count": "all"}, count()),
        ({"count": "all", "by": "c"}, count(by=["c"])),
        ({"count": "x > 3"}, count("x > 3")),
        ({"histogram": "c"}, histogram("c")),
        ({"histogram": ["x", "c"], "bins": {"x": [[5, 9], [0, 4]]}}, histogram("x", "c", bins={"x": [[0, 4], [5, 9]]})),
        ({"histogram": "x", "bins": {"x": 4}}, histogram("x", bins={"x": [[0, 3], [4, 7], [8, 9]]})),
        ({"histogram": "y", "bins": {"y": 0.5}}, None),
        ({"histogram": "c", "bins": {"c": [["c"], ["a", "b"]]}}, histogram("c", bins={"c": [["a", "b"], ["c"]]})),
        ({"histogram": "x", "bins": {"x": "secret blocks"}}, histogram("x", bins={"x": [[0, 4], [5, 9]]})),
        ({"cdf": "o", "by": ["c", "t"]}, cdf("o", by=["c", "t"])),
        ({"ranges": "x"}, ranges("x")),
        ({"ranges": {"x": [[0, 4], [2, 3]]}}, ranges("x", [[0, 4], [2, 3]])),
        ({"ranges": {"x": {"young": [0, 4]}}}, ranges("x", {"young": [0, 4]})),
        ({"ranges": {"x": [{"name": "young", "range": [0, 4]}]}}, ranges("x", {"young": [0, 4]})),
        ({"total": "x", "weight": "y"}, total("x", weight="y")),
        ({"sum": "x"}, total("x")),
        ({"mean": "y", "by": "c"}, mean("y", by=["c"])),
        ({"quantiles": "x", "at": [0.1, "1/3"]}, quantiles("x", at=["0.1", "1/3"])),
        ({"quantiles": "d"}, quantiles("d")),
    ],
)
def test_kinds_of_items(words: dict[str, object], query: object) -> None:
    policy = load_policy(small(secrets={"x": {"blocks": [[0, 4], [5, 9]]}}, release=[{"name": "it", **words}]))
    [item] = policy.items
    if query is not None:
        assert item.query == query
    assert (item.share, item.whole) == (1, "whole" in item.query.keys)
    again = load_policy(policy.document)
    assert again == policy
    assert again.document == policy.document


@pytest.mark.parametrize("condition", ["x = 10", "x < 0", "x > 3 and x < 3"])
def test_what_nobody_can_satisfy_is_refused(condition: str) -> None:
    with pytest.raises(PolicyError, match=r"release\.1: no record can satisfy this condition.*Fix: correct"):
        load_policy(small(release=[{"name": "it", "count": condition}]))


def test_quantiles_at_no_place_are_refused() -> None:
    with pytest.raises(PolicyError, match="list of quantiles is empty"):
        load_policy(small(release=[{"name": "q", "quantiles": "x", "at": []}]))


@pytest.mark.parametrize(
    ("bins", "groups"),
    [
        ([["low", "high"], ["top"]], (0, 0, 0, 1)),
        ([["low", "middle"], ["high", "top"]], (0, 0, 1, 1)),
        ([["low", "high"], ["middle", "top"]], (0, 1, 0, 1)),
        ([["low", "middle", "high"], ["top"]], (0, 0, 0, 1)),
    ],
)
def test_bins_of_ordered_labels_are_ends_or_lists_whichever_has_every_value(
    bins: list[list[str]], groups: tuple[int, ...]
) -> None:
    """[low, high] was refused for leaving the middle out, and two lists that interleave for overlapping."""
    import tetraodon as td
    from tetraodon.queries import histogram
    from tetraodon.query.kinds import linear

    document = {
        "dataset": "d",
        "attributes": {"x": {"ordered": ["low", "middle", "high", "top"]}},
        "budget": {"epsilon": 1},
        "release": [{"name": "h", "histogram": "x", "bins": {"x": bins}}],
    }
    policy = td.load_policy(document)
    assert linear(policy.items[0].query, policy.domain).by[0].bins == groups
    assert linear(histogram("x", bins={"x": bins}), policy.domain).by[0].bins == groups
