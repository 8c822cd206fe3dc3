"""Histograms, and bins of very many values."""

from __future__ import annotations

import polars as pl
import pytest
from tests.releases.made import release_with, silent

import tetraodon as td
from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.errors import QueryError
from tetraodon.query.bins import bin_of_each
from tetraodon.query.kinds import histogram, linear
from tetraodon.query.linear import Split


def test_bins_are_made_once_and_take_one_number_for_each_bin() -> None:
    """For four million values they were made seven times, each time with four million numbers."""
    domain = Domain((Attribute("x", Integers(0, 9999)),))
    query = histogram("x", bins={"x": [(low, low + 9) for low in range(0, 10_000, 10)]})
    [split] = linear(query, domain).by
    assert split.bins is linear(query, domain).by[0].bins
    assert split.bins == tuple(code // 10 for code in range(10_000))
    assert len({id(number) for number in split.bins}) == 1000


@pytest.mark.parametrize(
    ("groups", "ends", "what"),
    [
        (((2, 1), (0, 3)), True, "is empty"),
        (((0, 2), (2, 3)), True, "overlap"),
        (((0, 0), (1, 2, 3)), False, "overlap"),
        (((0, 1), (2,)), True, "leave values out"),
    ],
)
def test_bins_that_are_none_are_refused(groups: tuple[tuple[int, ...], ...], ends: bool, what: str) -> None:
    with pytest.raises(QueryError, match=what):
        bin_of_each("x", 4, groups, ends)


DOMAIN = Domain((Attribute("x", Integers(0, 3)), Attribute("y", Integers(0, 1))))


def test_in_words() -> None:
    binned = histogram("x", "y", bins={"x": [[0, 1], [2, 3]]})
    assert binned.asked() == "counts by x and y in bins"
    assert binned.sentence(DOMAIN) == "How many records there are for each combination of x (in 2 groups) and y."
    assert histogram("y").sentence(DOMAIN) == "How many records there are for each value of y."


def test_it_is_drawn_along_its_table_which_may_be_turned() -> None:
    turned = (Split("y"), Split("x"))
    drawing = histogram("x", "y").drawing(DOMAIN, turned)
    assert (drawing.sides, drawing.adds_up, drawing.names_sides) == (turned, True, True)


def test_attributes_it_is_split_by_have_bins_too() -> None:
    assert histogram("x", by="y", bins={"y": [[0, 1]]}).bins == (("y", ((0, 1),)),)


def test_weights_are_added_up_in_every_cell() -> None:
    policy = td.load_policy(
        {
            "dataset": "d",
            "presence": "public",
            "attributes": {"x": {"integer": [0, 2]}, "w": {"real": [0, 3], "step": 0.5}},
            "secrets": {"w": "public"},
            "budget": {"epsilon": 1},
            "release": [{"name": "it", "histogram": "x", "weight": "w", "bins": {"x": [[0, 1], [2, 2]]}}],
        }
    )
    table = pl.DataFrame({"x": [0, 1, 2, 2], "w": [0.5, 3, 1, 1.5]})
    answer = release_with(policy, table, silent)["it"]
    assert answer.columns["x"].tolist() == ["0..1", "2..2"]
    assert answer.columns["count"].tolist() == [3.5, 2.5]
    assert answer.item.item.query.sentence(policy.domain).endswith("x (in 2 groups), each counting as much as its w.")
    assert answer.item.item.query.drawing(policy.domain, ()).title == "sum of w"


def named(bins: object, **changes: object) -> td.Policy:
    base = {
        "dataset": "d",
        "presence": "public",
        "attributes": {"age": {"integer": [17, 90]}, "grade": {"ordered": ["low", "middle", "high"]}},
        "budget": {"epsilon": 1},
        "release": [{"name": "it", "histogram": ["age", "grade"], "bins": bins}],
    }
    return td.load_policy(base | changes)


def test_bins_have_names_whatever_their_order() -> None:
    bins = {"age": {"old": [30, 90], "young": [17, 29]}, "grade": {"poor": ["low"], "fair": ["middle", "high"]}}
    policy = named(bins)
    query = policy.items[0].query
    assert [split.labels for split in linear(query, policy.domain).by] == [("young", "old"), ("poor", "fair")]
    assert query.document()["bins"]["age"] == {"young": [17, 29], "old": [30, 90]}
    assert td.load_policy(policy.document) == policy
    same = histogram("age", "grade", bins={"age": {"young": [17, 29], "old": [30, 90]}, "grade": bins["grade"]})
    assert query == same
    table = pl.DataFrame({"age": [18, 40, 41], "grade": ["low", "high", "low"]})
    columns = release_with(policy, table, silent)["it"].columns
    assert columns["age"].tolist() == ["young", "young", "old", "old"]
    assert columns["count"].round(6).tolist() == [1, 0, 1, 1]


@pytest.mark.parametrize(
    ("bins", "what"),
    [
        ({"age": {"young": [17, 29]}}, "leave 30 out"),
        ({"age": {"young": [17, 30], "old": [30, 90]}}, "overlap"),
        ({"age": {"young": 17}}, "not a list of values"),
        ({"age": {" ": [17, 90]}}, "cannot be printed"),
        ({"age": {}}, "not a list of values"),
    ],
)
def test_mistakes_in_named_bins_are_told(bins: object, what: str) -> None:
    with pytest.raises(td.errors.PolicyError, match=what):
        named(bins)
