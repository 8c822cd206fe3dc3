"""Segments in place of values: the same classes, joined by the same secrets."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from tests.certificate.test_loss_by_group import random_groups
from tests.known_worlds import _random_graph, random_case

from tetraodon.certificate.known import sequences as module
from tetraodon.certificate.known.sequences import Classes, classes_of, coarse, joined
from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.errors import Refused
from tetraodon.policy.attribute_graph import Within
from tetraodon.policy.joint_graph import JointMetric
from tetraodon.policy.known import CountWhere, Known, Rectangle
from tetraodon.policy.secret_graph import Factor, SecretGraph


def test_segments_are_joined_where_an_edge_joins_their_values() -> None:
    rng = random.Random(2)
    for _ in range(300):
        size = rng.randint(1, 7)
        graph = Within(size, rng.randint(1, 4)) if rng.random() < 0.4 else _random_graph(rng, size)
        kinds = np.unique([rng.randrange(3) for _ in range(size)], return_inverse=True)[1]
        truth = {
            (int(kinds[x]), int(kinds[y]))
            for x, y in itertools.permutations(range(size), 2)
            if graph.is_edge(x, y) and kinds[x] != kinds[y]
        }
        found = joined(graph, kinds)
        assert set(found) == truth
        for (u, v), (x, y) in found.items():
            assert (int(kinds[x]), int(kinds[y])) == (u, v)
            assert graph.is_edge(x, y)


def arcs(classes: Classes) -> set[tuple[tuple[int, ...], tuple[int, ...]]]:
    return {(classes.counted[a], classes.counted[b]) for a, b in classes.arcs}


def test_the_classes_and_their_secrets_are_those_of_the_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(3)
    smaller = 0
    for number in range(300):
        case = random_case(rng)
        graph = case.graph if number % 3 else random_groups(rng, (2, 3), absent=rng.random() < 0.3)
        known = case.known if number % 3 else (Known(CountWhere("a <= 1 and g = 0")), Known(CountWhere("a <= 1")))
        here = classes_of(graph, known)
        segments = coarse(here.graph, known, 10**6)
        assert segments is not None
        small = segments.graph.domain.size
        assert coarse(here.graph, known, small - 1) is None
        if small == here.graph.domain.size:
            continue
        smaller += 1
        with monkeypatch.context() as patch:
            patch.setattr(module, "MATRIX_LIMIT", small)
            there = classes_of(graph, known)
        assert there.coarse is not None
        assert set(here.counted) == set(there.counted)
        assert arcs(here) == arcs(there)
        for x, y in zip(*there.crossing, strict=True):
            first, second = there.secret_pair(int(x), int(y))
            assert graph.is_edge(there.record_of(first), there.record_of(second))
    assert smaller > 40


def test_a_range_of_a_million_positions() -> None:
    domain = Domain((Attribute("x", Integers(0, 999_999)),))
    graph = SecretGraph(domain, (Factor(("x",), Within(10**6, 10)),), 1)
    known = tuple(Known(Rectangle((("x", 100 * k, 100 * k + 9),))) for k in range(3))
    found = classes_of(graph, known)
    assert found.count == 4
    assert found.graph.domain.size == 4
    assert len(found.arcs) == 6


def test_attributes_measured_together_become_complete() -> None:
    domain = Domain((Attribute("x", Integers(0, 99)), Attribute("y", Integers(0, 99))))
    metric = JointMetric("l1", 3, (100, 100), (0, 0), (1, 1))  # type: ignore[arg-type]
    found = classes_of(SecretGraph(domain, (Factor(("x", "y"), metric),), 1), (Known(CountWhere("x = 1 and y > 50")),))
    assert found.coarse is not None
    assert not found.coarse.exact
    assert (found.count, found.graph.domain.size, len(found.arcs)) == (2, 4, 2)
    assert found.graph.complete


def test_what_has_no_segments_is_refused() -> None:
    long = Domain((Attribute("x", Integers(0, 10**7)),))
    with pytest.raises(Refused, match="too many values"):
        coarse(SecretGraph(long, (Factor(("x",), Within(10**7 + 1, 1)),), 1), (), 4096)
    with pytest.raises(Refused, match="too many segments"):
        joined(Within(10_000, 1), np.arange(10_000) % 2)
