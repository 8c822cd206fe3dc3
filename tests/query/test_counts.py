"""Counts and histograms as questions, and the columns of their answers."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from tests.releases.made import release_with, silent

import tetraodon as td
from tetraodon.domain import Attribute, Booleans, Categories, Dates, Domain, Grid, Integers, Values
from tetraodon.errors import QueryError
from tetraodon.queries import count, histogram
from tetraodon.query.bins import bin_of_each
from tetraodon.query.kinds import linear
from tetraodon.query.linear import Split
from tetraodon.query.query import Cells, attribute_values, column_name, labels

# -- count ------------------------------------------------------------------------------------------
# Counts as a question.


def released(noise: int, **item: object) -> td.Release:
    policy = {
        "dataset": "d",
        "attributes": {"x": {"integer": [0, 3]}},
        "budget": {"epsilon": 1},
        "release": [{"name": "n", "count": "x > 1", **item}],
    }
    table = pl.DataFrame({"x": [0, 2, 3]})
    return release_with(td.load_policy(policy), table, lambda shape: np.full(shape, noise))


def test_no_interval_reaches_below_nobody() -> None:
    columns = released(-40, whole=False)["n"].columns
    assert columns["count"].tolist() == [-38.0]
    assert (columns["lower"][0], columns["upper"][0]) == (0.0, 3.0)
    assert "measured" not in columns


def test_counts_are_whole_and_have_what_was_measured_beside_them() -> None:
    """An interval that lies below zero does not become the point zero: its reach is laid from there."""
    columns = released(-40)["n"].columns
    assert {name: column.tolist() for name, column in columns.items()} == {
        "count": [0],
        "lower": [0],
        "upper": [3],
        "measured": [-38.0],
    }
    assert {column.dtype.kind for name, column in columns.items() if name != "measured"} == {"i"}


def test_a_table_answers_counts_of_everybody_by_attributes_and_no_others() -> None:
    domain = td.load_policy({"dataset": "d", "attributes": {"x": [1, 2]}, "budget": {"epsilon": 1}}).domain
    assert count(by="x").reading(domain) == Cells()
    assert count("x = '1'").reading(domain) is None
    assert count("x = '1'").table(domain) == count().table(domain) == ()


# -- histogram --------------------------------------------------------------------------------------
# Histograms, and bins of very many values.


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


# -- answered ---------------------------------------------------------------------------------------
# Columns of values, in the order of the cells of a table.


ANSWERED_DOMAIN = Domain((Attribute("x", Integers(1, 2)), Attribute("count", Categories(("a", "b")), other=0)))


def test_each_attribute_has_a_column_and_none_is_called_like_an_answer() -> None:
    found = labels((Split("x"), Split("count")), ANSWERED_DOMAIN, extra=2)
    assert {name: column.tolist() for name, column in found.items()} == {
        "x": [1, 1, 1, 1, 2, 2, 2, 2],
        "count_value": ["a", "a", "b", "b", "a", "a", "b", "b"],
    }
    assert column_name("median") == "median"
    assert column_name("median", beside="median") == "median_value"


def test_bins_are_named_or_numbered() -> None:
    found = [labels((Split("x", (1, 0), names),), ANSWERED_DOMAIN)["x"].tolist() for names in (("low", "high"), ())]
    assert found == [["low", "high"], ["bin 0", "bin 1"]]


@pytest.mark.parametrize(
    ("values", "listed"),
    [
        (Integers(3, 5), [3, 4, 5]),
        (Integers(2**62, 2**62 + 1), [2**62, 2**62 + 1]),
        (Grid(Fraction(0), Fraction(1), Fraction(1, 2)), [0.0, 0.5, 1.0]),
        (Dates(dt.date(2020, 2, 28), dt.date(2020, 2, 29)), [dt.date(2020, 2, 28), dt.date(2020, 2, 29)]),
        (Booleans(), [False, True]),
    ],
)
def test_values_have_their_natural_type(values: Values, listed: list[object]) -> None:
    assert attribute_values(Attribute("x", values, other=0)).tolist() == listed
