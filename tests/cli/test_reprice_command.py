"""`tetraodon ledger reprice`, from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import tetraodon as td
from tetraodon.cli.main import app

POLICY = """
dataset: small
presence: public
attributes: {age: {integer: [0, 9]}}
secrets: {age: {within: 1}}
budget: {epsilon: 1}
release: [{name: ages, histogram: age}]
"""


@pytest.fixture
def book(tmp_path: Path) -> str:
    (tmp_path / "first.yaml").write_text(POLICY)
    (tmp_path / "other.yaml").write_text(POLICY + "known: [{count: age <= 4}]\n")
    policy = td.load_policy(tmp_path / "first.yaml")
    path = tmp_path / "ledger.db"
    with td.Ledger(path) as ledger:
        ledger.open("small", 2, policy.document)
    return str(path)


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["ledger", "reprice", *arguments])
    assert result.exit_code == 0, result.output
    return result.output


def test_before_any_release(book: str, tmp_path: Path) -> None:
    assert "Nothing has been released" in run("--policy", str(tmp_path / "other.yaml"), "--ledger", book)


def test_a_count_that_has_become_known_multiplies_the_price(book: str, tmp_path: Path) -> None:
    import polars as pl

    policy = td.load_policy(tmp_path / "first.yaml")
    with td.Ledger(book) as ledger:
        td.release(td.plan(policy), pl.DataFrame({"age": [1, 2, 7]}), ledger=ledger)
    told = run("--policy", str(tmp_path / "other.yaml"), "--ledger", book)
    assert "charged 1, and under this policy it has lost 8" in " ".join(told.split())
    document = json.loads(run("--policy", str(tmp_path / "other.yaml"), "--ledger", book, "--json"))
    assert (document["charged"], document["repriced"], document["added_up"]) == ("1", "8", "8")
    assert document["releases"][0]["items"] == ["ages"]
