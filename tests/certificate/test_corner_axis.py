"""Corners are enough for weighted sums, whatever the size."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.theory.largest_move import largest_move
from tests.worlds import attributes, positive

from tetraodon.certificate.corner_axis import CornerAxis
from tetraodon.certificate.edge_loss import _axes
from tetraodon.certificate.kernel import certify_measurements, sensitivity_of
from tetraodon.domain import Attribute, Domain, Grid, Integers
from tetraodon.policy.attribute_graph import AttributeGraph, Everything, Public, Within
from tetraodon.policy.secret_graph import Factor, SecretGraph
from tetraodon.workload.contribution import Number
from tetraodon.workload.linear import LinearQuery, Measurement, Split


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
