"""The output folder: looked at before anything is charged, and put in its place in one step, whole or not at all."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from tetraodon.errors import ReleaseError
from tetraodon.gate import OutputFolder
from tetraodon.gate import output_folder as place_module
from tetraodon.gate.output_folder import sync_folder, sync_tree, write_whole


def test_a_file_is_old_or_new_and_never_half(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "state"
    write_whole(path, b"old")

    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    for step in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(place_module.os, step, crash)
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
    monkeypatch.setattr(place_module.os, "fsync", lambda handle: synced.append(os.fstat(handle).st_ino))
    sync_tree(tmp_path)
    wanted = [tmp_path, tmp_path / "a", tmp_path / "a" / "b", tmp_path / "a" / "b" / "file"]
    assert sorted(synced) == sorted(path.stat().st_ino for path in wanted)
    sync_folder(tmp_path)
    assert synced[-1] == tmp_path.stat().st_ino


def test_what_is_there_already(tmp_path: Path) -> None:
    place = OutputFolder.of(tmp_path / "out", "m.json")
    place.check(force=False)
    place.path.mkdir()
    with pytest.raises(ReleaseError, match="exists"):
        place.check(force=False)
    with pytest.raises(ReleaseError, match=r"no m\.json"):
        place.check(force=True)
    (place.path / "m.json").touch()
    place.check(force=True)


def test_files_and_links_to_nothing_are_no_folders(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for name in ("file", "link"):
        with pytest.raises(ReleaseError, match="no folder"):
            OutputFolder.of(tmp_path / name, "m.json").check(force=True)
    with pytest.raises(ReleaseError, match="has no name"):
        OutputFolder.of(Path("/"), "m.json").check(force=True)


def test_a_folder_is_taken_in_one_step(tmp_path: Path) -> None:
    place, old = OutputFolder.of(tmp_path / "out", "m.json"), tmp_path / "old"

    def draft(text: str) -> Path:
        (tmp_path / "draft").mkdir()
        (tmp_path / "draft" / "m.json").write_text(text)
        return tmp_path / "draft"

    assert place.hash() == ""
    place.take(draft("one"), old, replace=False)
    first = place.hash()
    with pytest.raises(OSError, match="not empty"):
        place.take(draft("two"), old, replace=False)
    assert place.hash() == first
    with pytest.raises(FileNotFoundError):
        place.take(tmp_path / "gone", old, replace=True)
    assert place.hash() == first  # it came back
    place.take(tmp_path / "draft", old, replace=True)
    assert place.hash() not in ("", first)
    assert (old / "m.json").read_text() == "one"


@pytest.mark.parametrize(
    "number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.ENOTEMPTY, errno.EACCES, errno.EROFS]
)
def test_errors_say_what_to_do(tmp_path: Path, number: int) -> None:
    place = OutputFolder.of(tmp_path / "out", "m.json")
    assert "--resume" in place.unwritable(OSError(number, ""), charged=True).fix
    assert "nothing was charged" in place.unwritable(OSError(number, ""), charged=False).fix
