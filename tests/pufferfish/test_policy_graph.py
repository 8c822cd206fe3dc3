"""Sparse or not, the pair that breaks it, and the graph of Example 8.2."""

from __future__ import annotations

import itertools
import random

import pytest
from tests.known_worlds import line, one_at_a_time, random_case

from tetraodon.errors import Refused
from tetraodon.policy.known import CountWhere, Known, Marginal, known_query
from tetraodon.policy.secret_graph import complete_graph
from tetraodon.pufferfish.policy_graph import SINK, SOURCE, policy_graph, sparsity


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
