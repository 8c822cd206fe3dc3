"""Every graph over one attribute against its definition and breadth-first search."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.policy.breadth_first import distances, same_partition
from tests.worlds import attribute_graphs

from tetraodon.errors import PolicyError
from tetraodon.policy.attribute_graph import AttributeGraph, Blocks, Everything, Pairs, Public, Within

graphs = st.integers(1, 6).flatmap(attribute_graphs)


def defined(graph: AttributeGraph, x: int, y: int) -> bool:
    """An edge, straight from the words of the policy file."""
    match graph:
        case Everything():
            return x != y
        case Public():
            return False
        case Within():
            return x != y and abs(x - y) <= graph.reach
        case Blocks():
            return x != y and graph.blocks[x] == graph.blocks[y]
        case Pairs():
            return {x, y} in [set(pair) for pair in graph.pairs]


@given(graphs)
def test_every_way_to_ask_for_an_edge_agrees(graph: AttributeGraph) -> None:
    codes = range(graph.size)
    expected = {(x, y) for x, y in itertools.product(codes, codes) if defined(graph, x, y)}
    assert {(x, y) for x, y in itertools.product(codes, codes) if graph.is_edge(x, y)} == expected
    x, y = (axis.ravel() for axis in np.meshgrid(codes, codes, indexing="ij"))
    near = graph.adjacent(x, y)
    assert set(zip(x[near].tolist(), y[near].tolist(), strict=True)) == expected
    listed = [(int(a), int(b)) for xs, ys in graph.edges() for a, b in zip(xs, ys, strict=True)]
    assert len(listed) == graph.edge_count == len(expected) // 2
    assert {*listed, *((b, a) for a, b in listed)} == expected


@given(graphs)
def test_distance_and_components_are_those_of_a_search(graph: AttributeGraph) -> None:
    codes = range(graph.size)
    for x in codes:
        found = distances(codes, graph.is_edge, x)
        assert {y: graph.distance(x, y) for y in codes} == found
    label = graph.components().tolist()
    for x, y in itertools.product(codes, codes):
        assert (label[x] == label[y]) == (graph.distance(x, y) < float("inf"))
    assert same_partition(label, [min(y for y in codes if graph.distance(x, y) < float("inf")) for x in codes])


def test_a_huge_attribute_costs_nothing() -> None:
    size = 10**15
    assert Everything(size).edge_count == size * (size - 1) // 2
    assert Within(size, 10**6).distance(0, size - 1) == 10**9
    assert Public(size).distance(0, 1) == float("inf")
    assert Pairs(size, frozenset({(0, size - 1)})).distance(0, size - 1) == 1


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda: Within(5, 0), "reaches no other value"),
        (lambda: Pairs(5, frozenset({(0, 5)})), "outside the attribute"),
        (lambda: Pairs(5, frozenset({(-1, 2)})), "outside the attribute"),
        (lambda: Pairs(5, frozenset({(2, 2)})), "to itself"),
    ],
)
def test_what_cannot_be_a_graph_is_refused(make, what: str) -> None:
    with pytest.raises(PolicyError, match=what):
        make()
