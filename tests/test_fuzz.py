"""Two thousand made-up cases of each kind end in an answer or in a refusal that says what to do."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest
from scripts.fuzz import cases, folders, policies, questions, tables

from tetraodon.errors import PolicyError

CASES = 2000


@pytest.mark.parametrize("fuzzer", [policies, questions, folders, tables], ids=lambda module: module.__name__[13:])
def test_nothing_is_found(fuzzer: object) -> None:
    outcome = cases.run_cases(fuzzer.case, CASES)  # type: ignore[attr-defined]
    assert outcome.findings == ()
    assert outcome.answered + outcome.refused == CASES
    assert min(outcome.answered, outcome.refused) >= CASES // 100, "cases of both kinds, or the fuzzer is blind"


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


@pytest.mark.parametrize(
    ("case", "what"), [(hungry, "MB"), (slow, "more than"), (broken, "ZeroDivisionError"), (dead, "SystemExit")]
)
def test_what_is_not_fine_is_found(case: cases.Case, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cases, "SECONDS", 0.5)
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
