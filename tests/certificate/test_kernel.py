"""The kernel equals enumeration, with `==`, on every kind of graph and query, alone and together."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.worlds import graphs, positive, queries

from tetraodon.certificate.certificate import Certificate
from tetraodon.certificate.kernel import certify_measurements, sensitivity_of
from tetraodon.certificate.reference import largest_move
from tetraodon.policy.secret_graph import SecretGraph
from tetraodon.workload.linear import LinearQuery, Measurement


def loss_at(graph: SecretGraph, measurements: list[Measurement], witness: tuple[Any, Any]) -> Fraction:
    """What the witness pair loses, row by row."""
    total = Fraction(0)
    for m in measurements:
        for row in m.query.matrix(graph.domain)[0].tolist():
            ends = [row[graph.domain.cell(v)] if isinstance(v, tuple) else 0 for v in witness]
            total += abs(ends[0] - ends[1]) / m.scale
    return total


@settings(max_examples=1500, deadline=None)
@given(st.data())
def test_it_is_what_enumeration_finds(data: st.DataObject) -> None:
    graph = data.draw(graphs())
    asked = data.draw(st.lists(queries(graph.domain), min_size=1, max_size=3))
    measurements = [Measurement(query, data.draw(positive)) for query in asked]
    certificate = certify_measurements(graph, measurements)
    truth = largest_move(graph, [(m.query, 1 / m.scale) for m in measurements])
    assert certificate.exact
    assert certificate.epsilon == truth
    if truth:
        assert certificate.witness is not None
        assert graph.is_edge(*certificate.witness)
        assert loss_at(graph, measurements, certificate.witness) == truth


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_sensitivity_is_in_natural_units(data: st.DataObject) -> None:
    graph = data.draw(graphs())
    query = data.draw(queries(graph.domain))
    found = sensitivity_of(graph, query)
    assert found.value == largest_move(graph, [(query, query.contribution.unit)])


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_an_exact_answer_costs_nothing_or_everything(data: st.DataObject) -> None:
    graph = data.draw(graphs())
    query: LinearQuery = data.draw(queries(graph.domain))
    certificate = certify_measurements(graph, [Measurement(query, Fraction(0))])
    moves = largest_move(graph, [(query, Fraction(1))])
    assert certificate.epsilon == (math.inf if moves else 0)


def test_nobody_else_writes_a_certificate() -> None:
    with pytest.raises(TypeError, match="computed"):
        Certificate(Fraction(0), None, "wishful thinking", True, object())
