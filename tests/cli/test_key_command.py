"""The public key, as a file and as a fingerprint."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.cli.conftest import Run

from tetraodon.ledger.signing import public_key


def test_the_key_can_go_to_a_file(run: Run, run_json: Callable[..., Any], place: Path) -> None:
    opened = run_json("ledger", "open", "people.policy.yaml")
    found = run_json("ledger", "key")
    assert set(found) == {"ledger", "fingerprint", "public_key", "pem", "signs", "why_not", "earlier"}
    assert (found["fingerprint"], found["signs"], found["earlier"]) == (opened["key"], True, [])
    told = run("ledger", "key")
    assert public_key(told.stdout).fingerprint == found["fingerprint"]
    assert found["fingerprint"][:4] + " " in told.stderr
    assert (place / "tetraodon.key").stat().st_mode & 0o777 == 0o600


def test_a_lost_key_is_told_and_replaced(run: Run, run_json: Callable[..., Any], place: Path) -> None:
    old = run_json("ledger", "open", "people.policy.yaml")["key"]
    run("ledger", "key", "--new", code=1)
    (place / "tetraodon.key").unlink()
    assert "NOT signed" in run("ledger", "key").stdout
    assert "not there" in run_json("ledger", "key")["why_not"]
    found = run_json("ledger", "key", "--new")
    assert (found["earlier"], found["signs"], found["fingerprint"] != old) == ([old], True, True)


def test_without_a_ledger_there_is_no_key(run: Run) -> None:
    run("ledger", "key", code=1)
