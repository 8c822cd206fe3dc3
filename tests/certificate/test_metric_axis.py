"""Displacements are what enumeration finds, and bounds from rates are never below them."""

from __future__ import annotations

from fractions import Fraction
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.theory.largest_move import largest_move
from tests.worlds import graphs, positive, queries

import tetraodon as td
from tetraodon.certificate import metric_axis
from tetraodon.certificate.axis import Crossing, Term
from tetraodon.certificate.edge_loss import _axes
from tetraodon.certificate.kernel import certify_measurements
from tetraodon.certificate.metric_axis import MoveAxis, RateAxis
from tetraodon.domain import Attribute, Domain, Grid, Integers
from tetraodon.noise.laws import GAUSSIAN
from tetraodon.policy.attribute_graph import Everything
from tetraodon.policy.joint_graph import JointMetric, Metric
from tetraodon.policy.secret_graph import Factor, SecretGraph
from tetraodon.query.contribution import One, Prefix
from tetraodon.query.linear import LinearQuery, Measurement, Split
from tetraodon.query.number import Number
from tetraodon.query.smooth import Hats, Ramps
from tetraodon.query.soft_bins import Soft


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
    assert td.sensitivity(policy, td.queries.total("x")).value == longest
    assert td.sensitivity(policy, td.queries.histogram("x", "y")).value == 2


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_smoothed_bins_are_never_priced_too_low(data: st.DataObject) -> None:
    graph = data.draw(graphs().filter(lambda graph: any(len(f.names) > 1 for f in graph.factors)))
    asked = data.draw(st.lists(queries(graph.domain), min_size=1, max_size=3))
    measurements = [Measurement(query, data.draw(positive)) for query in asked]
    with mock.patch.object(metric_axis, "FEW_EDGES", 0):
        found = certify_measurements(graph, measurements)
    truth = largest_move(graph, [(m.query, 1 / m.scale) for m in measurements])
    assert found.epsilon == truth if found.exact else found.epsilon >= truth


SIZES = (6, 5)


def graph(
    metric: Metric, within: Fraction, steps: tuple[Fraction, Fraction], sizes: tuple[int, ...] = SIZES
) -> SecretGraph:
    domain = Domain(tuple(Attribute(name, Integers(0, size - 1)) for name, size in zip("xy", sizes, strict=True)))
    joint = JointMetric(metric, within, sizes, (Fraction(0), Fraction(0)), steps)
    return SecretGraph(domain, (Factor(("x", "y"), joint),), 1)


TERMS = (
    Hats("x", 6, 2),
    Ramps("x", 6, 3),
    Soft("x", 6, 2, (0,), 2),
    Prefix("y", 5, 4),
    Soft("y", 5, 2, (0, 2)),
    Hats("y", 5, 3),
)


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(["l1", "l2", "linf"]),
    positive,
    st.tuples(positive, positive),
    st.lists(st.tuples(st.sampled_from(TERMS), st.integers(1, 5)), min_size=1, max_size=4),
    st.booleans(),
)
def test_it_is_never_below_the_list(
    metric: Metric, within: Fraction, steps: tuple[Fraction, Fraction], asked: list[tuple[object, int]], crossed: bool
) -> None:
    within = max(within, min(steps))
    secrets = graph(metric, within, steps)
    joint = secrets.factors[0].graph
    assert isinstance(joint, JointMetric)
    terms = tuple(Term(n, kind, weight) for n, (kind, weight) in enumerate(asked))  # type: ignore[arg-type]
    crossings = (Crossing(0, Split("y" if terms[0].contribution.names == ("x",) else "x")),) if crossed else ()
    listed, bound = (kind(secrets, terms, crossings, joint) for kind in (MoveAxis, RateAxis))
    tops = []
    for axis in (listed, bound):
        peaks = [axis.peak(p, p.crossed) for p in axis.patterns()]
        tops.append(max(peak.value for peak in peaks))
    assert tops[1] >= tops[0]
    assert bound.peak_alone().value >= listed.peak_alone().value


def test_sums_of_both_signs_move_most_where_no_split_is_crossed() -> None:
    """A sum of -5..5 by x: from -5 to 5 its square moves by 100, across x by 50; y may move as well, without x."""
    plane = Domain(
        tuple(Attribute(name, Integers(*ends)) for name, ends in zip("xyz", ((0, 3), (0, 3), (-5, 5)), strict=True))
    )
    joint = JointMetric("l1", Fraction(3), (4, 4), (Fraction(0), Fraction(0)), (Fraction(1), Fraction(1)))
    secrets = SecretGraph(plane, (Factor(("x", "y"), joint), Factor(("z",), Everything(11))), 2)
    asked = [LinearQuery(Number(plane["z"]), (Split("x"),)), LinearQuery(Prefix("y", 4, 4))]
    truth = largest_move(secrets, [(query, Fraction(1)) for query in asked], power=2)
    measured = [Measurement(query, Fraction(1), GAUSSIAN) for query in asked]
    with mock.patch.object(JointMetric, "listable", property(lambda _: False)):
        found = certify_measurements(secrets, measured, delta=Fraction(1, 10**6))
    assert found.rho is not None
    assert 2 * found.rho >= truth == 103


def test_an_attribute_without_steps_does_not_move() -> None:
    secrets = graph("l1", Fraction(2), (Fraction(2), Fraction(3)))
    joint = secrets.factors[0].graph
    assert isinstance(joint, JointMetric)
    axis = RateAxis(secrets, (Term(0, Hats("y", 5, 3), 1),), (), joint)
    assert axis.peak(axis.patterns()[1], frozenset()).value == 0


@pytest.mark.parametrize("metric", ["l1", "l2", "linf"])
def test_a_plane_of_millions_is_no_trouble(metric: Metric) -> None:
    secrets = graph(metric, Fraction(2000), (Fraction(1), Fraction(1)), (10**6, 10**6))
    query = LinearQuery(Soft("x", 10**6, 1000, tuple(range(0, 999_999, 4000)), 4))
    found = certify_measurements(secrets, [Measurement(query, Fraction(1000))])
    assert 1 <= found.epsilon <= 1 + Fraction(2, 1000)  # 2 theta / ramp, and a tread


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(["l1", "l2", "linf"]), positive, positive, positive)
def test_twice_the_noise_loses_half(metric: Metric, within: Fraction, scale: Fraction, times: Fraction) -> None:
    secrets = graph(metric, max(within, Fraction(1)), (Fraction(1), Fraction(1)))
    asked = [
        LinearQuery(Soft("x", 6, 2, (0,), 2)),
        LinearQuery(Soft("y", 5, 2, (0, 2))),
        LinearQuery(Prefix("x", 6, 5)),
    ]
    with mock.patch.object(JointMetric, "listable", property(lambda _: False)):
        one, other = (
            certify_measurements(secrets, [Measurement(query, scale * t * n) for n, query in enumerate(asked, 1)])
            for t in (1, times)
        )
    assert one.epsilon == times * other.epsilon
