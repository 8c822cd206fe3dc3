"""`tetraodon attack`: the list, a run, JSON, pictures and refusals."""

from __future__ import annotations

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
    assert "What defends: Say who may be correlated" in printed
    assert "got by the attack 0.771" in printed
    assert "promise kept against independent tuples yes" in printed


def test_a_run_in_json_with_a_picture(run_json: Callable[..., Any], place: Path) -> None:
    told = run_json("attack", "gaussian-tail", "--chart", "tail.svg")
    assert told["attacked"] > 13_000 > told["allowed"] >= told["defended"]
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
