"""Histograms, and bins of very many values."""

from __future__ import annotations

import polars as pl
import pytest
from tests.releasing.made import release_with, silent

import tetraodon as td
from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.errors import QueryError
from tetraodon.questions import histogram, linear
from tetraodon.questions.histogram import bin_of_each
from tetraodon.workload.linear import Split


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
