"""Tables that are weighed with their margins are priced as a listing of all edges prices them."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.query.test_weighed_margins import weighed
from tests.theory.largest_move import largest_move
from tests.worlds import graphs, positive, queries

from tetraodon.certificate import table_steps
from tetraodon.certificate.kernel import certify_measurements
from tetraodon.certificate.pair_loss import loss_of_pair, rho_of_pair
from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.noise.laws import GAUSSIAN, LAPLACE
from tetraodon.policy.attribute_graph import Everything
from tetraodon.policy.secret_graph import Factor, SecretGraph, complete_graph
from tetraodon.query.contribution import One
from tetraodon.query.linear import LinearQuery, Measurement, splits
from tetraodon.query.weighted_margins import WeighedMargins


@st.composite
def tables(draw: st.DrawFn, domain: Domain) -> LinearQuery:
    """A table of counts, weighed with its margins or not."""
    names = tuple(draw(st.permutations(domain.names)))[: draw(st.integers(1, len(domain.names)))]
    if draw(st.booleans()):
        return LinearQuery(One(), splits(names))
    return LinearQuery(draw(weighed(names, tuple(domain[name].size for name in names))))


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_it_is_what_enumeration_finds(data: st.DataObject) -> None:
    graph = data.draw(graphs())
    asked = data.draw(st.lists(tables(graph.domain), min_size=1, max_size=4))
    law = data.draw(st.sampled_from([LAPLACE, GAUSSIAN]))
    measured = [Measurement(query, data.draw(positive), law) for query in asked]
    power = 1 if law is LAPLACE else 2
    truth = largest_move(graph, [(m.query, 1 / m.scale) for m in measured], power=power) / power
    found = certify_measurements(graph, measured, delta=Fraction(1, 1000))
    loss = Fraction(found.epsilon) if law is LAPLACE else found.rho or 0
    assert loss >= truth
    single = all(len(factor.names) == 1 for factor in graph.factors)
    weighs = any(isinstance(m.query.contribution, WeighedMargins) for m in measured)
    assert found.exact or (weighs and not single)
    if found.exact:
        assert loss == truth
        if truth:
            assert found.witness is not None
            assert graph.is_edge(*found.witness)
            pair = loss_of_pair if law is LAPLACE else rho_of_pair
            assert pair(graph.domain, measured, found.witness) == truth


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_beside_others_it_is_a_bound(data: st.DataObject) -> None:
    graph = data.draw(graphs(2))
    asked = [data.draw(tables(graph.domain)), data.draw(queries(graph.domain))]
    measured = [Measurement(query, data.draw(positive)) for query in asked]
    found = certify_measurements(graph, measured)
    truth = largest_move(graph, [(m.query, 1 / m.scale) for m in measured])
    assert found.epsilon >= truth
    assert not found.exact or found.epsilon == truth


@pytest.mark.parametrize("at_most", [1, 2, 6])
def test_where_changing_more_moves_less(at_most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pairs of binary attributes without their margins: a step that changes both moves next to nothing of them."""
    domain = Domain(tuple(Attribute(name, Integers(0, 1)) for name in "abcdef"))
    graph = SecretGraph(domain, tuple(Factor((name,), Everything(2)) for name in "abcdef"), at_most)
    pairs = [WeighedMargins(pair, (2, 2), (9, -15, -15, 32 + ("a" in pair))) for pair in combinations("abcdef", 2)]
    measured = [Measurement(LinearQuery(pair), Fraction(7 + n, 3), GAUSSIAN) for n, pair in enumerate(pairs)]
    truth = largest_move(graph, [(m.query, 1 / m.scale) for m in measured], power=2) / 2
    found = certify_measurements(graph, measured, delta=Fraction(1, 1000))
    assert found.exact
    assert found.rho == truth
    everybody = certify_measurements(complete_graph(graph), measured, delta=Fraction(1, 1000))
    x, y = everybody.witness or ((), ())
    assert 0 < sum(a != b for a, b in zip(x, y, strict=True)) < 6
    monkeypatch.setattr(table_steps, "MOST_BRANCHES", 1)
    assert certify_measurements(graph, measured, delta=Fraction(1, 1000)) == found  # by listing all sets
    monkeypatch.setattr(table_steps, "MOST_SETS", 1)
    monkeypatch.setattr(table_steps, "LISTED", 1)
    bound = certify_measurements(graph, measured, delta=Fraction(1, 1000))
    assert not bound.exact
    assert bound.rho is not None
    assert bound.rho >= truth
