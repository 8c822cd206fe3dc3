"""The folder beside the output: one process at a time, numbers kept once, nothing left of what was not charged."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tetraodon.errors import ReleaseError
from tetraodon.gate import Place
from tetraodon.gate.output_folder import Pending


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place.of(tmp_path / "above" / "out", "m.json")


def test_one_at_a_time(place: Place) -> None:
    mine = Pending.enter(place)
    with pytest.raises(ReleaseError, match="another process"):
        Pending.enter(place)
    script = "import sys; from pathlib import Path; from tetraodon.gate import Place;"
    script += "from tetraodon.gate.output_folder import Pending; Pending.enter(Place.of(Path(sys.argv[1]), 'm.json'))"
    done = subprocess.run([sys.executable, "-c", script, place.path], capture_output=True, text=True, check=False)
    assert "another process is writing to this folder" in done.stderr
    mine.leave()
    Pending.enter(place).leave()


def test_a_lock_on_a_file_that_is_gone_is_no_lock(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever held it has ended and removed the folder between our opening the file and locking it."""
    from tetraodon.gate import output_folder as resume

    lock, first = resume.fcntl.flock, []

    def late(handle: int, how: int) -> None:
        if not first:
            first.append(handle)
            (place.pending / resume.LOCK).unlink()
            place.pending.rmdir()
        lock(handle, how)

    monkeypatch.setattr(resume.fcntl, "flock", late)
    found = Pending.enter(place)
    assert os.path.samestat(os.fstat(found.handle), os.stat(place.pending / resume.LOCK))
    found.leave()


def test_numbers_are_kept_once(place: Place) -> None:
    pending = Pending.enter(place)
    assert pending.drawn is None
    kept = pending.keep(lambda folder: (folder / "numbers").write_text("first"))
    assert pending.drawn == kept
    with pytest.raises(ReleaseError, match="Fix:"):
        pending.keep(lambda folder: (folder / "numbers").write_text("second"))
    assert (kept / "numbers").read_text() == "first"


def test_numbers_that_were_not_all_written_are_none(place: Place) -> None:
    pending = Pending.enter(place)

    def half(folder: Path) -> None:
        (folder / "numbers").write_text("1, 2,")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pending.keep(half)
    assert pending.drawn is None
    pending.keep(lambda folder: (folder / "numbers").write_text("1, 2, 3"))


def test_what_was_in_the_place_comes_back(place: Place) -> None:
    """Killed between moving the old folder away and the new one there."""
    pending = Pending.enter(place)
    (pending.folder / "old").mkdir()
    (pending.folder / "old" / "m.json").write_text("old")
    pending.draft()
    pending.tidy()
    assert (place.path / "m.json").read_text() == "old"
    assert sorted(path.name for path in pending.folder.iterdir()) == ["lock"]


def test_nothing_is_left_of_what_was_not_begun(place: Place) -> None:
    pending = Pending.enter(place)
    pending.begin({"token": "t"})
    assert pending.intent() == {"token": "t"}
    pending.undo()
    pending.leave()
    assert not place.path.parent.exists()


@pytest.mark.parametrize("content", ["", "{", "[]", "\x00"])
def test_what_cannot_be_read_is_refused(place: Place, content: str) -> None:
    pending = Pending.enter(place)
    (pending.folder / "intent.json").write_text(content)
    with pytest.raises(ReleaseError, match="cannot be read"):
        pending.intent()


def test_numbers_without_an_intent_are_refused(place: Place) -> None:
    pending = Pending.enter(place)
    pending.keep(lambda folder: (folder / "numbers").touch())
    with pytest.raises(ReleaseError, match="cannot be read"):
        pending.intent()
