"""Counts of people agree with each other as those of records do, and their intervals hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.policies import policy_document

import tetraodon as td
from tetraodon.gate.release_transaction import without_ledger
from tetraodon.releases.counting import count
from tetraodon.releases.release import infer
from tetraodon.releases.run import noisy

POLICY: dict[str, Any] = policy_document(
    dataset="visits",
    individuals={"key": "who", "at most": 4},
    attributes={"kind": ["a", "b"]},
    release=[
        {"name": "everybody", "people": "all"},
        {"name": "by_rows", "people": "by rows"},
        {"name": "again", "people": "all"},
        {"name": "kinds", "histogram": "kind"},
    ],
)
TABLE = pl.DataFrame(
    {
        "who": [f"p{n}" for n in range(60) for _ in range(1 + n % 4)],
        "kind": ["ab"[n % 2] for n in range(60) for _ in range(1 + n % 4)],
    }
)


@pytest.mark.parametrize("whole", [True, False])
def test_all_people_are_those_with_each_number_of_rows(whole: bool) -> None:
    """Each of 40 x 6 intervals misses with at most 5%, so that more than 40 miss with less than 1e-9."""
    listed = [item | ({"whole": False} if not whole else {}) for item in POLICY["release"]]
    policy = td.load_policy({**POLICY, "release": listed})
    plan = td.plan(policy)
    assert plan.names == ()
    exact, missed = count(plan, TABLE, policy), 0
    for _ in range(40):
        permit = without_ledger(plan.certificate)
        measured = {item.name: noisy(item, exact[item.name], permit) for item in plan}
        made = infer(plan, measured, "2026-01-01", "1")
        people = {name: made[name].columns["people"] for name in ("everybody", "by_rows", "again")}
        assert people["everybody"][0] == pytest.approx(people["by_rows"].sum())
        assert people["everybody"][0] == pytest.approx(people["again"][0])
        if whole:
            assert all(np.array_equal(column, np.round(column)) and column.min() >= 0 for column in people.values())
        for name, truth in (("everybody", [60]), ("by_rows", [15] * 4), ("again", [60])):
            lower, upper = made[name].columns["lower"], made[name].columns["upper"]
            assert lower.min() >= 0
            missed += int(((lower > truth) | (upper < truth)).sum())
    assert missed <= 40
    assert made.joint_errors.keys() >= {"everybody", "again"}
