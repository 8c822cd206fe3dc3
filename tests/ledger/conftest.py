"""A ledger with one open data set, and Python processes that may die."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import pytest
from tests.ledger.certificates import FREE

from tetraodon.ledger import Ledger

Started = Callable[..., "subprocess.Popen[str]"]


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
