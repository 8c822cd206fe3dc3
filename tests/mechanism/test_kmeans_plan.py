"""k-means: soft bins, grids, certificates and plans."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.worlds import graphs

from tetraodon.certificate import edge_loss as combinations
from tetraodon.certificate import oracle
from tetraodon.certificate.sensitivity import certify
from tetraodon.domain import Attribute, Categories, Domain, Grid, Integers
from tetraodon.errors import DomainError, PolicyError, QueryError, Refused, TetraodonError
from tetraodon.mechanism.kmeans import lloyd as certificates
from tetraodon.mechanism.kmeans.lloyd import Steps, certify_records, certify_synopsis, dearer_by, plan_steps
from tetraodon.mechanism.kmeans.plan import plan_kmeans
from tetraodon.mechanism.kmeans.synopsis import (
    CELL_LIMIT,
    EXACT_LIMIT,
    SoftAxis,
    Synopsis,
    choose_grid,
    columns_of,
    finest,
    middles,
    parts_of_graph,
    ramps,
)
from tetraodon.policy.attribute_graph import AttributeGraph, Blocks, Everything, Pairs, Public, Within
from tetraodon.policy.joint_graph import JointMetric, Metric
from tetraodon.policy.known import CountWhere, Known, Marginal
from tetraodon.policy.policy import Policy
from tetraodon.policy.secret_graph import ABSENT, Factor, SecretGraph
from tetraodon.pufferfish import Additive, DiscreteLaplace, World, named, verify

# -- soft bins --------------------------------------------------------------------------------------
# Soft bins: every record is shared out wholly, and a short move takes a small share along.


@given(st.integers(1, 40), st.integers(1, 9), st.booleans(), st.integers(1, 12))
def test_a_move_of_t_steps_takes_t_treads_along(size: int, bins: int, wide: bool, most_units: int) -> None:
    axis = ramps("x", size, min(bins, size), wide=wide, most_units=most_units)
    assert (axis.table.sum(axis=0) == axis.units).all()
    assert ((axis.table >= 0) & (axis.table <= axis.units)).all()
    for reach in range(1, size):
        moved = np.abs(axis.table[:, reach:] - axis.table[:, :-reach]).sum(axis=0).max()
        treads = -(-reach // axis.tread)
        assert moved <= 2 * min(axis.units, treads)
        if axis.bins > 1 and axis.units * axis.tread >= reach and axis.table[0, 0] == axis.units:
            assert moved == 2 * treads  # attained from the foot of a ramp


def test_bins_of_connected_parts_keep_parts_whole() -> None:
    labels = np.array([0, 0, 3, 3, 1, 1, 3])
    axis = parts_of_graph("x", labels, 3)
    assert axis.bins == 3
    assert axis.first.tolist() == [0, 0, 1, 1, 2, 2, 1]
    assert middles(axis, Attribute("x", Integers(10, 16))).tolist() == [10.5, 10 + 11 / 3, 14.5]
    merged = parts_of_graph("x", labels, 2)
    assert merged.bins == 2
    assert len({(label, b) for label, b in zip(labels.tolist(), merged.first.tolist(), strict=True)}) == 3


@pytest.mark.parametrize(("first", "part"), [([0, 2], [0, 0]), ([0, 1], [0, 1]), ([0, 0], [0, 2]), ([-1, 0], [0, 0])])
def test_bins_and_parts_that_do_not_exist(first: list[int], part: list[int]) -> None:
    with pytest.raises(QueryError, match="Fix: "):
        SoftAxis("x", 2, 2, np.array(first), np.array(part))


@given(st.lists(st.integers(0, 3), min_size=1, max_size=14), st.integers(1, 16))
def test_pieces_of_connected_parts_do_not_mix_them(labels: list[int], bins: int) -> None:
    parts, found = len(set(labels)), parts_of_graph("x", np.array(labels), bins)
    of = [
        {label for label, first in zip(labels, found.first.tolist(), strict=True) if first == one}
        for one in range(found.bins)
    ]
    assert all(of)  # no bin is empty
    assert found.bins == bins if bins <= parts else parts <= found.bins <= bins
    if bins >= parts:
        assert all(len(one) == 1 for one in of)
        pieces = [sum(one == {label} for one in of) for label in sorted(set(labels))]
        assert pieces == [min(bins // parts, labels.count(label)) for label in sorted(set(labels))]


# -- grid choice ------------------------------------------------------------------------------------
# How fine a grid is chosen: by the policy, the budget and a number of rows, and in the right direction.


def policy_of(*graphs: AttributeGraph, at_most: int = 1) -> Policy:
    domain = Domain(tuple(Attribute(f"x{i}", Integers(0, g.size - 1)) for i, g in enumerate(graphs)))
    factors = tuple(Factor((a.name,), g) for a, g in zip(domain, graphs, strict=True))
    return Policy("tiny", domain, SecretGraph(domain, factors, at_most), Fraction(1), (), "public")


def grid(policy: Policy, epsilon: str, rows: int) -> tuple[int, ...]:
    return choose_grid(columns_of(policy, policy.domain.names), 1, Fraction(epsilon), rows, free=True)[0].shape


def test_more_rows_or_budget_make_it_finer() -> None:
    policy = policy_of(Everything(101), Everything(101))
    sizes = [sum(grid(policy, epsilon, rows)) for epsilon, rows in (("0.1", 500), ("1", 500), ("1", 50_000))]
    assert sizes == sorted(set(sizes))


def test_rows_times_budget_is_what_counts() -> None:
    policy = policy_of(Everything(101), Everything(101))
    assert grid(policy, "0.1", 10_000) == grid(policy, "1", 1_000)


def test_a_short_theta_makes_it_finer() -> None:
    assert sum(grid(policy_of(*[Within(101, 5)] * 3), "0.1", 1000)) > sum(
        grid(policy_of(*[Everything(101)] * 3), "0.1", 1000)
    )


def test_where_presence_alone_is_secret_noise_is_counted() -> None:
    """It was taken for free, and every value got a cell of its own."""
    both, hidden = policy_of(*[Everything(101)] * 2), policy_of(*[Public(101)] * 2)
    hidden = replace(hidden, graph=replace(hidden.graph, absent=True), presence="secret")
    columns = columns_of(hidden, hidden.domain.names)
    found, score = choose_grid(columns, 1, Fraction(1), 1000, free=False)
    stronger, more = choose_grid(columns_of(both, both.domain.names), 1, Fraction(1), 1000, free=False)
    assert score < more
    assert sum(stronger.shape) <= sum(found.shape) <= 1.5 * sum(stronger.shape)


def test_a_long_column_gets_more_bins_than_a_short_one() -> None:
    first, second = grid(policy_of(Everything(1001), Everything(11)), "1", 2000)
    assert first > 2 * second


def test_bins_never_outnumber_values_or_the_limit() -> None:
    assert grid(policy_of(Everything(3), Everything(1)), "1000", 10**9) == (3, 1)
    shape = grid(policy_of(*[Everything(1001)] * 2), "1000", 10**9)
    assert shape[0] * shape[1] <= CELL_LIMIT


def test_connected_parts_are_found() -> None:
    policy = policy_of(Blocks((0, 0, 1, 1)), Public(5), Pairs(4, frozenset({(0, 1)})), Everything(4), Blocks((7, 7)))
    columns = columns_of(policy, policy.domain.names)
    assert [c.labels is None for c in columns] == [False, False, False, True, True]
    assert finest(columns).shape == (2, 5, 3, 1, 1)


def test_an_exact_table_of_very_many_parts_takes_several_together() -> None:
    policy = policy_of(Public(10_000), Public(5_000), Public(3))
    table = finest(columns_of(policy, policy.domain.names))
    assert table.shape == (313, 625, 3)
    assert table.cells <= EXACT_LIMIT


@pytest.mark.parametrize(("metric", "reach"), [("l1", 3.0), ("linf", 3.0), ("great circle km", 8.0)])
def test_reach_of_a_metric(metric: str, reach: float) -> None:
    domain = Domain(
        (Attribute("lat", Grid(Fraction(0), Fraction(8), Fraction(1, 2))), Attribute("lon", Integers(0, 8)))
    )
    joint = JointMetric(metric, Fraction(3), domain.shape, (Fraction(0),) * 2, (Fraction(1, 2), Fraction(1)))  # type: ignore[arg-type]
    policy = Policy("t", domain, SecretGraph(domain, (Factor(domain.names, joint),), 1), Fraction(1), (), "public")
    assert [c.reach for c in columns_of(policy, domain.names)] == [reach, reach]


def test_huge_columns_are_refused() -> None:
    with pytest.raises(Refused, match="Fix: declare a coarser grid"):
        columns_of(policy_of(Everything(2_000_000)), ("x0",))


# -- certificates -----------------------------------------------------------------------------------
# The certificate of a table of soft bins against enumeration of every edge of tiny worlds.


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


def certified_policy(graph: SecretGraph, rows: int = 1) -> Policy:
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
    return certified_policy(graph, draw(st.integers(1, 2))), Synopsis(tuple(used))


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
    policy = certified_policy(KINDS[kind])
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
    found = certify_synopsis(
        certified_policy(metric_graph(domain, "l1", Fraction(theta))), synopsis, Fraction(1)
    ).epsilon
    ramp = 8 // (bins - 1)
    assert found == 2 * Fraction(min(theta, ramp), ramp) * synopsis.units


@pytest.mark.parametrize("metric", ["l2", "linf"])
@pytest.mark.parametrize("within", [Fraction(1), Fraction(3, 2), Fraction(3)])
def test_other_metrics_are_bounded_and_never_beyond_a_whole_record(metric: Metric, within: Fraction) -> None:
    policy = certified_policy(metric_graph(NINE, metric, within))
    synopsis = Synopsis(tuple(ramps(name, 9, 2, wide=True, most_units=256) for name in "xy"))
    found = certify_synopsis(policy, synopsis, Fraction(1)).epsilon
    assert enumerated(policy, synopsis) <= found <= 2 * synopsis.units


def test_great_circles_are_looked_at_edge_by_edge() -> None:
    domain = Domain((Attribute("lat", Grid(Fraction(0), Fraction(4), Fraction(1))), Attribute("lon", Integers(0, 4))))
    policy = certified_policy(metric_graph(domain, "great circle km", Fraction(120)))
    synopsis = Synopsis(tuple(ramps(name, 5, 2, wide=True, most_units=256) for name in domain.names))
    found = certify_synopsis(policy, synopsis, Fraction(1)).epsilon
    assert enumerated(policy, synopsis) <= found < 2 * synopsis.units


def test_unequal_steps_and_staircases_are_bounded() -> None:
    domain = Domain((Attribute("x", Integers(0, 8)), Attribute("y", Grid(Fraction(0), Fraction(12), Fraction(3, 2)))))
    for within in (Fraction(2), Fraction(5)):
        for units in (2, 256):
            policy = certified_policy(metric_graph(domain, "l1", within))
            synopsis = Synopsis(tuple(ramps(name, 9, 2, wide=True, most_units=units) for name in "xy"))
            assert certify_synopsis(policy, synopsis, Fraction(1)).epsilon >= enumerated(policy, synopsis)


def test_treads_of_two_axes_are_crossed_at_once() -> None:
    """One step on each axis can change a tread on both, which theta along one axis does not."""
    domain = square(13)
    policy = certified_policy(metric_graph(domain, "l1", Fraction(2)))
    synopsis = Synopsis(tuple(ramps(name, 13, 2, wide=True, most_units=4) for name in "xy"))
    assert [axis.tread for axis in synopsis.axes] == [3, 3]
    one_axis = 2 * 1 * 4
    assert one_axis < enumerated(policy, synopsis) <= certify_synopsis(policy, synopsis, Fraction(1)).epsilon


def test_unequal_steps_fit_theta_better_together() -> None:
    """Steps of 2 and 3 add up to theta = 5; along one axis nothing longer than 4 fits."""
    domain = Domain(
        tuple(Attribute(n, Grid(Fraction(0), Fraction(12), Fraction(step))) for n, step in (("x", 2), ("y", 3)))
    )
    policy = certified_policy(metric_graph(domain, "l1", Fraction(5)))
    synopsis = Synopsis((ramps("x", 7, 2, wide=True, most_units=99), ramps("y", 5, 2, wide=True, most_units=99)))
    one_axis = 2 * Fraction(4, 12) * synopsis.units
    assert one_axis < enumerated(policy, synopsis) <= certify_synopsis(policy, synopsis, Fraction(1)).epsilon


def test_bins_of_whole_blocks_cost_nothing() -> None:
    graph = product_graph(NINE, Blocks((0, 0, 0, 1, 1, 1, 2, 2, 2)), 2)
    axis = parts_of_graph("x", graph.factors[0].graph.components(), 3)
    synopsis = Synopsis((axis, parts_of_graph("y", graph.factors[1].graph.components(), 3)))
    policy = certified_policy(graph)
    assert certify_synopsis(policy, synopsis, Fraction(0)).epsilon == 0 == enumerated(policy, synopsis)
    across = Synopsis((ramps("x", 9, 2, wide=False, most_units=1),))
    assert not certify_synopsis(policy, across, Fraction(0)).finite


def test_a_large_domain_is_no_trouble() -> None:
    domain = Domain(tuple(Attribute(n, Grid(Fraction(0), Fraction(1), Fraction(1, 100))) for n in ("a", "b", "c", "d")))
    policy = certified_policy(metric_graph(domain, "l1", Fraction(1, 4)))
    synopsis = Synopsis(tuple(ramps(name, 101, 3, wide=True, most_units=256) for name in domain.names))
    found = certify_synopsis(policy, synopsis, Fraction(synopsis.units))
    assert found.epsilon == 1  # 2 theta / ramp = 2 * 0.25 / 0.5


@settings(max_examples=100, deadline=None)
@given(graphs(), st.randoms(use_true_random=False))
def test_any_table_to_which_a_record_adds_one_is_covered(graph: SecretGraph, coins: object) -> None:
    policy = certified_policy(graph)
    generator = np.random.default_rng(coins.randrange(2**32))  # type: ignore[attr-defined]
    cells = generator.multinomial(6, [1 / 3] * 3, size=graph.domain.size)
    found = certify_records(policy, graph.domain.names, [Fraction(2)]).epsilon
    values = [graph.domain.value(cell) for cell in range(graph.domain.size)]
    for x in range(len(values)):
        for y in range(x):
            if graph.is_edge(values[x], values[y]):
                assert Fraction(int(np.abs(cells[x] - cells[y]).sum()), 6) / 2 <= found


# -- plan -------------------------------------------------------------------------------------------
# Plans: which method a policy gets, what it costs, and everything that is refused.

UNIT = Grid(Fraction(0), Fraction(1), Fraction(1, 100))


def planned_policy(*graphs: AttributeGraph, at_most: int = 1, absent: bool = False, **more: Any) -> Policy:
    domain = Domain(tuple(Attribute(f"x{i}", Integers(0, g.size - 1)) for i, g in enumerate(graphs)))
    factors = tuple(Factor((a.name,), g) for a, g in zip(domain, graphs, strict=True))
    graph = SecretGraph(domain, factors, at_most, absent, **more)
    return Policy("tiny", domain, graph, Fraction(1), (), "secret" if absent else "public")


def l1(theta: str, columns: int = 4) -> Policy:
    domain = Domain(tuple(Attribute(f"x{i}", UNIT) for i in range(columns)))
    metric = JointMetric("l1", Fraction(theta), domain.shape, (Fraction(0),) * columns, (UNIT.step,) * columns)
    return Policy("t", domain, SecretGraph(domain, (Factor(domain.names, metric),), 1), Fraction(1), (), "public")


POLICIES = {
    "full": planned_policy(Everything(50), Everything(50), at_most=2),
    "attribute": planned_policy(Everything(50), Everything(50)),
    "within": planned_policy(Within(50, 3), Within(50, 3)),
    "l1": l1("1/10"),
    "secret presence": planned_policy(Within(50, 3), Everything(50), absent=True),
    "a block and a line": planned_policy(Blocks((0, 0, 1, 1)), Within(50, 9), at_most=2),
    "blocks, secret presence": planned_policy(Blocks((0, 0, 1, 1)), Public(50), absent=True),
    "rows of one person": Policy(
        "t",
        POINTS := Domain((Attribute("x", Integers(0, 9)),)),
        SecretGraph(POINTS, (Factor(("x",), Everything(10)),), 1, True),
        Fraction(1),
        (),
        key="id",
        rows_per_person=3,
    ),
}


@pytest.mark.parametrize("kind", POLICIES)
@pytest.mark.parametrize("method", ["auto", "synopsis", "refined", "steps"])
@pytest.mark.parametrize("epsilon", ["0.1", "7/3"])
def test_the_budget_is_spent_and_not_overspent(kind: str, method: Any, epsilon: str) -> None:
    plan = plan_kmeans(POLICIES[kind], epsilon, 3, rows=1000, method=method)
    assert plan.epsilon <= Fraction(epsilon)
    # parts of a refined plan may have different worst steps, and then lose less together than each by itself
    assert plan.epsilon == Fraction(epsilon) or method == "refined"
    assert plan.noise > 0 or plan.steps is not None


def test_a_shorter_theta_needs_less_noise() -> None:
    noise = [plan_kmeans(l1(theta), 1, 4, rows=1000).noise for theta in ("1/10", "1/4", "1")]
    assert noise == sorted(noise)
    assert noise[-1] == 2


def test_partitions_are_exact_and_free() -> None:
    for method in ("exact", "auto", "table"):
        plan = plan_kmeans(
            planned_policy(Blocks(tuple(x // 5 for x in range(100))), Public(5), at_most=2), 1, 2, method=method
        )
        assert (plan.method, plan.epsilon, plan.scale) == ("exact", 0, 0)
        assert plan.synopsis is not None
        assert plan.synopsis.shape == (20, 5)


@pytest.mark.parametrize("method", ["auto", "table"])
def test_coarse_blocks_are_cut_with_noise_and_their_totals_are_exact(method: Any) -> None:
    policy = planned_policy(
        Blocks(tuple(x // 50 for x in range(100))), Blocks(tuple(x // 30 for x in range(90))), at_most=2
    )
    plan = plan_kmeans(policy, 1, 4, rows=10_000, method=method)
    assert (plan.method, plan.epsilon) == ("synopsis", 1)
    assert plan.synopsis is not None
    assert plan.totals is not None
    assert plan.totals.shape == (2, 3)
    assert certify_synopsis(policy, plan.totals, Fraction(0)).epsilon == 0
    assert all(fine > coarse for fine, coarse in zip(plan.synopsis.shape, plan.totals.shape, strict=True))
    few = plan_kmeans(policy, "0.01", 4, rows=10, method=method)
    assert (few.method, few.epsilon) == ("exact", 0)  # too few to learn more than the blocks say


def test_totals_stay_exact_where_steps_are_too_many_to_look_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(combinations, "COMBINATION_LIMIT", 1)
    halves = Blocks(tuple(x // 20 for x in range(40)))
    plan = plan_kmeans(planned_policy(*[halves] * 4, at_most=3), 1, 4, rows=10_000, method="synopsis")
    assert plan.epsilon == 1
    assert plan.totals is not None


def test_where_somebody_may_be_absent_no_total_is_exact() -> None:
    plan = plan_kmeans(POLICIES["blocks, secret presence"], 1, 3, rows=1000)
    assert plan.totals is None


def test_a_policy_without_free_tables_cannot_be_exact() -> None:
    with pytest.raises(Refused, match="Fix: use method='auto'"):
        plan_kmeans(POLICIES["full"], 1, 2, method="exact")
    with pytest.raises(Refused, match="exact"):
        plan_kmeans(POLICIES["blocks, secret presence"], 1, 2, method="exact")


def test_many_columns_or_rows_are_clustered_by_steps() -> None:
    policy = planned_policy(*[Everything(101)] * 16, at_most=16)
    assert plan_kmeans(policy, 1, 4, rows=1_000_000).method in ("steps", "refined")
    assert plan_kmeans(POLICIES["full"], 1, 4, rows=1_000).method == "synopsis"
    assert plan_kmeans(POLICIES["full"], 1, 4, rows=1_000_000).method == "refined"


def test_a_synopsis_of_some_columns_is_a_better_beginning_than_none() -> None:
    policy = planned_policy(*[Everything(101)] * 16, at_most=16)
    plan = plan_kmeans(policy, 1, 4, rows=5_000)
    assert plan.method == "refined"
    assert plan.synopsis is not None
    assert 1 in plan.synopsis.shape


def test_cells_without_numbers_are_no_trouble() -> None:
    policy = planned_policy(*[Within(101, 5)] * 16)
    assert plan_kmeans(policy, 1, 4, rows=5_000, method="synopsis").epsilon == 1
    assert plan_kmeans(policy, 1, 4, rows=5_000).epsilon == 1


@pytest.mark.parametrize("graph", [Everything(101), Within(101, 5)])
@pytest.mark.parametrize("at_most", [1, 10, 20])
def test_many_columns_that_change_together_are_priced_exactly(graph: AttributeGraph, at_most: int) -> None:
    policy = planned_policy(*[graph] * 20, at_most=at_most)
    for method in ("soft", "steps", "refined", "auto"):
        assert plan_kmeans(policy, 1, 4, rows=5_000, method=method).epsilon == 1


def test_some_columns_of_many() -> None:
    domain = Domain((Attribute("name", Categories(("a", "b")), other=0), Attribute("x", UNIT), Attribute("y", UNIT)))
    factors = tuple(Factor((a.name,), Everything(a.size)) for a in domain)
    policy = Policy("t", domain, SecretGraph(domain, factors, 3), Fraction(1), (), "public")
    assert plan_kmeans(policy, 1, 3, names=["y", "x"]).names == ("y", "x")
    with pytest.raises(DomainError, match="Fix: name integer or real columns"):
        plan_kmeans(policy, 1, 3)
    with pytest.raises(DomainError, match="did you mean"):
        plan_kmeans(policy, 1, 3, names=["yy", "x"])
    for names in ([], ["x", "x"]):
        with pytest.raises(QueryError, match="Fix: "):
            plan_kmeans(policy, 1, 3, names=names)


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"epsilon": 0}, PolicyError),
        ({"epsilon": -1}, PolicyError),
        ({"epsilon": float("nan")}, PolicyError),
        ({"epsilon": "much"}, PolicyError),
        ({"clusters": 0}, QueryError),
        ({"clusters": -2}, QueryError),
        ({"clusters": 2.5}, QueryError),
        ({"clusters": True}, QueryError),
        ({"clusters": 2501}, QueryError),
        ({"rows": 0}, QueryError),
        ({"rows": 1.5}, QueryError),
        ({"rounds": 0}, QueryError),
        ({"method": "magic"}, QueryError),
    ],
)
def test_bad_arguments(changed: dict[str, Any], error: type[TetraodonError]) -> None:
    given: dict[str, Any] = {"epsilon": 1, "clusters": 3, **changed}
    with pytest.raises(error, match="Fix: "):
        plan_kmeans(POLICIES["full"], given.pop("epsilon"), given.pop("clusters"), **given)


def test_as_many_clusters_as_points_are_allowed() -> None:
    assert plan_kmeans(planned_policy(Everything(3), Everything(2), at_most=2), 1, 6).clusters == 6


KNOWN = {
    "a count": planned_policy(Within(4, 1), Everything(2), known=(Known(CountWhere("x0 > 1")),)),
    "a table": planned_policy(Within(4, 1), Everything(2), known=(Known(Marginal(("x1",))),)),
    "and presence": planned_policy(Everything(3), Public(2), absent=True, known=(Known(Marginal(("x1",))),)),
    "presence alone": planned_policy(Public(4), Public(2), absent=True),
}


@pytest.mark.parametrize("kind", KNOWN)
def test_known_counts_and_presence_alone_are_priced_as_the_oracle_does(kind: str) -> None:
    policy = KNOWN[kind]
    near = oracle.changes(oracle.world(policy.graph, policy.known, 3 if policy.known else 1))
    assert near
    for clusters, epsilon in ((2, 4), (3, 50)):
        plan = plan_kmeans(policy, epsilon, clusters, method="table")
        assert plan.synopsis is not None
        moved = oracle.largest(near, plan.synopsis.query, policy.domain)
        assert plan.certificate.exact
        assert plan.epsilon == moved / plan.scale == epsilon


@pytest.mark.parametrize("method", ["auto", "refined", "steps", "synopsis"])
def test_every_table_that_a_record_adds_one_to_is_priced_where_counts_are_known(method: Any) -> None:
    """A known count of who is far: two records change, so that twice the noise is needed."""
    plain = planned_policy(Within(20, 3), Within(20, 3))
    aware = replace(plain, graph=replace(plain.graph, known=(Known(CountWhere("x0 > 9")),)))
    plan = plan_kmeans(aware, 1, 3, method=method)
    assert 0 < plan.epsilon <= 1
    assert certify_records(aware, aware.domain.names, [Fraction(1)]).epsilon == 4
    assert certify_records(plain, plain.domain.names, [Fraction(1)]).epsilon == 2
    assert (dearer_by(aware, aware.domain.names), dearer_by(plain, plain.domain.names)) == (2, 1)


def test_shares_are_refused_where_counts_are_known() -> None:
    policy = planned_policy(Everything(5), known=(Known(CountWhere("x0 = 1")),))
    with pytest.raises(Refused, match="shares of records are not certified"):
        plan_kmeans(policy, 1, 2, method="soft")


def test_what_is_known_stays_known_where_every_pair_is_taken_for_a_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = planned_policy(Within(6, 1), known=(Known(CountWhere("x0 > 2")),))
    priced, tried = certificates.certify_measurements, []

    def refuses_first(graph: SecretGraph, measured: Any, **rest: Any) -> Any:
        tried.append(graph)
        if len(tried) == 1:
            raise Refused("too many", fix="none")
        return priced(graph, measured, **rest)

    monkeypatch.setattr(certificates, "certify_measurements", refuses_first)
    assert certify_records(policy, ["x0"], [Fraction(1)]).epsilon == 4
    assert [graph.known for graph in tried] == [policy.known] * 2


# -- verified kmeans --------------------------------------------------------------------------------
# Noisy k-means put before the verifier: whatever centres a round starts from, it keeps its part of the epsilon.

LINE = Domain((Attribute("x", Integers(0, 8)),))
ROUNDS = 2


def verified_policy(secrets: Everything | Within, presence: str) -> Policy:
    graph = SecretGraph(LINE, (Factor(("x",), secrets),), 1, absent=presence == "secret")
    return Policy("tiny", LINE, graph, Fraction(1), (), presence)


CASES = {
    "everything": verified_policy(Everything(9), "public"),
    "everything, presence too": verified_policy(Everything(9), "secret"),
    "near": verified_policy(Within(9, 1), "public"),
}


def one_round(steps: Steps, anchor: tuple[int, ...], world: World) -> Additive:
    def asked(dataset: Any) -> tuple[int, ...]:
        codes = np.array([[LINE.codes_of(LINE.cell(r))[0]] for r in dataset if r is not ABSENT], np.int64)
        exact = steps.asked(codes.reshape(-1, 1), np.array(anchor)[:, None], np.ones(1))
        return tuple(exact.ravel().tolist())

    scales = [scale for scale in (steps.count_scale, *steps.sum_scales) for _ in anchor]
    return Additive(asked, tuple(map(DiscreteLaplace, scales)), world)


@pytest.mark.parametrize("name", CASES)
def test_a_round_keeps_its_part_of_the_budget_from_any_centres(name: str) -> None:
    policy = CASES[name]
    steps = plan_steps(policy, ["x"], policy.epsilon, ROUNDS)
    part = policy.epsilon / ROUNDS
    world = World.of_domain(LINE, individuals=1, absent=policy.graph.absent)
    losses = []
    for anchor in itertools.combinations_with_replacement(range(9), 2):
        verdict = verify(one_round(steps, anchor, world), named.blowfish(policy, epsilon=part))
        assert verdict.exact
        assert verdict.holds
        losses.append(verdict.upper)
    if name.startswith("everything"):
        assert max(losses) == part  # and no smaller one


@pytest.mark.parametrize("name", CASES)
def test_a_table_and_the_rounds_that_refine_it_keep_the_budget_together(name: str) -> None:
    policy = CASES[name]
    plan = plan_kmeans(policy, 1, 2, rows=100_000, method="refined")
    assert plan.method == "refined"
    assert plan.synopsis is not None
    assert plan.steps is not None
    world = World.of_domain(LINE, individuals=1, absent=policy.graph.absent)
    rows = plan.synopsis.query.matrix(LINE)[0].tolist()

    def cells(dataset: Any) -> tuple[int, ...]:
        return tuple(sum(row[LINE.cell(r)] for r in dataset if r is not ABSENT) for row in rows)

    table = Additive(cells, tuple(DiscreteLaplace(plan.scale) for _ in rows), world)
    for anchors in itertools.product([(2, 6), (1, 7), (3, 4), (0, 8)], repeat=plan.steps.rounds):
        whole = table
        for anchor in anchors:
            whole = whole.with_(one_round(plan.steps, anchor, world))
        verdict = verify(whole, named.blowfish(policy, epsilon=1))
        assert verdict.exact
        assert verdict.holds
        assert verdict.upper <= plan.epsilon
