"""A ledger with one open data set, and Python processes that may die."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path

import pytest
from tests.ledger.certificates import FREE

from tetraodon.ledger import Ledger

Started = Callable[..., "subprocess.Popen[str]"]


def at_once(processes: Sequence[subprocess.Popen[str]]) -> list[str]:
    """What processes say that are ready, and then told to go at once; none of them fails."""
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    said = [process.communicate()[0] for process in processes]
    assert [process.returncode for process in processes] == [0] * len(processes)
    return said


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "budget.db"


@pytest.fixture
def item() -> dict[str, object]:
    return {"policy": {"secrets": "all"}, "plan": ["count"], "certificate": FREE}


@pytest.fixture
def ledger(path: Path) -> Iterator[Ledger]:
    with Ledger(path) as opened:
        opened.open("adult", Fraction(1), {"dataset": "adult"})
        yield opened


@pytest.fixture
def start() -> Iterator[Started]:
    """Start a script with arguments; whatever still runs at the end of the test is killed."""
    running: list[subprocess.Popen[str]] = []

    def starting(script: str, *arguments: object) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", script, *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        running.append(process)
        return process

    yield starting
    for process in running:
        if process.poll() is None:
            process.kill()
        process.communicate()
