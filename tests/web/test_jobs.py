"""Jobs: untrusted policies name no files, plans equal those of the command line; synthetic rows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.web.conftest import ITEMS, POLICY

import tetraodon as td
from tetraodon.releases.codec import plan_document
from tetraodon.web.jobs import plan_job, read_job, synthetic_rows, was_charged

FILES: dict[str, dict[str, object]] = {
    "known": {"known": [{"table": "FILE"}]},
    "cells": {"together": {"over": ["age", "sex"], "cells": "FILE"}, "secrets": {}},
    "public": {"public": {"places": "FILE"}},
}


@pytest.mark.parametrize("as_text", [False, True], ids=["document", "text"])
@pytest.mark.parametrize("key", FILES)
def test_a_policy_on_the_server_reads_no_file_even_one_that_fits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str, as_text: bool
) -> None:
    """Each key that names a file locally, with a file that the policy could use, and that web process could read."""
    monkeypatch.chdir(tmp_path)
    rows = [f"{age},{sex},{age % 7}" for age in range(20, 60) for sex in ("Female", "Male")]
    Path("fits.csv").write_text("\n".join([f"age,sex,{'block' if key == 'cells' else 'count'}", *rows]))
    for name in ("fits.csv", str(tmp_path / "fits.csv"), f"../{tmp_path.name}/fits.csv"):
        policy = json.loads(json.dumps(POLICY | FILES[key]).replace("FILE", name))
        if name == "fits.csv":
            assert td.load_policy(policy).document  # at home it is read
        with pytest.raises(td.errors.PolicyError, match=r"names no (files|public tables)") as refused:
            read_job(json.dumps(policy) if as_text else policy)
        assert "Fix: " in str(refused.value)


def test_a_policy_is_read_as_text_or_as_a_document() -> None:
    text = "dataset: d\nattributes: {x: {integer: [0, 3]}}\nbudget: {epsilon: 1}"
    assert read_job(text)["document"] == td.load_policy(text).document
    assert read_job(POLICY)["promise"][0]["sentences"]
    with pytest.raises(td.errors.PolicyError):
        read_job("people.policy.yaml")


def test_a_plan_is_that_of_the_library(tmp_path: Path) -> None:
    ledger = str(tmp_path / "ledger.db")
    with td.Ledger(ledger) as book:
        book.open("people", 1, POLICY)
    found = plan_job(td.load_policy(POLICY).document, {"items": ITEMS, "epsilon": "2"}, ledger, 1000)
    mine = plan_document(td.plan(POLICY | {"release": ITEMS}, epsilon=2))
    assert found["plan"]["certificate"] == mine["certificate"]
    assert (found["charge"], found["refusal"]["type"]) == ("2", "BudgetExhausted")
    within = plan_job(td.load_policy(POLICY).document, {"items": ITEMS, "error": 500, "confidence": 90}, ledger, 1)
    assert within["refusal"] is None


def test_whether_it_was_charged_is_asked_of_the_ledger(tmp_path: Path) -> None:
    ledger, out = str(tmp_path / "ledger.db"), tmp_path / "out"
    with td.Ledger(ledger) as book:
        book.open("people", 1, POLICY)
    assert not was_charged(ledger, "people", out)
    pending = tmp_path / ".out.pending"
    pending.mkdir()
    (pending / "intent.json").write_text('{"token": "abc"}')
    assert not was_charged(ledger, "people", out)
    (pending / "intent.json").write_text("{")
    assert was_charged(ledger, "people", out)  # nobody knows, so it was


# -- synthetic rows --------------------------------------------------------------------------------


def test_synthetic_rows_hold_every_kind_of_column_within_its_policy() -> None:
    policy = td.load_policy(
        {
            "dataset": "d",
            "individuals": {"key": "who", "at most": 2},
            "attributes": {
                "n": {"integer": [1, 3]},
                "r": {"real": [0, 1], "step": "0.25"},
                "d": {"date": ["2026-01-01", "2026-01-03"]},
                "c": {"categories": ["a", "b"], "missing": "separate"},
                "b": "boolean",
            },
            "budget": {"epsilon": 1},
        }
    )
    rows = synthetic_rows(policy, 200)
    assert rows == json.loads(json.dumps(synthetic_rows(policy, 200)))
    assert {row["n"] for row in rows} == {1, 2, 3}
    assert {row["r"] for row in rows} == {0, 0.25, 0.5, 0.75, 1}
    assert {row["d"] for row in rows} == {"2026-01-01", "2026-01-02", "2026-01-03"}
    assert {row["c"] for row in rows} == {"a", "b", None}
    assert max(sum(row["who"] == who for row in rows) for who in range(100)) == 2
