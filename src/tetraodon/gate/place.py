"""The output folder: looked at before anything is charged, and put in its place in one step, whole or not at all."""

from __future__ import annotations

import errno
import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from tetraodon.errors import ReleaseError


def sync_folder(folder: Path) -> None:
    """Put the names in a folder on the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_tree(folder: Path) -> None:
    """Put everything in a folder on the disk."""
    for path in folder.rglob("*"):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    sync_folder(folder)


def write_whole(path: Path, content: bytes) -> None:
    """Write a file in one step: whoever looks sees the old one, or none, or the new one."""
    draft = path.with_name(f".{path.name}.draft")
    with draft.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(draft, path)
    sync_folder(path.parent)


RESUME = "then run the same command with --resume: it is charged already, and is not charged again"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a folder goes. `name` is how the caller named it, `manifest` the file by which we know one of ours."""

    path: Path
    name: str
    manifest: str

    @classmethod
    def of(cls, out: Path, manifest: str) -> Place:
        """The place that a caller named, wherever the process goes meanwhile."""
        return cls(Path(os.path.abspath(out)), str(out), manifest)

    @property
    def pending(self) -> Path:
        """The folder beside it in which everything waits until it is written."""
        return self.path.parent / f".{self.path.name}.pending"

    @property
    def real(self) -> str:
        """Its path without links: by it we know whether what waits beside it was begun here."""
        return os.path.realpath(self.path)

    def check(self, *, force: bool) -> None:
        """Refuse early what cannot become ours."""
        if os.path.lexists(self.path) and not self.path.is_dir():
            raise ReleaseError("the output is no folder", fix="choose another folder", where=self.name)
        if not self.path.name:
            raise ReleaseError("the output folder has no name", fix="choose another folder", where=self.name)
        if not self.path.exists():
            return
        if not force:
            raise ReleaseError(
                "the output folder exists", fix="choose another, or pass --force to replace it", where=self.name
            )
        if not (self.path / self.manifest).is_file():
            raise ReleaseError(
                f"the output folder has no {self.manifest}, so it is not replaced",
                fix="choose another folder",
                where=self.name,
            )

    def hash(self) -> str:
        """The hash of the manifest that is here; empty if there is none."""
        try:
            return hashlib.sha256((self.path / self.manifest).read_bytes()).hexdigest()
        except OSError:
            return ""

    def take(self, draft: Path, old: Path, *, replace: bool) -> None:
        """Move a filled folder here. What it may `replace` waits in `old` meanwhile, and comes back if that fails."""
        sync_tree(draft)
        replaced = replace and os.path.lexists(self.path)
        if replaced:
            os.rename(self.path, old)
        try:
            os.rename(draft, self.path)  # fails if there is a folder with something in it
        except OSError:
            if replaced:
                os.rename(old, self.path)
            raise
        sync_folder(self.path.parent)

    def unwritable(self, error: OSError, *, charged: bool) -> ReleaseError:
        """The error for a folder that cannot be written, in words that say what to do."""
        match error.errno:
            case errno.ENOSPC | errno.EDQUOT | errno.EFBIG:
                what, first = "the disk is full", "make room"
            case errno.EEXIST | errno.ENOTDIR if not charged:
                what, first = "a file stands where a folder should be", "move it away"
            case errno.ENOTEMPTY | errno.EEXIST:
                what, first = "another release has taken the output folder", "move it away"
            case _:
                what, first = "the output folder cannot be written", "make its folder writable"
        fix = f"{first}, {RESUME}" if charged else f"{first}, or choose another folder; nothing was charged"
        return ReleaseError(what, fix=fix, where=self.name)
