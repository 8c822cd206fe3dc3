"""Plans keep their budget, choose by expected error, and never see data."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from tests.releases.conftest import POLICY

import tetraodon as td
from tetraodon.releases.least_epsilon import error_bound, plan_for_error


def with_changes(**changes: Any) -> td.Policy:
    return td.load_policy({**POLICY, **changes})


def line(size: int, theta: int | None, query: dict[str, Any], **more: Any) -> td.Policy:
    secrets = {"secrets": {"x": {"within": theta}}} if theta else {}
    return td.load_policy(
        {
            "tetraodon": 1,
            "dataset": "line",
            "presence": "public",
            "attributes": {"x": {"integer": [1, size]}},
            "budget": {"epsilon": 1},
            "release": [{"name": "q", **query}],
        }
        | secrets
        | more
    )


def test_the_whole_release_costs_the_budget_exactly(policy: td.Policy) -> None:
    plan = td.plan(policy)
    assert plan.certificate.epsilon == policy.epsilon
    assert plan.certificate.exact
    assert plan.epsilon <= sum(item.epsilon for item in plan)


def test_typed_numbers_are_exact() -> None:
    policy = with_changes(budget={"epsilon": 0.1})
    assert td.plan(policy).certificate.epsilon == Fraction(1, 10)


def test_a_histogram_of_blocks_is_exact(policy: td.Policy) -> None:
    item = td.plan(policy)["blocks"]
    assert item.mechanism == "exact"
    assert item.epsilon == 0
    assert item.expected_error == 0
    assert item.baseline_error > 0


def test_nothing_is_exact_when_somebody_may_be_absent() -> None:
    plan = td.plan(with_changes(presence="secret"))
    assert all(item.mechanism != "exact" for item in plan)


def test_theta_one_gives_the_ordered_mechanism() -> None:
    """[HMD14] section 7.1: sensitivity 1, and the error of a running count does not depend on the domain."""
    for size in (10, 1000, 100_000):
        item = td.plan(line(size, 1, {"cdf": "x"}))["q"]
        assert item.mechanism == "ordered"
        assert item.scale == 1
        assert item.expected_error < 2**0.5


def test_the_complete_graph_prefers_smoothed_counts_for_running_counts() -> None:
    item = td.plan(line(1000, None, {"cdf": "x"}))["q"]
    assert item.mechanism == "hierarchical"
    assert item.expected_error == item.baseline_error


def test_a_range_drawn_at_random_costs_at_most_four_over_epsilon_squared() -> None:
    """[HMD14] Thm 7.1."""
    item = td.plan(line(4357, 1, {"ranges": "x"}))["q"]
    assert item.expected_error**2 <= 4


def test_presence_costs_and_a_person_with_more_rows_costs_more() -> None:
    known = td.plan(line(10, None, {"histogram": ["x"]}))["q"]
    secret = td.plan(line(10, None, {"histogram": ["x"]}, presence="secret"))["q"]
    keyed = td.plan(line(10, None, {"histogram": ["x"]}, individuals={"key": "id", "at most": 3}))["q"]
    assert known.scale == secret.scale == 2
    assert keyed.scale == 6
    assert known.expected_error < secret.expected_error  # the known total helps


def test_items_on_different_attributes_do_not_compete() -> None:
    """One attribute at a time: no step moves both tables, so each may use the whole budget."""
    release = [{"name": "a", "histogram": ["age"]}, {"name": "i", "histogram": ["income"]}]
    apart = td.plan(with_changes(release=release))
    assert [item.epsilon for item in apart] == [1, 1]
    assert apart.certificate.epsilon == 1
    together = td.plan(with_changes(release=release, together="all at once"))
    assert [item.epsilon for item in together] == [Fraction(1, 2), Fraction(1, 2)]


def test_shares_decide_between_items_that_compete() -> None:
    release = [{"name": "a", "histogram": ["age"], "share": 3}, {"name": "b", "cdf": "age"}]
    first, second = td.plan(with_changes(release=release))
    assert first.epsilon == Fraction(3, 4)
    assert second.epsilon == Fraction(1, 4)


def test_solving_for_the_error() -> None:
    policy = line(10, None, {"histogram": ["x"]})
    plan = plan_for_error(policy, 50, confidence=95)
    assert error_bound(plan["q"], plan.policy, Fraction(95, 100)) <= 50
    slightly_less = td.plan(policy, epsilon=plan.epsilon * Fraction(99, 100))
    assert error_bound(slightly_less["q"], policy, Fraction(95, 100)) > 50


@pytest.mark.parametrize(("error", "confidence"), [(0, 95), (-1, 95), (5, 0), (5, 100), ("x", 95), (float("nan"), 95)])
def test_impossible_errors_are_refused(error: Any, confidence: Any) -> None:
    with pytest.raises(td.errors.PolicyError, match="Fix:"):
        plan_for_error(line(10, None, {"histogram": ["x"]}), error, confidence=confidence)


def test_an_answer_too_long_to_write_is_refused_before_anything_is_made() -> None:
    with pytest.raises(td.errors.Refused, match="numbers"):
        td.plan(line(10**12, 5, {"histogram": ["x"]}))


def test_a_sum_over_a_huge_range_costs_nothing_to_plan() -> None:
    item = td.plan(line(10**12, 5, {"total": "x"}))["q"]
    assert item.scale == 5


def test_nothing_to_release() -> None:
    with pytest.raises(td.errors.PolicyError, match="nothing to release"):
        td.plan(with_changes(release=[]))


def test_items_by_name(policy: td.Policy) -> None:
    plan = td.plan(policy)
    assert len(plan) == len(POLICY["release"])
    with pytest.raises(td.errors.QueryError, match="no item"):
        plan["nobody"]
