"""Allotments by command: set, listed with what is left of each, spent by their owners, and never above the total."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run


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
