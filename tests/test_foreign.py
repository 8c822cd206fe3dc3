"""Strangers' folders are looked at before they are opened."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from tetraodon import untrusted_files as foreign
from tetraodon.errors import ReleaseError


def put(path: Path, content: bytes = b"x") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def test_files_are_listed_by_their_path(tmp_path: Path) -> None:
    put(tmp_path / "b" / "c.txt")
    put(tmp_path / "a.txt")
    (tmp_path / "empty").mkdir()
    assert foreign.plain_files(tmp_path) == ("a.txt", "b/c.txt")
    assert foreign.empty_folders(tmp_path) == ("empty",)


def link(folder: Path) -> None:
    (folder / "odd").symlink_to("a.txt")


def link_to_a_folder(folder: Path) -> None:
    (folder / "odd").symlink_to("/")


def pipe(folder: Path) -> None:
    os.mkfifo(folder / "odd")


def plug(folder: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        here = os.open(folder, os.O_RDONLY)  # the path itself may be longer than the name of a socket can be
        try:
            made.bind(f"/proc/self/fd/{here}/odd")
        finally:
            os.close(here)


odd = pytest.mark.parametrize("make", [link, link_to_a_folder, pipe, plug])


@odd
def test_what_is_no_plain_file_is_refused_and_never_opened(tmp_path: Path, make: object) -> None:
    put(tmp_path / "a.txt")
    make(tmp_path)  # type: ignore[operator]
    with pytest.raises(ReleaseError, match="no plain file"):
        foreign.plain_files(tmp_path)
    with pytest.raises(ReleaseError, match="no plain file"):
        foreign.plain_file(tmp_path, "odd")
    with pytest.raises((ReleaseError, OSError)):
        foreign.read_plain(tmp_path / "odd")


def test_no_way_through_a_link(tmp_path: Path) -> None:
    put(tmp_path / "outside" / "a.txt")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "sub").symlink_to(tmp_path / "outside")
    with pytest.raises(ReleaseError, match="no plain file"):
        foreign.plain_file(tmp_path / "in", "sub/a.txt")


@pytest.mark.parametrize("name", ["../a.txt", "/etc/hosts", "", ".", "b/../../a.txt", "b//a", "b\\a", "a\0"])
def test_names_stay_inside(tmp_path: Path, name: str) -> None:
    with pytest.raises(ReleaseError, match="not of this folder"):
        foreign.plain_file(tmp_path, name)


def test_what_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        foreign.plain_file(tmp_path, "a.txt")


def test_a_folder_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path / "a" / "b" / "c" / "d" / "e" / "f" / "g")
    with pytest.raises(ReleaseError, match="too many files"):
        foreign.plain_files(tmp_path)
    monkeypatch.setattr(foreign, "ENTRIES", 2)
    with pytest.raises(ReleaseError, match="too many files"):
        foreign.plain_files(tmp_path / "a" / "b" / "c")


def test_a_large_file_is_not_read(tmp_path: Path) -> None:
    with put(tmp_path / "a.json").open("wb") as file:
        file.truncate(foreign.JSON_BYTES + 1)
    with pytest.raises(ReleaseError, match="too large"):
        foreign.read_plain(tmp_path / "a.json")


def test_json_is_read(tmp_path: Path) -> None:
    assert foreign.read_json(put(tmp_path / "a.json", b'{"a": [1, 2.5, null]}')) == {"a": [1, 2.5, None]}
    assert foreign.read_json(put(tmp_path / "a.json", b"7")) == 7


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff",
        b"[" * 100_000,
        b"[" * 60 + b"]" * 60,
        b'{"a": ' * 70 + b"1" + b"}" * 70,
        b"[1e999999999]",
        b"[NaN]",
        b"[-Infinity]",
        b'{"a": 1, "a": 2}',
        b"9" * 10_000,
        b"[" + b"0," * (foreign.JSON_VALUES + 1) + b"0]",
    ],
    ids=lambda content: repr(content[:12]),
)
def test_json_that_nobody_would_have_written(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(ValueError, match=r".*"):
        foreign.read_json(put(tmp_path / "a.json", content))
