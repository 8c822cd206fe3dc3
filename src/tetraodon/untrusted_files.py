"""Reading files that somebody else may have written: regular files only, and none before its size is checked.

A folder that somebody sends may hold a pipe that never ends, a link to a file of ours, or a few kilobytes that unfold
to gigabytes. Whatever reads such a folder asks here.
"""

from __future__ import annotations

import json
import math
import os
import stat
from pathlib import Path
from typing import Any

from tetraodon.errors import ReleaseError

JSON_BYTES = 48_000_000
JSON_VALUES = 5_000_000
JSON_LEVELS = 50
"""A manifest of a release of a million answers is far below any of these."""
ENTRIES = 100_000
DEPTH = 4
"""Files and levels of a folder; a release has two levels, a view too."""


def plain_files(folder: Path) -> tuple[str, ...]:
    """Every file below a folder, by its path from there, in order.

    Raises ReleaseError for links, pipes, sockets and devices, which are never opened or followed, and for folders
    that go on without end.
    """
    found: list[str] = []
    waiting = [(folder, 0)]
    seen = 0
    while waiting:
        here, depth = waiting.pop()
        with os.scandir(here) as entries:
            for entry in entries:
                seen += 1
                name = Path(entry.path).relative_to(folder).as_posix()
                if seen > ENTRIES or depth > DEPTH:
                    raise ReleaseError("the folder has too many files", fix="name a release folder", where=str(folder))
                if entry.is_dir(follow_symlinks=False):
                    waiting.append((Path(entry.path), depth + 1))
                elif entry.is_file(follow_symlinks=False):
                    found.append(name)
                else:
                    raise _not_plain(name)
    return tuple(sorted(found))


def empty_folders(folder: Path) -> tuple[str, ...]:
    """Folders below a folder of plain files that hold nothing at all."""
    paths = [path for path in sorted(folder.rglob("*")) if path.is_dir() and not any(path.iterdir())]
    return tuple(path.relative_to(folder).as_posix() for path in paths)


def plain_file(folder: Path, name: str) -> Path:
    """A file of a folder by its name, if it is one and no way to it leads through a link.

    Raises ReleaseError for anything else, FileNotFoundError where nothing is there.
    """
    parts = name.split("/")
    if not all(parts) or {".", ".."} & set(parts) or "\\" in name or "\0" in name:
        raise ReleaseError("a file is named that is not of this folder", fix="ask for a new copy", where=str(folder))
    path = folder
    for place, part in enumerate(parts):
        path = path / part
        mode = path.lstat().st_mode
        if not (stat.S_ISREG(mode) if place == len(parts) - 1 else stat.S_ISDIR(mode)):
            raise _not_plain(name)
    return path


def _not_plain(name: str) -> ReleaseError:
    return ReleaseError(
        "there is something that is no plain file", fix="ask for a copy without links, pipes or devices", where=name
    )


def read_plain(path: Path, *, most: int = JSON_BYTES) -> bytes:
    """The bytes of a plain file of at most so many. Opening a pipe would wait for ever, so none is opened."""
    file = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0))
    try:
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode):
            raise _not_plain(path.name)
        if found.st_size > most:
            raise ReleaseError("the file is too large", fix="ask for a new copy", where=path.name)
        with os.fdopen(os.dup(file), "rb") as stream:
            return stream.read(found.st_size)
    finally:
        os.close(file)


def read_json(path: Path) -> Any:
    """The JSON of a plain file: of bounded size, no key twice, no number that is infinite or none.

    Raises ValueError for anything else that is not JSON, OSError where it cannot be read.
    """
    content = read_plain(path)
    if sum(map(content.count, (b",", b"[", b"{"))) > JSON_VALUES:
        raise ValueError("too many values")
    try:
        found = json.loads(content, object_pairs_hook=_each_once, parse_constant=_no_number, parse_float=_finite)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    _check_levels(found)
    return found


def _check_levels(document: Any) -> None:
    """Refuse what is nested more deeply than anything of ours, level by level, for recursion would end first."""
    level = [document] if isinstance(document, dict | list) else []
    for _ in range(JSON_LEVELS):
        inside = (part.values() if isinstance(part, dict) else part for part in level)
        level = [child for children in inside for child in children if isinstance(child, dict | list)]
        if not level:
            return
    raise ValueError("nested too deeply")


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Programs differ in which of two equal keys they take, so that one file could say two things."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is there twice")
    return found


def _no_number(word: str) -> float:
    raise ValueError(f"{word} is no number")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("a number is infinite")
    return number
