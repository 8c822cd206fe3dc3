"""`tetraodon publish` and the plan of a view."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run
from tests.views.test_publish import POLICY, people

import tetraodon as td


@pytest.fixture
def view_place(place: Path) -> Path:
    (place / "view.policy.yaml").write_text(json.dumps(POLICY))
    people().write_csv(place / "rows.csv")
    return place


def test_a_view_is_planned_without_data(view_place: Path, run: Run, run_json: Callable[..., Any]) -> None:
    (view_place / "rows.csv").unlink()
    told = run("plan", "view.policy.yaml").stdout
    assert "no data was touched" in told
    assert "1,200 possible tuples" in told
    found = run_json("plan", "view.policy.yaml")
    assert set(found) == {"dataset", "budget", "view"}
    assert found["view"]["channel"]["keep"] == "1413/2500"


def test_a_plan_can_have_answers_and_a_view(view_place: Path, run: Run, run_json: Callable[..., Any]) -> None:
    both = {**POLICY, "release": [{"name": "ages", "histogram": "age"}]}
    (view_place / "view.policy.yaml").write_text(json.dumps(both))
    assert "View of people" in run("plan", "view.policy.yaml").stdout
    assert run_json("plan", "view.policy.yaml")["view"]["tuples"] == 1200


@pytest.mark.usefixtures("view_place")
def test_publishing(run: Run, run_json: Callable[..., Any]) -> None:
    run("ledger", "open", "view.policy.yaml", "--total", "20")
    told = run("publish", "view.policy.yaml", "rows.csv", "--accept-exposure").stdout
    assert "nobody can tell" not in told
    assert "By their own reckoning" in told
    assert "Charged epsilon 2.2191" in told
    assert td.load_view("view").n == 120
    run("publish", "view.policy.yaml", "rows.csv", "--accept-exposure", code=1)  # the folder exists
    found = run_json("publish", "view.policy.yaml", "rows.csv", "--accept-exposure", "--out", "view", "--force")
    keys = {"dataset", "folder", "report", "ledger", "keep", "noise", "rows", "tuples", "charged", "left", "exposure"}
    assert set(found) == keys
    assert (found["keep"], found["tuples"]) == ("1413/2500", 1200)
    assert "a published view" in run("ledger", "show").stdout


@pytest.mark.usefixtures("view_place")
def test_a_policy_without_an_adversary_is_refused(run: Run) -> None:
    run("ledger", "open", "people.policy.yaml", "--total", "20")
    assert "whom a view must withstand" in run("publish", "people.policy.yaml", "people.csv", code=1).stderr


@pytest.mark.usefixtures("view_place")
def test_a_view_is_shown_and_verified(run: Run, run_json: Callable[..., Any]) -> None:
    run("ledger", "open", "view.policy.yaml", "--total", "20")
    run("publish", "view.policy.yaml", "rows.csv", "--accept-exposure")
    assert "What it promises" in run("show", "view").stdout
    keys = {"dataset", "title", "date", "charged", "tuples", "exposure", "n", "m", "channel", "plan"}
    assert set(run_json("show", "view")) == keys
    assert "a view has no items" in run("show", "view", "--item", "ages", code=2).stderr
    assert run_json("verify", "view")["verified"] is True
    assert "an adversary" in run("check", "view.policy.yaml").stdout


def test_what_is_complete_is_said_to_be(view_place: Path, run: Run, run_json: Callable[..., Any]) -> None:
    run("ledger", "open", "view.policy.yaml")
    before = run_json("publish", "view.policy.yaml", "rows.csv", "--accept-exposure")
    told = run("publish", "view.policy.yaml", "rows.csv", "--resume").stdout
    assert f"complete already: nothing was charged now, epsilon {before['charged']} before" in told
    assert run_json("publish", "view.policy.yaml", "rows.csv", "--resume") == before
    assert sorted(path.name for path in view_place.iterdir() if "pending" in path.name) == []


OVER = (
    "budget: the view loses epsilon 2.219163482867, more than the 1 that the policy asks for. "
    "Fix: write `budget: {epsilon: 3}` if that is meant, or a smaller posterior."
)


def test_a_view_over_budget_still_shows_its_errors(view_place: Path, run: Run, run_json: Callable[..., Any]) -> None:
    (view_place / "view.policy.yaml").write_text(json.dumps({**POLICY, "budget": {"epsilon": 1}}))
    told = run("plan", "view.policy.yaml", code=1)
    assert "100% of all" in told.stdout
    assert " ".join(told.stderr.split()) == f"Error: {OVER}"
    found = run_json("plan", "view.policy.yaml", code=1)
    assert set(found) == {"dataset", "budget", "view", "error"}
    assert found["view"]["errors"]
    assert found["error"]["all"] == [OVER]


@pytest.mark.usefixtures("view_place")
def test_a_wanted_error_is_for_items(run: Run) -> None:
    assert " ".join(run("plan", "view.policy.yaml", "--error", "5", code=2).stderr.split()) == (
        "Error: --error finds an epsilon for the items of `release`, and this policy has none. "
        "Fix: leave --error out: the plan of a view says its errors, and `adversary` decides them."
    )
