"""Opening a data set once, and seeing what is left."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import POLICY, Run


@pytest.mark.usefixtures("released")
def test_the_shape_of_a_ledger(run_json: Callable[..., Any]) -> None:
    found = run_json("ledger", "show", "people")
    assert set(found) == {"ledger", "datasets"}
    (account,) = found["datasets"]
    assert set(account) == {
        "dataset",
        "total",
        "delta",
        "asked",
        "charged",
        "left",
        "policy_sha256",
        "opened",
        "policy",
        "entries",
        "refusals",
        "waves",
        "corrections",
        "allotments",
    }
    assert (account["total"], account["asked"], account["charged"], account["left"]) == ("3", "1", "1", "2")
    (entry,) = account["entries"]
    assert set(entry) == {
        "id",
        "wave",
        "owner",
        "when",
        "asked",
        "charged",
        "delta",
        "rho",
        "composition",
        "state",
        "settled",
        "release_sha256",
        "items",
    }
    assert entry["items"] == ["ages", "losses", "sexes", "spent"]
    assert set(run_json("ledger", "open", "people.policy.yaml", "--total", "3")) == {
        "ledger",
        "key",
        "dataset",
        "total",
        "delta",
        "charged",
        "left",
        "policy_sha256",
        "opened",
    }


def test_terms_are_set_once(run: Run) -> None:
    run("ledger", "open", "people.policy.yaml")
    run("ledger", "open", "people.policy.yaml", "--total", "1.0")
    assert "another total" in run("ledger", "open", "people.policy.yaml", "--total", "1.1", code=1).stderr


def test_a_path_a_url_or_the_environment(run: Run, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run("ledger", "open", "people.policy.yaml", "--ledger", "one.db")
    run("ledger", "open", "people.policy.yaml", "--ledger", "sqlite:///two.db")
    monkeypatch.setenv("TETRAODON_LEDGER", str(place / "three.db"))
    run("ledger", "open", "people.policy.yaml")
    assert {path.name for path in place.glob("*.db")} == {"one.db", "two.db", "three.db"}
    assert "people" in run("ledger", "show").stdout


def test_a_password_is_never_shown(run: Run) -> None:
    url = "postgresql://ann:hunter2@localhost:1/budget"
    for command in (["ledger", "show"], ["ledger", "open", "people.policy.yaml"]):
        assert "hunter2" not in run(*command, "--ledger", url, code=1).output


def test_a_data_set_that_was_never_opened(run: Run) -> None:
    run("ledger", "open", "people.policy.yaml")
    assert "did you mean 'people'?" in run("ledger", "show", "peeple", code=1).stderr
    Path("other.yaml").write_text(POLICY.replace("dataset: people", "dataset: others"))
    assert "was never opened" in run("release", "other.yaml", "people.csv", code=1).stderr


def test_an_exhausted_budget(run: Run, run_json: Callable[..., Any]) -> None:
    run("ledger", "open", "people.policy.yaml")
    run("release", "people.policy.yaml", "people.csv", "--out", "first")
    error = run_json("release", "people.policy.yaml", "people.csv", "--out", "second", code=1)["error"]
    assert error["type"] == "BudgetExhausted"
    assert "0 left of 1" in error["what"]
    assert not Path("second").exists()


def test_a_ledger_with_nothing_in_it_yet(run: Run) -> None:
    run("ledger", "open", "people.policy.yaml")
    shown = run("ledger", "show").stdout
    assert "people" in shown
    assert "Releases of" not in shown


def test_a_data_set_may_be_opened_with_a_delta(run_json: Callable[..., Any], tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    account = run_json(
        "ledger", "open", "people.policy.yaml", "--total", "3", "--delta", "1e-6", "--ledger", str(other)
    )
    assert (account["total"], account["delta"]) == ("3", "0.000001")
