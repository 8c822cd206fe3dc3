"""The certificate of a table of soft bins against enumeration of every edge of tiny worlds."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.worlds import graphs

from tetraodon.certificate.sensitivity import certify
from tetraodon.domain import Attribute, Domain, Grid, Integers
from tetraodon.mechanism.kmeans.lloyd import certify_records, certify_synopsis
from tetraodon.mechanism.kmeans.synopsis import Synopsis, parts_of_graph, ramps
from tetraodon.policy.attribute_graph import AttributeGraph, Blocks, Everything, Public, Within
from tetraodon.policy.joint_graph import JointMetric, Metric
from tetraodon.policy.policy import Policy
from tetraodon.policy.secret_graph import Factor, SecretGraph


def rows_of(synopsis: Synopsis, domain: Domain) -> np.ndarray:
    """The table as a matrix: one row for each cell of the synopsis, one column for each cell of the domain."""
    matrix = np.ones((1, 1), np.int64)
    tables = {axis.name: axis.table for axis in synopsis.axes}
    for attribute in domain:
        table = tables.get(attribute.name, np.ones((1, attribute.size), np.int64))
        matrix = np.einsum("ij,kl->ikjl", matrix, table).reshape(len(matrix) * len(table), -1)
    return matrix


def enumerated(policy: Policy, synopsis: Synopsis, further: int = 0) -> int:
    """The most that one edge moves the table, in parts of a record, by asking the graph about every pair.

    `further` is the weight of the table of the columns' values, which is released as well.
    """
    columns = rows_of(synopsis, policy.domain).T
    values = [policy.domain.value(cell) for cell in range(policy.domain.size)]
    places = [policy.domain.position(name) for name in synopsis.names]
    seen = [tuple(value[place] for place in places) for value in values]
    moved = [synopsis.units + further] if policy.graph.absent else [0]
    for x in range(len(values)):
        moved += [
            int(np.abs(columns[x] - columns[y]).sum()) + 2 * further * (seen[x] != seen[y])
            for y in range(x)
            if policy.graph.is_edge(values[x], values[y])
        ]
    return max(moved) * policy.rows_per_person


def policy_of(graph: SecretGraph, rows: int = 1) -> Policy:
    return Policy(
        "tiny", graph.domain, graph, Fraction(1), (), "secret" if graph.absent else "public", rows_per_person=rows
    )


@st.composite
def worlds(draw: st.DrawFn) -> tuple[Policy, Synopsis]:
    graph = draw(graphs())
    axes = []
    for attribute in graph.domain:
        factor = graph.factor_of(attribute.name).graph
        bins = draw(st.integers(1, attribute.size))
        if isinstance(factor, Blocks | Public):
            axes.append(parts_of_graph(attribute.name, factor.components(), bins))
        else:
            units = draw(st.sampled_from([1, 2, 256]))
            axes.append(ramps(attribute.name, attribute.size, bins, wide=draw(st.booleans()), most_units=units))
    used = axes[: draw(st.integers(1, len(axes)))]
    return policy_of(graph, draw(st.integers(1, 2))), Synopsis(tuple(used))


@settings(max_examples=400, deadline=None)
@given(worlds(), st.integers(0, 3))
def test_no_edge_moves_the_table_by_more(world: tuple[Policy, Synopsis], further: int) -> None:
    policy, synopsis = world
    others = [Fraction(1, further)] if further else []
    found = certify_synopsis(policy, synopsis, Fraction(1), further=others).epsilon
    assert found >= enumerated(policy, synopsis, further)


def square(size: int, count: int = 2) -> Domain:
    return Domain(tuple(Attribute(name, Integers(0, size - 1)) for name in "xyz"[:count]))


def metric_graph(domain: Domain, metric: Metric, within: Fraction, absent: bool = False) -> SecretGraph:
    sizes, steps = domain.shape, tuple(a.step for a in domain)
    joint = JointMetric(metric, within, sizes, tuple(a.number(0) for a in domain), steps)
    return SecretGraph(domain, (Factor(domain.names, joint),), 1, absent)


def product_graph(domain: Domain, graph: AttributeGraph, at_most: int, absent: bool = False) -> SecretGraph:
    return SecretGraph(domain, tuple(Factor((name,), graph) for name in domain.names), at_most, absent)


NINE = square(9)
KINDS = {
    "full": product_graph(NINE, Everything(9), 2),
    "attribute": product_graph(NINE, Everything(9), 1),
    "attribute, presence secret": product_graph(NINE, Everything(9), 1, absent=True),
    "within 3, one at a time": product_graph(NINE, Within(9, 3), 1),
    "within 1, presence secret": product_graph(NINE, Within(9, 1), 1, absent=True),
    "l1 1": metric_graph(NINE, "l1", Fraction(1)),
    "l1 2": metric_graph(NINE, "l1", Fraction(2)),
    "l1 4": metric_graph(NINE, "l1", Fraction(4)),
    "l1 3, presence secret": metric_graph(NINE, "l1", Fraction(3), absent=True),
    "l1 7, longer than a ramp": metric_graph(NINE, "l1", Fraction(7)),
    "l1 99, longer than the domain": metric_graph(NINE, "l1", Fraction(99)),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bins", [2, 3, 4])
def test_it_is_what_enumeration_finds(kind: str, bins: int) -> None:
    policy = policy_of(KINDS[kind])
    synopsis = Synopsis(tuple(ramps(name, 9, bins, wide=True, most_units=256) for name in "xy"))
    found = certify_synopsis(policy, synopsis, Fraction(1)).epsilon
    assert found == enumerated(policy, synopsis) == certify(policy, rows_of(synopsis, NINE), 1).epsilon
    both = certify_synopsis(policy, synopsis, Fraction(1), further=[Fraction(1, 3), Fraction(1, 2)]).epsilon
    assert both == enumerated(policy, synopsis, further=5)


@pytest.mark.parametrize(("theta", "bins"), [(1, 3), (2, 3), (4, 3), (3, 2), (8, 2)])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_under_l1_it_is_two_theta_over_the_ramp(theta: int, bins: int, count: int) -> None:
    domain = square(9, count)
    synopsis = Synopsis(tuple(ramps(name, 9, bins, wide=True, most_units=256) for name in domain.names))
    found = certify_synopsis(policy_of(metric_graph(domain, "l1", Fraction(theta))), synopsis, Fraction(1)).epsilon
    ramp = 8 // (bins - 1)
    assert found == 2 * Fraction(min(theta, ramp), ramp) * synopsis.units


@pytest.mark.parametrize("metric", ["l2", "linf"])
@pytest.mark.parametrize("within", [Fraction(1), Fraction(3, 2), Fraction(3)])
def test_other_metrics_are_bounded_and_never_beyond_a_whole_record(metric: Metric, within: Fraction) -> None:
    policy = policy_of(metric_graph(NINE, metric, within))
    synopsis = Synopsis(tuple(ramps(name, 9, 2, wide=True, most_units=256) for name in "xy"))
    found = certify_synopsis(policy, synopsis, Fraction(1)).epsilon
    assert enumerated(policy, synopsis) <= found <= 2 * synopsis.units


def test_great_circles_are_looked_at_edge_by_edge() -> None:
    domain = Domain((Attribute("lat", Grid(Fraction(0), Fraction(4), Fraction(1))), Attribute("lon", Integers(0, 4))))
    policy = policy_of(metric_graph(domain, "great circle km", Fraction(120)))
    synopsis = Synopsis(tuple(ramps(name, 5, 2, wide=True, most_units=256) for name in domain.names))
    found = certify_synopsis(policy, synopsis, Fraction(1)).epsilon
    assert enumerated(policy, synopsis) <= found < 2 * synopsis.units


def test_unequal_steps_and_staircases_are_bounded() -> None:
    domain = Domain((Attribute("x", Integers(0, 8)), Attribute("y", Grid(Fraction(0), Fraction(12), Fraction(3, 2)))))
    for within in (Fraction(2), Fraction(5)):
        for units in (2, 256):
            policy = policy_of(metric_graph(domain, "l1", within))
            synopsis = Synopsis(tuple(ramps(name, 9, 2, wide=True, most_units=units) for name in "xy"))
            assert certify_synopsis(policy, synopsis, Fraction(1)).epsilon >= enumerated(policy, synopsis)


def test_treads_of_two_axes_are_crossed_at_once() -> None:
    """One step on each axis can change a tread on both, which theta along one axis does not."""
    domain = square(13)
    policy = policy_of(metric_graph(domain, "l1", Fraction(2)))
    synopsis = Synopsis(tuple(ramps(name, 13, 2, wide=True, most_units=4) for name in "xy"))
    assert [axis.tread for axis in synopsis.axes] == [3, 3]
    one_axis = 2 * 1 * 4
    assert one_axis < enumerated(policy, synopsis) <= certify_synopsis(policy, synopsis, Fraction(1)).epsilon


def test_unequal_steps_fit_theta_better_together() -> None:
    """Steps of 2 and 3 add up to theta = 5; along one axis nothing longer than 4 fits."""
    domain = Domain(
        tuple(Attribute(n, Grid(Fraction(0), Fraction(12), Fraction(step))) for n, step in (("x", 2), ("y", 3)))
    )
    policy = policy_of(metric_graph(domain, "l1", Fraction(5)))
    synopsis = Synopsis((ramps("x", 7, 2, wide=True, most_units=99), ramps("y", 5, 2, wide=True, most_units=99)))
    one_axis = 2 * Fraction(4, 12) * synopsis.units
    assert one_axis < enumerated(policy, synopsis) <= certify_synopsis(policy, synopsis, Fraction(1)).epsilon


def test_bins_of_whole_blocks_cost_nothing() -> None:
    graph = product_graph(NINE, Blocks((0, 0, 0, 1, 1, 1, 2, 2, 2)), 2)
    axis = parts_of_graph("x", graph.factors[0].graph.components(), 3)
    synopsis = Synopsis((axis, parts_of_graph("y", graph.factors[1].graph.components(), 3)))
    policy = policy_of(graph)
    assert certify_synopsis(policy, synopsis, Fraction(0)).epsilon == 0 == enumerated(policy, synopsis)
    across = Synopsis((ramps("x", 9, 2, wide=False, most_units=1),))
    assert not certify_synopsis(policy, across, Fraction(0)).finite


def test_a_large_domain_is_no_trouble() -> None:
    domain = Domain(tuple(Attribute(n, Grid(Fraction(0), Fraction(1), Fraction(1, 100))) for n in ("a", "b", "c", "d")))
    policy = policy_of(metric_graph(domain, "l1", Fraction(1, 4)))
    synopsis = Synopsis(tuple(ramps(name, 101, 3, wide=True, most_units=256) for name in domain.names))
    found = certify_synopsis(policy, synopsis, Fraction(synopsis.units))
    assert found.epsilon == 1  # 2 theta / ramp = 2 * 0.25 / 0.5


@settings(max_examples=100, deadline=None)
@given(graphs(), st.randoms(use_true_random=False))
def test_any_table_to_which_a_record_adds_one_is_covered(graph: SecretGraph, coins: object) -> None:
    policy = policy_of(graph)
    generator = np.random.default_rng(coins.randrange(2**32))  # type: ignore[attr-defined]
    cells = generator.multinomial(6, [1 / 3] * 3, size=graph.domain.size)
    found = certify_records(policy, graph.domain.names, [Fraction(2)]).epsilon
    values = [graph.domain.value(cell) for cell in range(graph.domain.size)]
    for x in range(len(values)):
        for y in range(x):
            if graph.is_edge(values[x], values[y]):
                assert Fraction(int(np.abs(cells[x] - cells[y]).sum()), 6) / 2 <= found
