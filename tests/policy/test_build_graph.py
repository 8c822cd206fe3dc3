"""Secrets of a policy file as graphs."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.policy.mistakes import small

import tetraodon as td
from tetraodon.domain import Attribute, Categories, Integers
from tetraodon.errors import PolicyError, Refused
from tetraodon.policy.attribute_graph import Blocks, Everything, Pairs, Public, Within
from tetraodon.policy.build import members, partition, regions
from tetraodon.policy.joint_graph import JointMetric, Regions
from tetraodon.policy.load import load_policy
from tetraodon.policy.secret_graph import ABSENT, SecretGraph

# -- build graph ------------------------------------------------------------------------------------
# Partitions, as they are typed.


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


# -- people with secrets of their own ------------------------------------------------------------


def grouped(rules: dict[str, object], **changes: object) -> SecretGraph:
    return load_policy(small(secrets={"c": "public"}, groups={"by": "c", "rules": rules}, **changes)).graph


def test_a_rule_says_only_what_is_not_as_the_policy_says() -> None:
    graph = grouped({"b": {"secrets": {"x": {"within": 2}}}, "c": "none"})
    start = (3, 0, "a", "low", "2020-01-01", True)

    def in_group(value: str, x: int, y: object = 0) -> tuple[object, ...]:
        return (x, y, value, *start[3:])

    assert graph.is_edge(start, in_group("a", 9, 1))
    assert graph.is_edge(in_group("b", 3), in_group("b", 5, 1))
    assert not graph.is_edge(in_group("b", 3), in_group("b", 6))
    assert not graph.is_edge(in_group("c", 3), in_group("c", 4))
    assert not graph.is_edge(in_group("a", 3), in_group("b", 3))
    assert graph.distance(in_group("b", 3), in_group("b", 6)) == 2
    assert graph.distance(in_group("a", 3), in_group("b", 3)) == math.inf
    assert graph.component(in_group("b", 3)) == graph.component(in_group("b", 9)) != graph.component(start)


def test_a_rule_as_the_policy_says_is_no_rule() -> None:
    assert grouped({"b": {"secrets": {"x": "everything"}}}).groups is None


def test_a_rule_may_measure_attributes_together() -> None:
    graph = grouped({"b": {"together": {"metric": "l1", "over": ["x", "y"], "within": 1}}})
    assert isinstance(graph.of_group(1).factors[0].graph, JointMetric)
    assert graph.of_group(0) == replace(graph, groups=None)


def test_who_does_not_mind_may_be_seen_to_be_there() -> None:
    graph = grouped({"c": "none"}, presence="secret")
    rest = ("low", "2020-01-01", True)
    assert graph.is_edge((0, 0, "a", *rest), ABSENT)
    assert not graph.is_edge(ABSENT, (0, 0, "c", *rest))
    assert graph.distance((0, 0, "c", *rest), ABSENT) == math.inf
    assert graph.distance((0, 0, "a", *rest), (0, 0, "b", *rest)) == 2
    assert graph.distance((0, 0, "a", *rest), (0, 0, "c", *rest)) == math.inf


def test_several_rows_per_person_have_no_groups() -> None:
    with pytest.raises(Refused, match="groups are for people with one row each"):
        grouped({"b": "none"}, individuals={"key": "who", "at most": 2})


def test_a_group_of_too_many_values_is_refused() -> None:
    with pytest.raises(PolicyError, match="more than 1,000 values"):
        load_policy(
            small(
                attributes={"g": {"integer": [0, 1000]}, "x": {"integer": [0, 1]}},
                secrets={"g": "public"},
                groups={"by": "g", "rules": {"0": "none"}},
            )
        )


# -- build joint ------------------------------------------------------------------------------------
# What `together` says of several attributes as one, and what it cannot say.


def joint(**together: Any) -> object:
    attributes = {name: {"integer": [0, 1]} for name in ("x", "y", "z")}
    policy = td.load_policy({"dataset": "d", "attributes": attributes, "together": together, "budget": {"epsilon": 1}})
    [factor] = [factor for factor in policy.graph.factors if len(factor.names) > 1]
    assert factor.names == tuple(together["over"])
    return factor.graph


def test_a_metric_or_blocks() -> None:
    assert isinstance(joint(metric="l1", over=["x", "z"], within=1), JointMetric)
    assert joint(over=["z", "x"], blocks=[["a", "b"], ["b", "b"]]) == Regions((2, 2), (0, 1, 1, 1), ("a", "b"))
    three = joint(over=["x", "y", "z"], blocks=[["a"] * 4, ["b", "a", "a", "b"]])
    assert three == Regions((2, 2, 2), (0, 0, 0, 0, 1, 0, 0, 1), ("a", "b"))
    assert regions((1, 3), ["c", "a", "c"]) == Regions((1, 3), (0, 1, 0), ("c", "a"))


@pytest.mark.parametrize(
    ("together", "what"),
    [
        ({"over": ["x", "y"]}, "metric is missing"),
        ({"over": ["x", "y"], "blocks": [["a", "a"]]}, "not a table of 2 x 2 cells"),
        ({"over": ["x", "y"], "blocks": [["a", "a"], ["a"]]}, "not a table of 2 x 2 cells"),
        ({"over": ["x"], "blocks": [["a"], ["a"]]}, "two or more attributes"),
        ({"blocks": [["a"], ["a"]]}, "two or more attributes"),
        ({"over": ["x", "x"], "blocks": [["a", "b"], ["a", "b"]]}, "named twice"),
        ({"over": ["x", "y"], "blocks": [["a", "b"], ["c", "d"]]}, "no two cells"),
        ({"over": ["x", "y"], "blocks": [["a", "a"], ["a", "a"]], "at most": 1}, "cannot be combined"),
        ({"over": ["x", "y"], "blocks": [["a", "a"], ["a", "a"]], "within": 1}, "cannot be combined"),
    ],
)
def test_what_is_not_understood_is_refused(together: dict[str, Any], what: str) -> None:
    with pytest.raises(PolicyError, match=what):
        joint(**together)
