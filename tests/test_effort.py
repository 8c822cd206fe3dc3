"""The steps that one plan may compare are counted, and a refusal ends the outermost call."""

from __future__ import annotations

import pytest

import tetraodon as td
from tetraodon.errors import Refused, TooMuchWork
from tetraodon.exact.effort import EFFORT, bounded_effort, spend

TIED = {
    "dataset": "d",
    "attributes": {name: {"integer": [0, 29]} for name in "xy"},
    "budget": {"epsilon": 1},
    "release": [{"name": "h", "count": "x < y"}],
}


@bounded_effort
def nested(steps: list[int]) -> None:
    if steps:
        spend(steps[0])
        nested(steps[1:])


def test_nested_calls_share_one_bound_and_later_calls_begin_anew() -> None:
    half = EFFORT // 2
    for _ in range(3):
        nested([half, half])
    with pytest.raises(TooMuchWork, match=r"steps between records.*Fix:"):
        nested([half, half, 1])
    spend(10 * EFFORT)  # outside of a bounded call nothing is counted


def test_it_is_no_refusal_that_a_planner_may_step_over() -> None:
    assert not issubclass(TooMuchWork, Refused)
    assert TooMuchWork.__name__ in td.errors.__all__


def test_a_plan_that_would_compare_too_many_steps_is_refused_with_what_to_change(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert td.plan(TIED).epsilon == 1
    monkeypatch.setattr("tetraodon.exact.effort.EFFORT", 100)
    with pytest.raises(TooMuchWork, match="Fix: ask for fewer items at once, use coarser attributes"):
        td.plan(TIED)
