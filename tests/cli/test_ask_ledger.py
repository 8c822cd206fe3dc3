"""What a plan says of the ledger, in words and in JSON."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import POLICY, Run

VIEW = """\
dataset: people
presence: public
attributes: {age: {integer: [17, 90]}, sex: [Female, Male], loss: {integer: [0, 500]}}
budget: {epsilon: 20}
adversary: {prior: {d: 0.01}, posterior: 0.5, records: 400}
"""


def flat(run: Run, *arguments: str) -> str:
    return " ".join(run(*arguments).stdout.split())


def test_without_a_ledger_a_plan_says_how_to_open_one(run: Run, run_json: Callable[..., Any], place: Path) -> None:
    assert "Whether the ledger covers it is not known yet. tetraodon.db: there is no ledger here yet. Fix: run" in flat(
        run, "plan", "people.policy.yaml"
    )
    found = run_json("plan", "people.policy.yaml")["ledger"]
    assert "no ledger here" in found.pop("why_not")
    assert set(found.values()) == {None}
    assert not (place / "tetraodon.db").exists()


@pytest.mark.usefixtures("released")
def test_a_plan_that_fits_and_one_that_does_not(run: Run, run_json: Callable[..., Any]) -> None:
    told = flat(run, "plan", "people.policy.yaml")
    assert "It fits the ledger tetraodon.db: people has epsilon 2 left of 3, and this would be charged 1." in told
    assert run_json("plan", "people.policy.yaml")["ledger"] == {
        "ledger": "tetraodon.db",
        "total": "3",
        "left": "2",
        "charge": "1",
        "fits": True,
        "why_not": None,
    }
    told = flat(run, "plan", "people.policy.yaml", "--epsilon", "2.5")
    assert "would refuse this: this release costs epsilon 2.5, and data set 'people' has 2 left of 3. Fix:" in told
    found = run_json("plan", "people.policy.yaml", "--epsilon", "2.5")["ledger"]
    assert (found["charge"], found["fits"]) == ("2.5", False)


@pytest.mark.usefixtures("released")
def test_the_governing_policy_decides(run: Run, run_json: Callable[..., Any], place: Path) -> None:
    (place / "weak.yaml").write_text(POLICY.replace("loss: {within: 10}", "loss: {within: 5}"))
    assert "under the policy that governs the data, which `tetraodon ledger show" in flat(run, "plan", "weak.yaml")
    (place / "none.yaml").write_text(POLICY.replace("loss: {within: 10}", "loss: public"))
    found = run_json("plan", "none.yaml")["ledger"]
    assert (found["charge"], found["fits"]) == (None, False)
    assert "protects something that this release would tell for certain" in found["why_not"]


@pytest.mark.usefixtures("released")
def test_views(run: Run, run_json: Callable[..., Any], place: Path) -> None:
    (place / "view.yaml").write_text(VIEW)
    assert "The ledger tetraodon.db would refuse this: this release costs epsilon" in flat(run, "plan", "view.yaml")
    (place / "both.yaml").write_text(POLICY.replace("epsilon: 1", "epsilon: 20") + VIEW.splitlines()[-1] + "\n")
    found = run_json("plan", "both.yaml")
    assert set(found["view"]["ledger"]) == set(found["ledger"])
    assert not found["view"]["ledger"]["fits"]
