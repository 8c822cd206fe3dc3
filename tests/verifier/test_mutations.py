"""Folders that somebody changed, hashed and signed anew: the verifier finds what `tetraodon verify` finds."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.forger import changed, forge
from tests.verifier.test_package import release
from tetraodon_verify.__main__ import verify

import tetraodon as td

__all__ = ["release"]

UNPROVED = (
    ".ledger.entry",
    ".ledger.when",
    ".date",
    ".software",
    ".expected_error",
    ".baseline_",
    ".errors_together",
    ".inference",
)
"""What the verifier lists as unproved: the numbers of the ledger, stated errors, the program's name."""
WORDS = (".method", ".mechanism", ".labels", ".title", ".notes", ".chain")


@pytest.fixture
def copy(release: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(release, tmp_path / "copy"))


def rejected(folder: Path) -> bool:
    return not verify(folder)


def test_as_it_is_it_holds(release: Path) -> None:
    assert verify(release)
    assert td.verify(release)


def edit(name: str, old: str, new: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        text = (folder / name).read_text("utf-8")
        assert old in text
        (folder / name).write_text(text.replace(old, new, 1), "utf-8")

    return change


def manifest_with(**parts: Any) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        manifest = json.loads((folder / "release.json").read_text("utf-8"))
        (folder / "release.json").write_text(json.dumps({**manifest, **parts}), "utf-8")

    return change


def thousands(folder: Path) -> None:
    """A count that reads as one number with separators, in quotes."""
    path = folder / "answers/ages.csv"
    lines = path.read_text("utf-8").splitlines()
    cells = lines[1].split(",")
    cells[2] = f'"1,00{cells[2]}"'
    path.write_text("\n".join([lines[0], ",".join(cells), *lines[2:]]) + "\n", "utf-8")


def more_rows(folder: Path) -> None:
    path = folder / "answers/ages.csv"
    lines = path.read_text("utf-8").splitlines()
    path.write_text("\n".join([*lines, lines[-1]]) + "\n", "utf-8")


FORGERIES: dict[str, Callable[[Path], None]] = {
    "thousands": thousands,
    "a row more": more_rows,
    "a date to come": manifest_with(date="3026-01-01"),
    "another program": manifest_with(software="sdcMicro 5.7"),
    "less charged": manifest_with(charged="1/2"),
    "a file more": lambda folder: (folder / "notes.txt").write_text("by the way") and None,
    "a file less": lambda folder: (folder / "answers/ages.csv").unlink(),
    "JSON-stat": edit("answers/ages.json", '"value":', '"value": [1], "old":'),
    "no JSON": lambda folder: (folder / "release.json").write_text("[" * 100_000) and None,
    "a link": lambda folder: (
        (folder / "answers/ages.csv").unlink() or (folder / "answers/ages.csv").symlink_to("/etc/hostname")
    ),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_folder_is_rejected_by_both(copy: Path, name: str) -> None:
    FORGERIES[name](copy)
    if name not in ("no JSON", "a link"):
        forge(copy, json.loads((copy / "release.json").read_text("utf-8")))
    assert rejected(copy)
    with contextlib.suppress(td.errors.ReleaseError):  # raised where there is no folder that could be checked
        assert not td.verify(copy)


def test_every_changed_file_is_rejected(copy: Path) -> None:
    for path in sorted(path for path in copy.rglob("*") if path.is_file()):
        content = path.read_bytes()
        path.write_bytes(content + b"x")
        assert rejected(copy), path.name
        path.write_bytes(content)


def test_every_changed_statement_is_rejected_or_unproved(copy: Path) -> None:
    """Each number and word of plan and manifest, with hashes and signature anew, fails or is said to be unproved.

    The policy is left alone: another one that fits is another release.
    """
    manifest = json.loads((copy / "release.json").read_text("utf-8"))
    before, missed = len(verify(copy).unproved), []
    for where, other in changed(manifest):
        if where.startswith((".files", ".policy", ".ledger.key")) or any(part in where for part in (*UNPROVED, *WORDS)):
            continue
        forge(copy, other)
        found = verify(copy)
        if found and len(found.unproved) <= before:
            missed.append(where)
    assert missed == []
