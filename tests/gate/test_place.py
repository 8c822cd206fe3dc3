"""A place that cannot become ours is refused before anything is charged, and nothing of others is replaced."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from tetraodon.errors import ReleaseError
from tetraodon.gate import Place


def test_what_is_there_already(tmp_path: Path) -> None:
    place = Place.of(tmp_path / "out", "m.json")
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
            Place.of(tmp_path / name, "m.json").check(force=True)
    with pytest.raises(ReleaseError, match="has no name"):
        Place.of(Path("/"), "m.json").check(force=True)


def test_a_folder_is_taken_in_one_step(tmp_path: Path) -> None:
    place, old = Place.of(tmp_path / "out", "m.json"), tmp_path / "old"

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
    place = Place.of(tmp_path / "out", "m.json")
    assert "--resume" in place.unwritable(OSError(number, ""), charged=True).fix
    assert "nothing was charged" in place.unwritable(OSError(number, ""), charged=False).fix
