"""The audit in words and in JSON, and what a noted hash or a release adds to it."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run


@pytest.mark.usefixtures("released")
def test_a_ledger_that_holds(run: Run, run_json: Callable[..., Any]) -> None:
    found = run_json("ledger", "audit")
    assert set(found) == {"ledger", "holds", "records", "last_hash", "problems"}
    assert (found["holds"], found["records"], found["problems"]) == (True, 4, [])
    told = run("ledger", "audit", "--after", found["last_hash"])
    assert told.exit_code == 0
    assert "is what its chain says: 4 records" in told.stdout
    assert found["last_hash"] in told.stdout


@pytest.mark.usefixtures("released")
def test_what_was_changed_or_rolled_back_is_told(run: Run, place: Path) -> None:
    told = run("ledger", "audit", "--after", "ab" * 32, code=1)
    assert "is not in the chain" in " ".join(told.stdout.split())
    raw = sqlite3.connect(place / "tetraodon.db")
    raw.execute("DROP TRIGGER entries_fix")
    raw.execute("UPDATE entries SET charged = '0'")
    raw.commit()
    raw.close()
    told = run("ledger", "audit", code=1)
    assert "NOT what it was" in told.stdout
    assert "entry 1" in told.stdout


@pytest.mark.usefixtures("released")
def test_a_release_is_compared(run: Run, place: Path, run_json: Callable[..., Any]) -> None:
    from tetraodon.ledger import Ledger

    chained = Ledger(place / "tetraodon.db").audit().charges[1]
    folder = place / "stated"
    folder.mkdir()
    for entry, told in (
        ({"entry": 1, "chain": chained}, "settled with"),
        ({"entry": 1, "chain": "ff" * 32}, "another ledger paid"),
        ({"entry": 7, "chain": chained}, "another ledger paid"),
        ({"entry": [], "chain": {}}, "another ledger paid"),
    ):
        (folder / "release.json").write_text(json.dumps({"ledger": entry}))
        result = run("ledger", "audit", "--json", "--release", "stated", code=1)
        assert told in json.loads(result.stdout)["problems"][0]
    for content in ("", "[]", "{}", '{"ledger": 3}', "[" * 99999):
        (folder / "release.json").write_text(content)
        run("ledger", "audit", "--release", "stated", code=2)
    run("ledger", "audit", "--release", "nowhere", code=2)
    assert run_json("ledger", "audit")["holds"]


@pytest.mark.usefixtures("released")
def test_the_hash_in_a_report_shows_that_an_older_ledger_was_put_back(
    run: Run, place: Path, run_json: Callable[..., Any]
) -> None:
    older = (place / "tetraodon.db").read_bytes()
    run("release", "people.policy.yaml", "people.csv", "--out", "second")
    text = re.sub("<[^>]+>", " ", (place / "second" / "report.html").read_text(encoding="utf-8"))
    (noted,) = re.findall(r"has the hash ([0-9a-f]{64}) in the ledger", " ".join(text.split()))
    assert noted == json.loads((place / "second" / "release.json").read_text())["ledger"]["chain"]
    run("verify", "second")
    assert run_json("ledger", "audit", "--after", noted, "--release", "second")["holds"]
    (place / "tetraodon.db").write_bytes(older)
    assert run_json("ledger", "audit", "--release", "release")["holds"]  # by itself nothing is amiss with it
    for option in (("--after", noted), ("--release", "second")):
        (told,) = run_json("ledger", "audit", *option, code=1)["problems"]
        assert "is not in the chain: the ledger is older than" in told
