"""Files are written whole, or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tetraodon.gate import durable
from tetraodon.gate.durable import sync_folder, sync_tree, write_whole


def test_a_file_is_old_or_new_and_never_half(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "state"
    write_whole(path, b"old")

    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    for step in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(durable.os, step, crash)
            with pytest.raises(KeyboardInterrupt):
                write_whole(path, b"new")
        assert path.read_bytes() == b"old"
    write_whole(path, b"new")
    assert path.read_bytes() == b"new"
    assert [found.name for found in tmp_path.iterdir()] == ["state"]


def test_everything_is_put_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "file").touch()
    synced = []
    monkeypatch.setattr(durable.os, "fsync", lambda handle: synced.append(os.fstat(handle).st_ino))
    sync_tree(tmp_path)
    wanted = [tmp_path, tmp_path / "a", tmp_path / "a" / "b", tmp_path / "a" / "b" / "file"]
    assert sorted(synced) == sorted(path.stat().st_ino for path in wanted)
    sync_folder(tmp_path)
    assert synced[-1] == tmp_path.stat().st_ino
