"""Groups with their own secrets: the worst group decides, and those who do not mind still count."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from fractions import Fraction

import pytest
from tests.known_worlds import line, random_case, random_query

from tetraodon.certificate import oracle
from tetraodon.certificate.constrained import largest_push
from tetraodon.certificate.personal import certify_groups
from tetraodon.errors import PolicyError
from tetraodon.policy.attribute_graph import Public
from tetraodon.policy.secret_graph import Factor, SecretGraph, complete_graph
from tetraodon.workload.contribution import One
from tetraodon.workload.linear import LinearQuery, Measurement, Split


def nothing(graph: SecretGraph) -> SecretGraph:
    return replace(graph, factors=tuple(Factor((a.name,), Public(a.size)) for a in graph.domain), absent=False)


def test_it_is_what_the_oracle_finds_when_each_person_has_a_graph_of_their_own() -> None:
    """Minimal sequences do not depend on the graph; only which of them has somebody's own edge does."""
    rng = random.Random(9)
    tried = 0
    for _ in range(80):
        case, other = random_case(rng), random_case(rng)
        if case.graph.absent or other.graph.domain != case.graph.domain or other.graph.absent:
            continue
        graphs = {"some": case.graph, "others": other.graph, "do not mind": nothing(case.graph)}
        worlds = {name: oracle.world(graph, case.known, 3) for name, graph in graphs.items()}
        everything = list(oracle.pairs(oracle.world(complete_graph(case.graph), case.known, 3)))
        query = random_query(rng, case.graph.domain)
        truth = Fraction(0)
        for people in itertools.product(graphs, repeat=3):
            near = {
                tuple(b.count(v) - a.count(v) for v in range(case.graph.domain.size))
                for a, b in everything
                if any(worlds[g].edge[x][y] for g, x, y in zip(people, a, b, strict=True))
            }
            truth = max(truth, oracle.largest(near, query, case.graph.domain))
        asked = [(query, query.contribution.unit)]
        assert max(largest_push(graph, case.known, asked, most=3).value for graph in graphs.values()) == truth
        tried += 1
    assert tried >= 5


def test_the_worst_group_decides() -> None:
    case = line(5, "v in (0, 1)")
    near = replace(case.graph, known=case.known)
    graphs = {"near": near, "none": replace(nothing(case.graph), known=case.known)}
    query = LinearQuery(One(), (Split("v"),))
    found = certify_groups(graphs, [Measurement(query, Fraction(2))])
    assert found.worst == "near"
    assert found.certificate.epsilon == 2
    assert found.groups["none"].epsilon == 0


def test_groups_differ_in_their_secrets_only() -> None:
    case = line(5, "v in (0, 1)")
    with pytest.raises(PolicyError, match="no group"):
        certify_groups({}, [])
    with pytest.raises(PolicyError, match="do not share"):
        certify_groups({"a": case.graph, "b": replace(case.graph, known=case.known)}, [])
    with pytest.raises(PolicyError, match="do not share"):
        certify_groups({"a": case.graph, "b": line(6).graph}, [])
