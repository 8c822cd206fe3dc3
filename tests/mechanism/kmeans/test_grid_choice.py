"""How fine a grid is chosen: by the policy, the budget and a number of rows, and in the right direction."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from tetraodon.domain import Attribute, Domain, Grid, Integers
from tetraodon.errors import Refused
from tetraodon.mechanism.kmeans.synopsis import CELL_LIMIT, EXACT_LIMIT, choose_grid, columns_of, finest
from tetraodon.policy.attribute_graph import AttributeGraph, Blocks, Everything, Pairs, Public, Within
from tetraodon.policy.joint_graph import JointMetric
from tetraodon.policy.policy import Policy
from tetraodon.policy.secret_graph import Factor, SecretGraph


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
