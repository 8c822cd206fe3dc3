"""What is allotted to whom is listed with what is left of it, which the total may make less."""

from __future__ import annotations

from collections.abc import Callable
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
