"""Displacements are enough for joint metrics, and cost nothing on large grids."""

from __future__ import annotations

from fractions import Fraction
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.theory.largest_move import largest_move
from tests.worlds import graphs, positive, queries

import tetraodon as td
from tetraodon.certificate import rate_axis
from tetraodon.certificate.kernel import _axes, certify_measurements
from tetraodon.certificate.move_axis import MoveAxis
from tetraodon.domain import Attribute, Domain, Grid, Integers
from tetraodon.policy.joint_metric import JointMetric
from tetraodon.policy.secret_graph import Factor, SecretGraph
from tetraodon.workload.contribution import Number, One, Prefix
from tetraodon.workload.linear import LinearQuery, Measurement, Split


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_it_is_what_enumeration_finds(data: st.DataObject) -> None:
    x = Attribute("x", Integers(-1, data.draw(st.integers(0, 4))))
    y = Attribute("y", Grid(Fraction(0), Fraction(data.draw(st.integers(1, 4)), 2), Fraction(1, 2)))
    domain = Domain((x, y))
    order = data.draw(st.permutations([x, y]))
    within = max(Fraction(1), data.draw(positive))
    metric = JointMetric(
        data.draw(st.sampled_from(["l1", "l2", "linf"])),
        within,
        tuple(a.size for a in order),
        tuple(a.number(0) for a in order),
        tuple(a.step for a in order),
    )
    graph = SecretGraph(domain, (Factor(tuple(a.name for a in order), metric),), 1, data.draw(st.booleans()))
    able = [
        LinearQuery(One(), (Split("x"), Split("y"))),
        LinearQuery(Prefix("x", x.size, x.size), (Split("y"),)),
        LinearQuery(Prefix("y", y.size, max(y.size - 1, 1))),
        LinearQuery(Number(x), (Split("y"),)),
        LinearQuery(Number(y)),
        LinearQuery(One(), (Split("x"),)),
    ]
    asked = data.draw(st.lists(st.sampled_from(able), min_size=1, max_size=3))
    assert isinstance(_axes(graph, [(q, 1) for q in asked], False)[0], MoveAxis)
    measurements = [Measurement(query, data.draw(positive)) for query in asked]
    certificate = certify_measurements(graph, measurements)
    assert certificate.epsilon == largest_move(graph, [(m.query, 1 / m.scale) for m in measurements])
    if certificate.epsilon:
        assert certificate.witness is not None
        assert graph.is_edge(*certificate.witness)


@pytest.mark.parametrize(("metric", "longest"), [("l1", 100), ("l2", 100), ("linf", 100)])
def test_a_large_map(metric: str, longest: int) -> None:
    policy = td.load_policy(
        {
            "tetraodon": 1,
            "dataset": "map",
            "presence": "public",
            "attributes": {"x": {"integer": [0, 3999]}, "y": {"integer": [0, 2999]}},
            "together": {"metric": metric, "over": ["x", "y"], "within": 100},
            "budget": {"epsilon": 1},
        }
    )
    assert policy.sensitivity(td.total("x")).value == longest
    assert policy.sensitivity(td.histogram("x", "y")).value == 2


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_smoothed_bins_are_never_priced_too_low(data: st.DataObject) -> None:
    graph = data.draw(graphs().filter(lambda graph: any(len(f.names) > 1 for f in graph.factors)))
    asked = data.draw(st.lists(queries(graph.domain), min_size=1, max_size=3))
    measurements = [Measurement(query, data.draw(positive)) for query in asked]
    with mock.patch.object(rate_axis, "FEW_EDGES", 0):
        found = certify_measurements(graph, measurements)
    truth = largest_move(graph, [(m.query, 1 / m.scale) for m in measurements])
    assert found.epsilon == truth if found.exact else found.epsilon >= truth
