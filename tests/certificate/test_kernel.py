"""The kernel equals enumeration, with `==`, on every kind of graph and query, alone and together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.certificate.test_edge_loss import world
from tests.theory.largest_move import largest_move
from tests.worlds import graphs, positive, queries

from tetraodon.certificate import kernel
from tetraodon.certificate.certificate import Certificate
from tetraodon.certificate.edge_loss import Loss, Weighted
from tetraodon.certificate.kernel import certify_measurements, sensitivity_of
from tetraodon.certificate.oracle import changes
from tetraodon.certificate.oracle import world as world_of
from tetraodon.certificate.pair_loss import rho_of_pair
from tetraodon.certificate.worst_edge import worst_edge
from tetraodon.exact.zcdp import epsilon_at
from tetraodon.noise.laws import GAUSSIAN, LAWS
from tetraodon.policy.attribute_graph import Blocks, Everything
from tetraodon.policy.load import load_policy
from tetraodon.policy.secret_graph import SecretGraph
from tetraodon.query.contribution import One, Prefix
from tetraodon.query.linear import LinearQuery, Measurement, Split


def loss_at(graph: SecretGraph, measurements: list[Measurement], witness: tuple[Any, Any]) -> Fraction:
    """What the witness pair loses, row by row."""
    total = Fraction(0)
    for m in measurements:
        for row in m.query.matrix(graph.domain)[0].tolist():
            ends = [row[graph.domain.cell(v)] if isinstance(v, tuple) else 0 for v in witness]
            total += abs(ends[0] - ends[1]) / m.scale
    return total


@settings(max_examples=500, deadline=None)
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


@settings(max_examples=500, deadline=None)
@given(st.data())
def test_squares_are_what_enumeration_finds(data: st.DataObject) -> None:
    """Gaussian noise on some answers, at least one, and Laplace noise on the others."""
    graph = data.draw(graphs())
    asked = data.draw(st.lists(queries(graph.domain), min_size=1, max_size=3))
    kinds = [data.draw(st.sampled_from(list(LAWS.values()))) for _ in asked[1:]]
    measurements = [Measurement(q, data.draw(positive), k) for q, k in zip(asked, [GAUSSIAN, *kinds], strict=True)]
    certificate = certify_measurements(graph, measurements, delta=Fraction(1, 1000), rows_per_person=3)
    truth = 9 * largest_move(graph, [(m.query, 1 / m.scale) for m in measurements], power=2) / 2
    assert certificate.exact
    assert (certificate.rho or 0) == truth
    if truth:
        assert certificate.epsilon == epsilon_at(truth, Fraction(1, 1000))
        assert certificate.witness is not None
        assert graph.is_edge(*certificate.witness)
        assert 9 * rho_of_pair(graph.domain, measurements, certificate.witness) == truth
        assert not certify_measurements(graph, measurements).finite


def test_squares_under_known_counts_are_what_enumeration_finds() -> None:
    """Over the neighbours of up to four people in N*."""
    policy = load_policy(
        {
            "dataset": "d",
            "presence": "public",
            "attributes": {"a": {"integer": [0, 2]}},
            "known": [{"count": "a = 0"}],
            "budget": {"epsilon": 1},
        }
    )
    query = LinearQuery(One(), (Split("a"),))
    found = certify_measurements(policy.graph, [Measurement(query, Fraction(2), GAUSSIAN)], delta=Fraction(1, 10))
    rows = query.matrix(policy.domain)[0]
    moved = np.array(sorted(changes(world_of(policy.graph, policy.known, 4))))
    truth = Fraction(int(((moved @ rows.T) ** 2).sum(axis=1).max()), 8)
    assert (found.rho, found.exact) == (truth, True)
    assert truth > 0


@settings(max_examples=120, deadline=None)
@given(st.data())
def test_sensitivity_is_in_natural_units(data: st.DataObject) -> None:
    graph = data.draw(graphs())
    query = data.draw(queries(graph.domain))
    found = sensitivity_of(graph, query)
    assert found.value == largest_move(graph, [(query, query.contribution.unit)])


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_what_is_measured_again_is_looked_at_once_and_costs_again(data: st.DataObject) -> None:
    graph = data.draw(graphs())
    asked = data.draw(st.lists(queries(graph.domain), min_size=1, max_size=2))
    law = data.draw(st.sampled_from(list(LAWS.values())))
    measurements = [Measurement(query, data.draw(positive), law) for query in asked * 3]
    looked_at: list[int] = []

    def seen(graph: SecretGraph, queries: Sequence[Weighted], **how: bool) -> Loss:
        looked_at.append(len(queries))
        return worst_edge(graph, queries, **how)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel, "worst_edge", seen)
        certificate = certify_measurements(graph, measurements)
    assert max(looked_at) <= len(asked)
    power = 2 if law is GAUSSIAN else 1
    truth = largest_move(graph, [(m.query, 1 / m.scale) for m in measurements], power=power) / power
    assert (certificate.epsilon if power == 1 else certificate.rho or 0) == truth


@settings(max_examples=120, deadline=None)
@given(st.data())
def test_an_exact_answer_costs_nothing_or_everything(data: st.DataObject) -> None:
    graph = data.draw(graphs())
    query: LinearQuery = data.draw(queries(graph.domain))
    certificate = certify_measurements(graph, [Measurement(query, Fraction(0))])
    moves = largest_move(graph, [(query, Fraction(1))])
    assert certificate.epsilon == (math.inf if moves else 0)


def test_every_row_of_a_person_may_move() -> None:
    graph = world(a=(6, Everything(6)))
    query = LinearQuery(Prefix("a", 6, 5))
    assert sensitivity_of(graph, query, rows_per_person=4).value == 4 * 5
    assert certify_measurements(graph, [Measurement(query, Fraction(2))], rows_per_person=4).epsilon == 10


def test_exact_and_noisy_answers_together() -> None:
    graph = world(a=(6, Blocks((0, 0, 0, 1, 1, 1))))
    free = Measurement(LinearQuery(One(), (Split("a", (0, 0, 0, 1, 1, 1)),)), Fraction(0))
    noisy = Measurement(LinearQuery(Prefix("a", 6, 5)), Fraction(3))
    told = Measurement(LinearQuery(One(), (Split("a"),)), Fraction(0))
    assert certify_measurements(graph, [free, noisy]).epsilon == Fraction(2, 3)
    assert certify_measurements(graph, [noisy, free, told]).epsilon == math.inf
    assert certify_measurements(graph, [free]).witness is None
    assert certify_measurements(graph, []).epsilon == 0


def test_nobody_else_writes_a_certificate() -> None:
    with pytest.raises(TypeError, match="computed"):
        Certificate(Fraction(0), None, "wishful thinking", True, object())
