"""Partitions, as they are typed."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.policy.mistakes import small

from tetraodon.domain import Attribute, Categories, Integers
from tetraodon.errors import PolicyError
from tetraodon.policy.attribute_graph import Blocks, Everything, Pairs, Public, Within
from tetraodon.policy.build_graph import members, partition
from tetraodon.policy.joint_metric import JointMetric
from tetraodon.policy.load import load_policy

NUMBERS = Attribute("n", Integers(0, 9))
LETTERS = Attribute("c", Categories(tuple("abcd"), ordered=True), other=0)


@given(st.lists(st.integers(1, 9), unique=True).map(sorted), st.randoms())
def test_blocks_are_numbered_by_their_first_values_whatever_their_order(cuts: list[int], random) -> None:
    ends = [0, *cuts, 10]
    groups = [[str(a), str(b - 1)] for a, b in itertools.pairwise(ends)]
    random.shuffle(groups)
    owner = partition(NUMBERS, groups, "block")
    assert list(owner) == [sum(cut <= code for cut in cuts) for code in range(10)]


def test_numbers_are_grouped_by_their_ends_and_categories_one_by_one() -> None:
    assert list(members(NUMBERS, ["2", "5"])) == [2, 3, 4, 5]
    assert list(members(NUMBERS, ["2"])) == [2]
    assert list(members(LETTERS, ["a", "d"])) == [0, 3]
    assert partition(LETTERS, [["d", "a"], ["b", "c"]], "block") == (0, 1, 1, 0)


@pytest.mark.parametrize("group", [[], ["5", "2"], ["1", "2", "3"], ["11"]])
def test_what_is_no_group(group: list[str]) -> None:
    with pytest.raises(PolicyError):
        members(NUMBERS, group)


def test_kinds_of_secrets() -> None:
    graph = load_policy(
        small(
            secrets={
                "x": {"blocks": [[5, 9], [0, 4]]},
                "y": {"within": 0.25},
                "c": {"pairs": [["b", "a"]]},
                "o": {"within": 1},
                "d": {"within": 1000},
                "t": "public",
            }
        )
    ).graph
    found = {factor.names[0]: factor.graph for factor in graph.factors}
    assert found["x"] == Blocks((0,) * 5 + (1,) * 5)
    assert found["y"] == Within(11, 2)
    assert found["c"] == Pairs(3, frozenset({(0, 1)}))
    assert found["o"] == Within(3, 1)
    assert found["d"] == Within(366, 365)
    assert found["t"] == Public(2)
    assert graph.at_most == 6
    assert load_policy(small()).graph.factors[0].graph == Everything(10)


@pytest.mark.parametrize(
    ("together", "at_most"),
    [
        ("one attribute at a time", 1),
        ("all at once", 6),
        ({"at most": 2}, 2),
        ({"at most": "2"}, 2),
        ({"at most": 99}, 6),
    ],
)
def test_together(together: object, at_most: int) -> None:
    assert load_policy(small(together=together)).graph.at_most == at_most


def test_a_joint_metric_is_one_factor() -> None:
    graph = load_policy(small(together={"metric": "l1", "over": ["y", "x"], "within": "1.5"})).graph
    assert graph.factors[0].names == ("y", "x")
    assert isinstance(graph.factors[0].graph, JointMetric)
    assert graph.at_most == len(graph.factors) == 5
    record = (3, 0, "a", "low", "2020-01-01", True)
    assert graph.is_edge(record, (4, "0.5", "b", "high", "2020-02-01", False))
    assert not graph.is_edge(record, (4, "0.6", "a", "low", "2020-01-01", True))


@pytest.mark.parametrize(
    ("attributes", "within", "what"),
    [
        ({"lat": {"integer": [-91, 0]}, "lon": {"integer": [0, 10]}}, 500, "beyond the degrees of a latitude"),
        ({"lat": {"integer": [0, 10]}, "lon": {"integer": [0, 361]}}, 500, "beyond the degrees of a longitude"),
        ({"lat": {"integer": [0, 10]}, "lon": {"integer": [-180, 181]}}, 500, "beyond the degrees of a longitude"),
        ({"lat": {"integer": [0, 10]}, "lon": {"integer": [0, 10]}}, 1, "reaches no other value"),
        ({"lat": {"integer": [0, 10**10]}, "lon": {"integer": [0, 10**10]}}, 1, "10^18 values together"),
    ],
)
def test_maps_that_are_none_are_refused(attributes, within, what: str) -> None:
    together = {"metric": "great circle km", "over": ["lat", "lon"], "within": within}
    with pytest.raises(PolicyError) as caught:
        load_policy(small(attributes=attributes, together=together))
    assert what in str(caught.value)


def test_a_map_that_closes_around_the_globe_has_secrets() -> None:
    attributes = {"lat": {"integer": [0, 0]}, "lon": {"real": [-180, 180], "step": 90}}
    policy = load_policy(
        small(attributes=attributes, together={"metric": "great circle km", "over": ["lat", "lon"], "within": 1})
    )
    assert policy.graph.is_edge((0, -180), (0, 180))
