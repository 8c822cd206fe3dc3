"""Classes of cells: exact for the complete graph, never too small for any other."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.theory.largest_move import largest_move
from tests.worlds import graphs, positive, queries

import tetraodon as td
from tetraodon.certificate import class_axis, kernel
from tetraodon.certificate.kernel import certify_measurements
from tetraodon.policy.secret_graph import complete_graph
from tetraodon.workload.linear import Measurement


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_bound_that_is_exact_where_it_says_so(data: st.DataObject, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "MATRIX_LIMIT", 0)
    graph = data.draw(graphs())
    if data.draw(st.booleans()):
        graph = complete_graph(graph)
    asked = data.draw(st.lists(queries(graph.domain), min_size=1, max_size=3))
    measurements = [Measurement(query, data.draw(positive)) for query in asked]
    certificate = certify_measurements(graph, measurements)
    truth = largest_move(graph, [(m.query, 1 / m.scale) for m in measurements])
    if certificate.exact:
        assert certificate.epsilon == truth
    else:
        assert certificate.epsilon >= truth


def big(condition: str, **more: object) -> td.Policy:
    return td.load_policy(
        {
            "tetraodon": 1,
            "dataset": "big",
            "presence": "public",
            "attributes": {"a": {"integer": [0, 999]}, "b": {"integer": [0, 999]}},
            "budget": {"epsilon": 1},
            "release": [{"name": "q", "count": condition}],
            **more,
        }
    )


def test_a_condition_over_a_million_cells_is_exact_for_the_complete_graph() -> None:
    certificate = td.plan(big("a > b"))["q"].certificate
    assert certificate.exact
    assert certificate.epsilon == 1


def test_and_bounded_for_another() -> None:
    certificate = td.plan(big("a > b", secrets={"a": {"within": 3}}))["q"].certificate
    assert not certificate.exact
    assert certificate.epsilon == 1


def test_too_many_classes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(class_axis, "CLASS_LIMIT", 1)
    with pytest.raises(td.Refused, match="Fix:"):
        td.plan(big("a > b"))
