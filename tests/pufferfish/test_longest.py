"""Longest cycles and paths equal enumeration, and are safe bounds when time runs out."""

from __future__ import annotations

import itertools
import random

import pytest

from tetraodon.pufferfish.policy_graph import (
    SINK,
    SOURCE,
    Longest,
    PolicyGraph,
    histogram_bound,
    longest_cycle,
    longest_path,
)


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
