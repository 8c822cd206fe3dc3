"""The graph over whole records against its definition and breadth-first search."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from tests.policy.breadth_first import distances
from tests.worlds import graphs

from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.errors import DomainError, PolicyError, Refused
from tetraodon.policy.attribute_graph import Everything, Public, Within
from tetraodon.policy.joint_graph import JointMetric
from tetraodon.policy.secret_graph import ABSENT, Factor, SecretGraph, complete_graph


def defined(graph: SecretGraph, x: object, y: object) -> bool:
    """Between one and `at_most` factors move, each along an edge of its own; ABSENT is joined to all."""
    if x is ABSENT or y is ABSENT:
        return x is not y
    moved = 0
    for factor in graph.factors:
        part = graph.domain.project(factor.names)
        places = [graph.domain.position(name) for name in factor.names]
        a, b = (part.cell(tuple(value[place] for place in places)) for value in (x, y))
        moved += a != b
        if a != b and not factor.graph.is_edge(a, b):
            return False
    return 1 <= moved <= graph.at_most


def vertices(graph: SecretGraph) -> list[object]:
    values: list[object] = [graph.domain.value(cell) for cell in range(graph.domain.size)]
    return [*values, ABSENT] if graph.absent else values


@settings(max_examples=80, deadline=None)
@given(graphs())
def test_edges_distances_and_components_are_as_defined(graph: SecretGraph) -> None:
    values = vertices(graph)
    edges = {(x, y) for x, y in itertools.product(values, values) if defined(graph, x, y)}
    assert {(x, y) for x, y in itertools.product(values, values) if graph.is_edge(x, y)} == edges
    for start in (values[0], values[len(values) // 2], values[-1]):
        found = distances(values, lambda x, y: (x, y) in edges, start)
        assert {y: graph.distance(start, y) for y in values} == found
        for y in values:
            assert (graph.component(start) == graph.component(y)) == (found[y] < math.inf)
    assert graph.has_edges == bool(edges)


@settings(max_examples=40, deadline=None)
@given(graphs())
def test_edge_cells_are_all_edges_between_records(graph: SecretGraph) -> None:
    first, second = graph.edge_cells()
    listed = set(zip(first.tolist(), second.tolist(), strict=True))
    size = graph.domain.size
    expected = {
        (x, y) for x in range(size) for y in range(x) if defined(graph, graph.domain.value(x), graph.domain.value(y))
    }
    assert {(max(pair), min(pair)) for pair in listed} == expected
    assert len(first) == len(listed)


@settings(max_examples=20, deadline=None)
@given(graphs())
def test_the_complete_graph_joins_any_two_records(graph: SecretGraph) -> None:
    complete = complete_graph(graph)
    values = vertices(graph)
    assert all(complete.is_edge(x, y) == (x != y) for x, y in itertools.product(values, values))


def world(*sizes: int) -> Domain:
    return Domain(tuple(Attribute(name, Integers(0, size - 1)) for name, size in zip("abcdef", sizes, strict=False)))


@pytest.mark.parametrize("at_most", [1, 2, 3, 4])
def test_at_most_c_is_the_formula_on_long_lines(at_most: int) -> None:
    domain = world(6, 6, 6, 6)
    graph = SecretGraph(domain, tuple(Factor((name,), Within(6, 1)) for name in domain.names), at_most)
    for y in [(5, 0, 0, 0), (5, 5, 5, 5), (3, 3, 1, 0), (1, 1, 1, 1), (5, 1, 0, 1)]:
        assert graph.distance((0, 0, 0, 0), y) == max(max(y), -(-sum(y) // at_most))


def test_a_trillion_cells_cost_nothing_to_ask() -> None:
    domain = world(10**6, 10**6)
    graph = SecretGraph(domain, (Factor(("a",), Within(10**6, 10)), Factor(("b",), Everything(10**6))), 1)
    assert graph.distance((0, 0), (999_999, 7)) == 100_001
    with pytest.raises(Refused, match="too many"):
        graph.edge_cells()


def test_presence_is_asked_about_only_where_it_is_a_secret() -> None:
    domain = world(3)
    public = SecretGraph(domain, (Factor(("a",), Public(3)),), 1)
    assert public.distance(0, 1) == math.inf
    assert not public.has_edges
    for ask in (public.is_edge, public.distance):
        with pytest.raises(DomainError, match="everybody is in the data"):
            ask(0, ABSENT)
    secret = SecretGraph(domain, (Factor(("a",), Public(3)),), 1, absent=True)
    assert secret.distance(0, 1) == 2
    assert secret.distance(0, ABSENT) == 1
    assert secret.distance(ABSENT, ABSENT) == 0
    assert repr(ABSENT) == "ABSENT"


def test_presence_spares_the_search_on_a_large_map() -> None:
    degrees = JointMetric(
        "great circle km", Fraction(200), (181, 361), (Fraction(-90), Fraction(-180)), (Fraction(1),) * 2
    )
    domain = Domain((Attribute("lat", Integers(-90, 90)), Attribute("lon", Integers(-180, 180))))
    graph = SecretGraph(domain, (Factor(("lat", "lon"), degrees),), 1, absent=True)
    assert graph.distance((0, 0), (0, 1)) == 1
    assert graph.distance((0, 0), (50, 50)) == 2


@pytest.mark.parametrize(
    ("factors", "at_most", "what"),
    [
        ((Factor(("a",), Everything(3)),), 1, "cover each attribute once"),
        ((Factor(("a",), Everything(3)), Factor(("a",), Everything(3))), 1, "cover each attribute once"),
        ((Factor(("a",), Everything(3)), Factor(("b",), Everything(3))), 1, "does not fit"),
        ((Factor(("a",), Everything(3)), Factor(("b",), Everything(4))), 0, "below one"),
    ],
)
def test_what_cannot_be_a_graph_is_refused(factors, at_most: int, what: str) -> None:
    with pytest.raises(PolicyError, match=what):
        SecretGraph(world(3, 4), factors, at_most)
