"""Classes of values: what the known counts tell apart, and which attributes matter at all."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from tests.known_worlds import one_at_a_time, random_case

from tetraodon.certificate.known.sequences import classes_of
from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.errors import Refused
from tetraodon.policy.attribute_graph import Everything
from tetraodon.policy.known import CountWhere, Known, Marginal, known_query
from tetraodon.policy.secret_graph import ABSENT, Factor, SecretGraph


def test_a_class_holds_the_values_that_add_the_same() -> None:
    rng = random.Random(5)
    for _ in range(100):
        case = random_case(rng)
        domain = case.graph.domain
        rows = np.concatenate([known_query(entry, domain).matrix(domain)[0] for entry in case.known])
        found = classes_of(case.graph, case.known, domain.names)
        for x, y in itertools.combinations(range(domain.size), 2):
            assert (found.class_of[x] == found.class_of[y]) == bool((rows[:, x] == rows[:, y]).all())
        assert found.dimension <= len(rows)
        assert found.count <= 2**found.dimension
        assert len(found.class_of) == domain.size + case.graph.absent
        edges = {tuple(sorted((int(x), int(y)))) for x, y in zip(found.x, found.y, strict=True)}
        values = [*map(domain.value, range(domain.size)), *([ABSENT] if case.graph.absent else [])]
        assert edges == {
            (a, b) for a, b in itertools.combinations(range(len(values)), 2) if case.graph.is_edge(values[a], values[b])
        }


def test_attributes_that_nobody_looks_at_do_not_matter() -> None:
    case = one_at_a_time((3, 1000, 1000), Known(Marginal(("a1",))))
    found = classes_of(case.graph, case.known)
    assert found.graph.domain.names == ("a1",)
    assert found.record(2) == (2, 0, 0)


def test_too_many_cells_are_refused() -> None:
    domain = Domain((Attribute("x", Integers(0, 9999)),))
    graph = SecretGraph(domain, (Factor(("x",), Everything(10_000)),), 1)
    with pytest.raises(Refused, match="cells of x"):
        classes_of(graph, (Known(CountWhere("x = 3")),), ("x",))
    with pytest.raises(Refused, match="cells of x"):
        classes_of(graph, (Known(Marginal(("x",))),))


def test_values_that_no_fact_tells_apart_are_taken_as_one() -> None:
    domain = Domain((Attribute("x", Integers(0, 9999)),))
    graph = SecretGraph(domain, (Factor(("x",), Everything(10_000)),), 1)
    found = classes_of(graph, (Known(CountWhere("x = 3")),))
    assert (found.graph.domain.size, found.count, found.dimension) == (2, 2, 1)
    assert {found.record(cell) for cell in range(2)} == {(0,), (3,)}
