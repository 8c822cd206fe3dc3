"""All comparisons run in one go: one that fails or takes too long is told of, and the next one begins."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.peers import __main__ as peers
from benchmarks.peers.rows import Row, row_of


def fine(quick: bool, folder: Path) -> Iterator[Row]:  # noqa: ARG001
    yield row_of("a thing: error", "tetraodon", [1.0], {})


def slow(quick: bool, folder: Path) -> Iterator[Row]:  # noqa: ARG001
    time.sleep(60)
    yield from ()


def broken(quick: bool, folder: Path) -> Iterator[Row]:  # noqa: ARG001
    raise ZeroDivisionError


def test_what_fails_or_lasts_is_left_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written = []
    monkeypatch.setattr(peers, "TASKS", {"slow": slow, "broken": broken, "fine": fine})
    monkeypatch.setattr(peers, "HOME", tmp_path / "home")
    monkeypatch.setattr(peers, "_write", lambda name, rows: written.append((name, len(rows))))
    monkeypatch.setattr("sys.argv", ["peers", "--limit", "0.3", "slow", "broken", "fine"])
    with pytest.raises(SystemExit, match="1"):
        peers.main()
    told = capsys.readouterr().out
    assert written == [("fine", 1)]
    assert "not measured: slow, broken" in " ".join(told.split())
    assert "ZeroDivisionError" in told


def test_a_wrong_name_measures_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["peers", "nope"])
    with pytest.raises(SystemExit, match="2"):
        peers.main()
