"""Allotments by command: set, listed with what is left of each, spent by their owners, and never above the total."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run

KEYS = {"owner", "amount", "spent", "left", "expires", "when"}


@pytest.mark.usefixtures("released")
def test_what_is_allotted_is_listed_with_what_is_left(run: Run, run_json: Callable[..., Any]) -> None:
    assert "Allotments" not in run("ledger", "show").stdout
    made = run_json("ledger", "allot", "people", "ann", "0.5", "--until", "2999-01-01")
    assert set(made) == {"ledger", "dataset", *KEYS}
    assert (made["dataset"], made["amount"], made["spent"], made["left"]) == ("people", "0.5", "0", "0.5")
    assert made["expires"] == "2999-01-01T00:00:00.000000+00:00"
    told = run("ledger", "allot", "people", "bob", "100").stdout
    assert "bob may spend epsilon 100 of people in all; 2 now." in told  # the total wins
    run("ledger", "allot", "people", "cat", "1", "--until", "2020-01-01T12:00:00+02:00")
    (account,) = run_json("ledger", "show")["datasets"]
    assert [set(one) for one in account["allotments"]] == [KEYS] * 3
    assert [(one["owner"], one["left"]) for one in account["allotments"]] == [
        ("ann", "0.5"),
        ("bob", "2"),
        ("cat", "0"),
    ]
    shown = " ".join(run("ledger", "show", "people").stdout.split())
    assert "Allotments of people" in shown
    assert "ann 0.5 0 0.5 2999-01-01 00:00" in shown
    assert "bob 100 0 2 no end" in shown


@pytest.mark.usefixtures("released")
def test_an_owner_spends_their_allotment_and_no_more(run: Run, place: Path, run_json: Callable[..., Any]) -> None:
    def ask(out: str, code: int = 0) -> Any:
        return run("release", "people.policy.yaml", "people.csv", "--owner", "ann", "--out", out, "--json", code=code)

    refused = json.loads(ask("none", 1).stdout)["error"]
    assert "nothing of data set 'people' is allotted to 'ann'" in refused["what"]
    run("ledger", "allot", "people", "ann", "1.5")
    ask("first")
    (one,) = run_json("ledger", "show")["datasets"][0]["allotments"]
    assert (one["amount"], one["spent"], one["left"]) == ("1.5", "1", "0.5")
    assert json.loads(ask("second", 1).stdout)["error"]["type"] == "BudgetExhausted"
    assert not (place / "second").exists()
    assert [e["owner"] for e in run_json("ledger", "show")["datasets"][0]["entries"]] == [None, "ann"]
    assert "ann" in run("ledger", "show").stdout
    run("ledger", "allot", "people", "ann", "0")
    assert run_json("ledger", "show")["datasets"][0]["allotments"][0]["left"] == "0"


@pytest.mark.usefixtures("released")
def test_what_cannot_be_allotted_or_granted(run: Run) -> None:
    run("ledger", "allot", "people", "ann", "--", "-1", code=2)
    run("ledger", "allot", "people", "ann", "much", code=2)
    run("ledger", "allot", "people", "ann", "1", "--until", "soon", code=2)
    run("ledger", "allot", "nobody", "ann", "1", code=1)
    run("ledger", "allot", "people", " ", "1", code=1)
    assert "a file has no roles" in run("ledger", "grant", "analysts", code=1).stderr
