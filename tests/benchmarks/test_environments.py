"""A worker answers, fails or takes too long, and then it is gone."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from benchmarks.peers import environments
from benchmarks.peers.environments import Done, Missing, work

WORKER = """
import json, os, pathlib, sys, time
given = json.loads(sys.stdin.read())
pathlib.Path(given["note"]).write_text(str(os.getpid()))
time.sleep(given["sleep"])
if sys.argv[1] == "fail":
    raise ValueError("no such thing")
print("answer: " + json.dumps({"version": "1"}), flush=True)
"""


@pytest.fixture
def note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "workers").mkdir()
    (tmp_path / "workers" / "with_tetraodon.py").write_text(WORKER)
    monkeypatch.setattr(environments, "HERE", tmp_path)
    return tmp_path / "note"


def test_an_answer_comes_with_seconds_and_memory(note: Path) -> None:
    done = work("tetraodon", "answer", note=str(note), sleep=0)
    assert isinstance(done, Done)
    assert (done.answer, done.seconds > 0, done.megabytes > 1) == ({"version": "1"}, True, True)


def test_a_failure_is_told_by_its_last_line(note: Path) -> None:
    assert work("tetraodon", "fail", note=str(note), sleep=0) == Missing("it failed: ValueError: no such thing")


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are not files there")
def test_a_worker_that_takes_too_long_is_gone(note: Path) -> None:
    found = work("tetraodon", "answer", limit=3, note=str(note), sleep=600)
    assert found == Missing("it had not ended after 3 seconds")
    state, tries = Path(f"/proc/{note.read_text()}/stat"), 0
    while _runs(state) and tries < 100:
        time.sleep(0.1)
        tries += 1
    assert not _runs(state)


def _runs(state: Path) -> bool:
    """Whether a process is there and not only waits for being buried by whoever adopted it."""
    try:
        return state.read_text().split()[2] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
