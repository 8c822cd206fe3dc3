"""What version 0.1 wrote still loads, verifies and resumes: a release, a view, a ledger, interrupted releases."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import tetraodon as td

KEPT = Path(__file__).parent / "data" / "0.1"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A copy to work on, with the interrupted releases where they were left."""
    folder = tmp_path / "home"
    shutil.copytree(KEPT, folder)
    for name in ("drawn", "undrawn"):
        (folder / f"{name}.pending").rename(folder / f".{name}.pending")
    return folder


@pytest.mark.parametrize("folder", ["release", "view"])
def test_folders_verify(folder: str) -> None:
    """Their numbers are proved; pages that are worded otherwise now fail as those of another version."""
    wrong = [check for check in td.verify(KEPT / folder) if not check.passed]
    assert {check.what.split()[0] for check in wrong} <= {"report.html", "README.md", "policy.yaml", "the"}
    assert all(check.other_version for check in wrong)


def test_folders_load_and_answer() -> None:
    assert td.load_release(KEPT / "release")["ages"].between(20, 29).value == pytest.approx(60)
    assert td.load_view(KEPT / "view").ask("age < 30")


def test_the_ledger_is_read_and_charged_on(home: Path) -> None:
    with td.Ledger(home / "ledger.db") as book:
        assert [(entry.dataset, entry.state) for entry in book.entries()] == [
            ("people", "settled"),
            ("people", "reserved"),
            ("people", "reserved"),
            ("scores", "settled"),
        ]
        td.release(td.plan(home / "people.policy.yaml"), home / "people.csv", ledger=book, out=home / "next")
        assert book.account("people").charged == 4


@pytest.mark.parametrize("name", ["drawn", "undrawn"])
def test_interrupted_releases_are_finished_at_no_charge(home: Path, name: str) -> None:
    plan = td.plan(home / "people.policy.yaml")
    with td.Ledger(home / "ledger.db") as book:
        td.release(plan, home / "people.csv", ledger=book, out=home / name, resume=True)
        assert book.account("people").charged == 3
        assert sum(entry.state == "settled" for entry in book.entries("people")) == 2
    assert all(check.passed for check in td.verify(home / name))
    assert not (home / f".{name}.pending").exists()


def test_numbers_that_were_drawn_are_the_ones_released(home: Path) -> None:
    with np.load(KEPT / "drawn.pending" / "measured.npz") as kept:
        drawn = {name: kept[name] for name in kept.files}
    plan = td.plan(home / "people.policy.yaml")
    made = td.release(plan, home / "people.csv", ledger=home / "ledger.db", out=home / "drawn", resume=True)
    for name, arrays in made.measured.items():
        for place, array in enumerate(arrays):
            assert np.array_equal(array, drawn[f"{name}/{place}"])
