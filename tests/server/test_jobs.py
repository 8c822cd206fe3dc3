"""What runs in processes of its own: strangers' policies name no files, and plans are those of the command line."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.server.conftest import ITEMS, POLICY

import tetraodon as td
from tetraodon.releasing.documents import plan_document
from tetraodon.server.jobs import plan_job, read_job, was_charged


@pytest.mark.parametrize(
    "more", [{"known": [{"table": "secret.csv"}]}, {"public": {"places": "secret.csv"}}], ids=["known", "public"]
)
def test_a_policy_on_the_server_names_no_files(more: dict[str, object]) -> None:
    with pytest.raises(td.PolicyError, match="names no files"):
        read_job(POLICY | more)


def test_a_policy_is_read_as_text_or_as_a_document() -> None:
    text = "dataset: d\nattributes: {x: {integer: [0, 3]}}\nbudget: {epsilon: 1}"
    assert read_job(text)["document"] == td.load_policy(text).document
    assert read_job(POLICY)["promise"][0]["sentences"]
    with pytest.raises(td.PolicyError):
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
