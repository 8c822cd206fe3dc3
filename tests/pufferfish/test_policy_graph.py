"""Sparse or not, the pair that breaks it, and the graph of Example 8.2."""

from __future__ import annotations

import itertools
import random

import pytest
from tests.known_worlds import line, one_at_a_time, random_case

from tetraodon.errors import Refused
from tetraodon.policy.known import CountWhere, Known, Marginal, known_query
from tetraodon.policy.secret_graph import complete_graph
from tetraodon.pufferfish.policy_graph import (
    SINK,
    SOURCE,
    Longest,
    PolicyGraph,
    histogram_bound,
    longest_cycle,
    longest_path,
    policy_graph,
    sparsity,
)


def test_example_8_2_of_the_paper() -> None:
    case = one_at_a_time((2, 2, 3), Known(Marginal(("a1", "a2"))))
    graph = policy_graph(case.graph, case.known, "complete")
    assert graph.size == 4
    assert graph.arcs == {*itertools.permutations(range(4), 2), (SOURCE, SINK)}
    assert '"v+" -> "v-"' in graph.dot


def test_sparse_for_its_own_graph_is_not_sparse_for_the_complete_one() -> None:
    case = one_at_a_time((2, 2, 2), Known(CountWhere("a1 = 1")), Known(CountWhere("a2 = 1")))
    assert sparsity(case.graph, case.known, "policy").sparse
    found = sparsity(case.graph, case.known, "complete")
    assert not found.sparse
    assert found.broken_by is not None


def test_it_is_what_looking_at_every_pair_says() -> None:
    rng = random.Random(3)
    for _ in range(150):
        case = random_case(rng)
        if case.graph.absent:
            continue
        domain = case.graph.domain
        rows = [row for entry in case.known for row in known_query(entry, domain).matrix(domain)[0].tolist()]
        for whose, graph in (("policy", case.graph), ("complete", complete_graph(case.graph))):
            steps = set()
            for x, y in itertools.permutations(range(domain.size), 2):
                if graph.is_edge(domain.value(x), domain.value(y)):
                    lowered = tuple(k for k, row in enumerate(rows) if row[x] > row[y])
                    lifted = tuple(k for k, row in enumerate(rows) if row[x] < row[y])
                    steps.add((lowered, lifted))
            sparse = all(len(a) <= 1 and len(b) <= 1 for a, b in steps)
            found = sparsity(case.graph, case.known, whose)  # type: ignore[arg-type]
            assert found.sparse == sparse
            if not sparse:
                assert found.broken_by is not None
                assert graph.is_edge(*found.broken_by)
                with pytest.raises(Refused, match="not sparse"):
                    policy_graph(case.graph, case.known, whose)  # type: ignore[arg-type]
            else:
                arcs = {((a or (SOURCE,))[0], (b or (SINK,))[0]) for a, b in steps if a or b} | {(SOURCE, SINK)}
                assert policy_graph(case.graph, case.known, whose).arcs == arcs  # type: ignore[arg-type]


def test_lines_are_drawn() -> None:
    case = line(4, "v in (1, 2)")
    assert policy_graph(case.graph, case.known, "policy").dot.startswith("digraph policy {\n  q1;")


# -- longest -----------------------------------------------------------------------------------------
# Longest cycles and paths equal enumeration, and are safe bounds when time runs out.


def random_graph(rng: random.Random, size: int) -> PolicyGraph:
    arcs = {(a, b) for a, b in itertools.permutations(range(size), 2) if rng.random() < 0.35}
    arcs |= {(SOURCE, k) for k in range(size) if rng.random() < 0.3} | {
        (k, SINK) for k in range(size) if rng.random() < 0.3
    }
    return PolicyGraph(size, frozenset(arcs | {(SOURCE, SINK)}))


def by_looking(graph: PolicyGraph) -> tuple[int, int]:
    cycle, path = 0, 0
    for length in range(graph.size + 1):
        for stops in itertools.permutations(range(graph.size), length):
            inner = all(step in graph.arcs for step in itertools.pairwise(stops))
            if inner and length > 1 and (stops[-1], stops[0]) in graph.arcs:
                cycle = max(cycle, length)
            if inner and all(step in graph.arcs for step in itertools.pairwise((SOURCE, *stops, SINK))):
                path = max(path, length + 1)
    return cycle, path


@pytest.mark.parametrize("seed", range(25))
def test_it_is_what_looking_finds(seed: int) -> None:
    graph = random_graph(random.Random(seed), 3 + seed % 4)
    cycle, path = by_looking(graph)
    assert longest_cycle(graph) == Longest(cycle, cycle)
    assert longest_path(graph) == Longest(path, path)
    assert histogram_bound(graph) == Longest(2 * max(cycle, path), 2 * max(cycle, path))


def test_no_cycle_no_path() -> None:
    nothing = PolicyGraph(3, frozenset({(0, 1), (1, 2)}))
    assert longest_cycle(nothing) == Longest(0, 0)
    assert longest_path(nothing) == Longest(0, 0)


def test_a_bound_when_time_runs_out_is_safe() -> None:
    rng = random.Random(1)
    order = rng.sample(range(150), 150)
    arcs = {(order[k], order[k - 1]) for k in range(150)}
    while len(arcs) < 320:
        arcs.add(tuple(rng.sample(range(150), 2)))  # type: ignore[arg-type]
    hasty = longest_cycle(PolicyGraph(150, frozenset(arcs)), seconds=0.01)
    assert hasty.found <= 150 == hasty.bound
