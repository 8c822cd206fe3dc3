"""Corners are enough for weighted sums and products, whatever the size; with squares, ends of steps of some lengths."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.theory.largest_move import largest_move
from tests.worlds import attributes, positive

from tetraodon.certificate import corner_axis
from tetraodon.certificate.corner_axis import CornerAxis
from tetraodon.certificate.edge_loss import _axes, largest_over_edges
from tetraodon.certificate.kernel import certify_measurements, sensitivity_of
from tetraodon.domain import Attribute, Domain, Grid, Integers
from tetraodon.errors import Refused
from tetraodon.policy.attribute_graph import AttributeGraph, Blocks, Everything, Public, Within
from tetraodon.policy.secret_graph import Factor, SecretGraph
from tetraodon.query.contribution import One
from tetraodon.query.linear import LinearQuery, Measurement, Split
from tetraodon.query.number import Number


@st.composite
def near(draw: st.DrawFn, size: int) -> AttributeGraph:
    kind = draw(st.sampled_from([Everything, Within, Public]))
    return Within(size, draw(st.integers(1, size))) if kind is Within else kind(size)


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_it_is_what_enumeration_finds(data: st.DataObject) -> None:
    domain = Domain(tuple(data.draw(attributes(name, 4)) for name in "abc"))
    factors = tuple(Factor((a.name,), data.draw(near(a.size))) for a in domain)
    graph = SecretGraph(domain, factors, data.draw(st.integers(1, 3)), data.draw(st.booleans()))
    asked = [LinearQuery(Number(domain["a"], domain["b"]), data.draw(st.sampled_from([(), (Split("c"),)])))]
    if data.draw(st.booleans()):
        asked.append(LinearQuery(Number(domain["b"], domain["a"])))
    if data.draw(st.booleans()):
        asked.append(LinearQuery(Number(domain["a"]), (Split("b"),)))
    assert any(isinstance(axis, CornerAxis) for axis in _axes(graph, [(q, 1) for q in asked], False))
    measurements = [Measurement(query, data.draw(positive)) for query in asked]
    truth = largest_move(graph, [(m.query, 1 / m.scale) for m in measurements])
    assert certify_measurements(graph, measurements).epsilon == truth


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_with_squares_it_is_what_enumeration_finds(data: st.DataObject) -> None:
    domain = Domain(tuple(data.draw(attributes(name, 4)) for name in "abc"))
    factors = tuple(Factor((a.name,), data.draw(near(a.size))) for a in domain)
    graph = SecretGraph(domain, factors, data.draw(st.integers(1, 3)), data.draw(st.booleans()))
    by = data.draw(st.sampled_from([(), (Split("c"),)]))
    kinds = (
        Number(domain["a"], domain["b"], centred=True),
        Number(domain["a"], squared=True),
        Number(domain["b"], squared=True),
        Number(domain["a"], centred=True),
        One(),
    )
    measurements = [Measurement(LinearQuery(kind, by), data.draw(positive)) for kind in kinds]
    found = certify_measurements(graph, measurements)
    assert found.epsilon == largest_move(graph, [(m.query, 1 / m.scale) for m in measurements])
    assert found.exact


@settings(max_examples=100, deadline=None)
@given(st.data(), st.booleans())
def test_lengths_that_are_left_out_are_made_up_for(data: st.DataObject, squares: bool) -> None:
    a, b = Attribute("a", Integers(0, 14)), Attribute("b", Integers(-3, 8))
    graph = SecretGraph(Domain((a, b)), tuple(Factor((x.name,), data.draw(near(x.size))) for x in (a, b)), 2)
    kinds = (Number(a, b, centred=True), Number(a, squared=True), Number(b, squared=True), Number(b))
    weighted = [(LinearQuery(kind), data.draw(positive)) for kind in kinds]
    exact = largest_over_edges(graph, weighted, {}, squares=squares)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(corner_axis, "STEPS_LIMIT", 1200)
        found = largest_over_edges(graph, weighted, {}, squares=squares)
    assert exact.exact
    assert exact.value <= found.value
    assert found.exact or found.value <= exact.value * 2
    twice = [(query, 2 * weight) for query, weight in weighted]
    assert largest_over_edges(graph, twice, {}, squares=squares).value == 2 * exact.value


def test_blocks_of_many_values_are_bounded() -> None:
    """A block of the incomes has edges that all incomes have, too."""
    income, age = Attribute("income", Integers(0, 9_999)), Attribute("age", Integers(0, 99))
    product = LinearQuery(Number(income, age, centred=True))
    blocks, whole = (
        SecretGraph(Domain((income, age)), (Factor(("income",), of_income), Factor(("age",), Within(100, 1))), 1)
        for of_income in (Blocks(tuple(code // 5000 for code in range(10_000))), Everything(10_000))
    )
    found = sensitivity_of(blocks, product)
    assert not found.exact
    assert found.value == sensitivity_of(whole, product).value


def test_too_many_attributes_are_refused() -> None:
    domain = Domain(tuple(Attribute(name, Integers(0, 9)) for name in "abcdefg"))
    graph = SecretGraph(domain, tuple(Factor((a.name,), Everything(10)) for a in domain), 7)
    asked = [(LinearQuery(Number(domain["a"], other, centred=True)), Fraction(1)) for other in domain.attributes[1:]]
    with pytest.raises(Refused, match="too many attributes"):
        largest_over_edges(graph, asked, {})


def test_a_public_weight_multiplies_by_its_largest() -> None:
    """[HMD14] section 5 with max |w|, on a hundred million cells."""
    income = Attribute("income", Integers(0, 10**5))
    weight = Attribute("weight", Grid(Fraction(-12), Fraction(10), Fraction(1, 100)))
    graph = SecretGraph(
        Domain((income, weight)),
        (Factor(("income",), Within(income.size, 500)), Factor(("weight",), Public(weight.size))),
        1,
    )
    assert sensitivity_of(graph, LinearQuery(Number(income, weight))).value == 12 * 500
