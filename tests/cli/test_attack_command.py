"""`tetraodon attack`: the list, a run, JSON, pictures and refusals."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run

from tetraodon.attacks import GALLERY


def test_the_list(run: Run, run_json: Callable[..., Any]) -> None:
    printed = run("attack").stdout
    assert all(one.name in printed for one in GALLERY)
    assert [one["name"] for one in run_json("attack")["attacks"]] == [one.name for one in GALLERY]


def test_a_run_in_text(run: Run) -> None:
    printed = " ".join(run("attack", "brothers").stdout.split())
    assert "What defends: Say in the policy who may be correlated" in printed
    assert "got by the attack 0.771" in printed
    assert "promise kept against independent tuples yes" in printed


def test_a_run_in_json_with_a_picture(run_json: Callable[..., Any], place: Path) -> None:
    told = run_json("attack", "gaussian-tail", "--chart", "tail.svg")
    assert told["attacked"] > 0.9999 > told["allowed"] >= told["defended"]
    assert (told["succeeded"], told["held"]) == (True, True)
    assert (place / "tail.svg").read_text().startswith("<svg")


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        (("brother",), 1),
        (("--chart", "all.svg"), 2),
        (("brothers", "--chart", "picture.png"), 2),
        (("brothers", "--chart", "nowhere/picture.svg"), 2),
    ],
)
def test_refusals(run_json: Callable[..., Any], wrong: tuple[str, ...], code: int) -> None:
    assert run_json("attack", *wrong, code=code)["error"]["fix"]


def test_on_a_release(run: Run, run_json: Callable[..., Any]) -> None:
    """The demonstration's release: what is told exactly is open to those who are not promised anything."""
    run("demo", "--out", "demo")
    told = run_json("attack", "--on", "demo/release")["attackers"]
    assert told[0]["name"] == "promised"
    assert told[0]["epsilon_exact"] == "1"
    assert all(one["key"] for one in told)
    printed = " ".join(run("attack", "--on", "demo/release").stdout.split())
    assert "Who would get more than this release promises" in printed
    assert "membership: has a list of candidates" in printed


def test_on_a_view(run: Run, run_json: Callable[..., Any], place: Path) -> None:
    (place / "town.policy.yaml").write_text(
        "dataset: town\nattributes: {age: {integer: [0, 99]}, ill: ['no', 'yes']}\nbudget: {epsilon: 30}\n"
        "adversary: {prior: {k: 1}, posterior: 0.9, records: 60}\n"
    )
    rows = "".join(f"{n * 37 % 100},{'yes' if n % 3 else 'no'}\n" for n in range(60))
    (place / "town.csv").write_text("age,ill\n" + rows)
    run("ledger", "open", "town.policy.yaml", "--total", "30", "--ledger", "town.db")
    publish = ("publish", "town.policy.yaml", "town.csv", "--ledger", "town.db", "--out", "view", "--accept-exposure")
    run(*publish)
    linked = run_json("attack", "--on", "view", "--knows", "town.csv", "--secret", "ill")["linking"]
    assert (linked["people"], linked["secret"], linked["before"]) == (60, ["ill"], 0.5)
    assert linked["strongest"] > linked["before"]
    assert "What linking finds" in run("attack", "--on", "view", "--knows", "town.csv", "--secret", "ill").stdout
    told = run_json("attack", "--on", "view")["exposure"]
    assert told == json.loads((place / "view/view.json").read_text())["exposure"]
    assert "somebody who has nothing but this view" in " ".join(run("attack", "--on", "view").stdout.split())
    run("attack", "--on", "view", "--secret", "ill", code=2)
    (place / "series").mkdir()
    (place / "view").rename(place / "series/view-1")
    assert "view-1" in run_json("attack", "--on", "series", code=2)["error"]["fix"]


@pytest.mark.parametrize(
    "wrong", [("exam", "--on", "x"), ("--knows", "a.csv"), ("--on", "nowhere"), ("exam", "--secret", "ill")]
)
def test_wrong_use_of_folders(run: Run, wrong: tuple[str, ...]) -> None:
    run("attack", *wrong, code=2)
