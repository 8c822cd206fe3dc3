"""Many made-up cases of each kind end in an answer or in a refusal that says what to do."""

from __future__ import annotations

import random
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from scripts.fuzz import cases

from tetraodon.errors import PolicyError

CASES = {"policies": 2000, "questions": 2000, "folders": 2000, "tables": 2000, "plans": 200}
ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("fuzzer", CASES)
def test_nothing_is_found(fuzzer: str) -> None:
    """In a process of its own: it forks, which only a process without threads can do."""
    command = [sys.executable, "-m", f"scripts.fuzz.{fuzzer}", "--cases", str(CASES[fuzzer])]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    told = re.match(r"(\d+) cases: (\d+) answered, (\d+) refused, 0 found", done.stdout)
    assert told, done.stdout
    every, answered, refused = map(int, told.groups())
    assert every == answered + refused == CASES[fuzzer]
    assert min(answered, refused) >= every // 100, "cases of both kinds, or the fuzzer is blind"


def hungry(dice: random.Random, folder: Path) -> object:  # noqa: ARG001
    return bytearray(600_000_000).find(b"x")


def slow(dice: random.Random, folder: Path) -> object:  # noqa: ARG001
    while True:
        time.process_time()


def broken(dice: random.Random, folder: Path) -> object:  # noqa: ARG001
    raise ZeroDivisionError


def dead(dice: random.Random, folder: Path) -> object:  # noqa: ARG001
    raise SystemExit


def refusing(dice: random.Random, folder: Path) -> object:  # noqa: ARG001
    raise PolicyError("no", fix="do something else")


def waiting(dice: random.Random, folder: Path) -> object:  # noqa: ARG001
    time.sleep(60)
    return None


@pytest.mark.parametrize(
    ("case", "patience", "what"),
    [
        (hungry, 60, "MB"),
        (slow, 60, "more than"),
        (broken, 60, "ZeroDivisionError"),
        (dead, 60, "SystemExit"),
        (waiting, 1, "the process died with -9"),
    ],
)
def test_what_is_not_fine_is_found(
    case: cases.Case, patience: float, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cases, "SECONDS", 0.5)
    monkeypatch.setattr(cases, "PATIENCE", patience)
    [finding] = cases.run_cases(case, 1).findings
    assert what in finding.what


def test_refusals_are_fine() -> None:
    assert cases.run_cases(refusing, 3) == cases.Outcome(0, 3, ())


def test_a_case_is_made_again_by_its_number() -> None:
    def case(dice: random.Random, folder: Path) -> object:
        (folder / "x").write_text("x")
        if dice.random() < 0.1:
            raise ZeroDivisionError
        return None

    found = cases.run_cases(case, 50, seed=3).findings
    assert found
    assert cases.run_cases(case, 50, seed=3).findings == found
    assert all(random.Random(f"3:{finding.number}").random() < 0.1 for finding in found)
