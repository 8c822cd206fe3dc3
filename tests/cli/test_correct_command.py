"""A mistyped total is corrected by a confirmed command while nothing is released, and both stay on record."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.cli.conftest import POLICY, Run


def test_it_is_told_first_and_done_when_confirmed(run: Run, run_json: Callable[..., Any]) -> None:
    run("ledger", "open", "people.policy.yaml", "--total", "30")
    told = run("ledger", "correct", "people", "--total", "3", code=1).stderr
    assert "the total of people would become 3, and is 30. Fix: if that is right, add --confirm people" in told
    assert run_json("ledger", "show")["datasets"][0]["total"] == "30"
    run("ledger", "correct", "people", "--total", "3", "--confirm", "peeple", code=1)
    assert "is 3 now; it was 30" in " ".join(
        run("ledger", "correct", "people", "--total", "3", "--confirm", "people").stdout.split()
    )
    (account,) = run_json("ledger", "show")["datasets"]
    assert account["total"] == "3"
    assert [(one["total"], one["delta"]) for one in account["corrections"]] == [("3", "0")]
    assert "people: its total was corrected to 3 on" in run("ledger", "show").stdout
    assert run_json("ledger", "audit")["holds"]


def test_what_was_released_from_keeps_its_total(run: Run, run_json: Callable[..., Any]) -> None:
    run("ledger", "open", "people.policy.yaml", "--total", "3")
    found = run_json("ledger", "correct", "people", "--delta", "1e-6", "--confirm", "people")
    assert (found["total"], found["delta"], len(found["corrections"])) == ("3", "0.000001", 1)
    run("release", "people.policy.yaml", "people.csv")
    error = run_json("ledger", "correct", "people", "--total", "9", "--confirm", "people", code=1)["error"]
    assert (error["type"], error["what"]) == ("LedgerError", "'people' was released from already, so its total stands")


def test_nothing_to_correct_is_wrong_use(run: Run) -> None:
    run("ledger", "open", "people.policy.yaml")
    assert "give --total, or --delta" in run("ledger", "correct", "people", code=2).stderr


def test_waves_of_a_population(run: Run, run_json: Callable[..., Any]) -> None:
    for wave in ("jan", "feb"):
        text = POLICY.replace("dataset: people", f"dataset: {wave}\npopulation: panel").replace(
            "epsilon: 1", "epsilon: 0.5"
        )
        Path(f"{wave}.yaml").write_text(text)
    told = " ".join(run("ledger", "open", "jan.yaml", "--total", "2").stdout.split())
    assert "panel is open" in told
    assert "jan and every other data set that names it share this total" in told
    assert "to panel; 1.5 left" in run("release", "jan.yaml", "people.csv", "--out", "one").stdout
    assert "has epsilon 1.5 left of 2" in " ".join(run("plan", "feb.yaml").stdout.split())
    run("release", "feb.yaml", "people.csv", "--out", "two")
    run("release", "feb.yaml", "people.csv", "--out", "three")
    run("verify", "two")
    run("ledger", "audit", "--release", "two")
    (account,) = run_json("ledger", "show", "feb")["datasets"]
    assert (account["dataset"], account["charged"]) == ("panel", "1.5")
    assert account["waves"] == [
        {"dataset": "jan", "releases": 1, "asked": "0.5", "charged": "0.5"},
        {"dataset": "feb", "releases": 2, "asked": "1", "charged": "1"},
    ]
    assert [entry["wave"] for entry in account["entries"]] == ["jan", "feb", "feb"]
    shown = run("ledger", "show").stdout
    assert "Waves of the population panel" in shown
