"""The output folder, written whole or not at all, and what is kept beside it until then.

`.NAME.pending/` is ours alone while we hold the lock on its file `lock`. In it, in the order of their coming:

intent.json   written before the charge: a random token, which the ledger's entry has too; so the ledger can be asked
              whether the charge was made, whenever we were killed. And the path of the output: a copy of this folder
              elsewhere could be drawn a second time for one charge
drawn/        the noisy numbers, on the disk before anything of them is published. They are put there in one step, and
              never replaced: numbers are drawn once for one charge
draft/        the output folder while it is filled
digest        the hash of its manifest, before it is moved to its place: by it we know our own again
old/          what was in its place, until the new one is there

Version 0.1 wrote `reservation.json` after the charge, and `measured.npz` beside it.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tetraodon.errors import ReleaseError

# -- place ------------------------------------------------------------------------------------------
# The output folder: looked at before anything is charged, and put in its place in one step, whole or not at all.


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
class OutputFolder:
    """Where a folder goes. `name` is how the caller named it, `manifest` the file by which we know one of ours."""

    path: Path
    name: str
    manifest: str

    @classmethod
    def of(cls, out: Path, manifest: str) -> OutputFolder:
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


# -- resume -----------------------------------------------------------------------------------------

INTENT, LOCK, DRAWN, DRAFT, DIGEST, OLD = "intent.json", "lock", "drawn", "draft", "digest", "old"
INTENT_0_1, DRAWN_0_1 = "reservation.json", "measured.npz"
DRAWING = "drawing"
TRIES = 100


@dataclass(frozen=True, slots=True)
class Pending:
    """The folder of one output, locked. `made` are the folders above it that were made for it."""

    place: OutputFolder
    handle: int
    made: tuple[Path, ...] = field(default=())

    @property
    def folder(self) -> Path:
        return self.place.pending

    @classmethod
    def enter(cls, place: OutputFolder) -> Pending:
        """Make the folder, try that it can be written, and lock it. Refused while somebody else has it.

        Why  whoever ends removes the file that we may be waiting for; so it is looked at again once it is locked.
        """
        try:
            made = _make(place.pending)
            for _ in range(TRIES):
                with suppress(FileNotFoundError):  # removed by whoever ended meanwhile
                    place.pending.mkdir(mode=0o700, exist_ok=True)
                    handle = os.open(place.pending / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
                    if _locked(handle, place) and _same(handle, place.pending / LOCK):
                        os.pwrite(handle, b"tetraodon\n", 0)
                        os.fsync(handle)
                        return cls(place, handle, made)
                    os.close(handle)
        except OSError as error:
            raise place.unwritable(error, charged=False) from None
        if not place.pending.is_dir():  # it cannot be made here
            raise place.unwritable(FileNotFoundError(), charged=False)
        raise _taken(place)

    def leave(self) -> None:
        """Let go of the lock."""
        os.close(self.handle)

    def intent(self) -> dict[str, Any] | None:
        """What was about to be charged, or None if nothing was."""
        for name in (INTENT, INTENT_0_1):
            path = self.folder / name
            if os.path.lexists(path):
                try:
                    document = json.loads(path.read_text(encoding="utf-8"))
                except (OSError, ValueError, RecursionError):
                    document = None
                if not isinstance(document, dict):
                    raise self.unreadable()
                return document
        if self.drawn is not None:
            raise self.unreadable()
        return None

    def begin(self, intent: dict[str, Any]) -> None:
        """Note what is about to be charged; on the disk before it is."""
        try:
            write_whole(self.folder / INTENT, json.dumps(intent).encode())
        except OSError as error:
            raise self.place.unwritable(error, charged=False) from None

    @property
    def drawn(self) -> Path | None:
        """The folder with the numbers that were drawn, if they were."""
        if (self.folder / DRAWN).is_dir():
            return self.folder / DRAWN
        return self.folder if (self.folder / DRAWN_0_1).exists() else None

    def keep(self, write: Callable[[Path], object]) -> Path:
        """Put numbers on the disk, all or none; refused if there are some."""
        drawing, drawn = self.folder / DRAWING, self.folder / DRAWN
        try:
            _remove(drawing)
            drawing.mkdir()
            write(drawing)
            sync_tree(drawing)
            os.rename(drawing, drawn)  # fails if there are numbers already
            sync_folder(self.folder)
        except OSError as error:
            raise self.place.unwritable(error, charged=True) from None
        return drawn

    def draft(self) -> Path:
        """An empty folder to be filled."""
        draft = self.folder / DRAFT
        _remove(draft)
        draft.mkdir()
        draft.chmod(0o755)
        return draft

    def note(self, digest: str) -> None:
        """Note the hash of the manifest of what is about to be moved to its place."""
        write_whole(self.folder / DIGEST, digest.encode())

    def noted(self) -> str:
        """The hash that was noted; empty if none was."""
        try:
            return (self.folder / DIGEST).read_text(encoding="utf-8")
        except (OSError, ValueError):
            return ""

    def tidy(self) -> None:
        """Put right what a kill left half done: an old folder comes back if no new one took its place."""
        if os.path.lexists(self.folder / OLD) and not os.path.lexists(self.place.path):
            os.rename(self.folder / OLD, self.place.path)
        for name in (DRAFT, DRAWING, OLD, "draft.npz"):
            _remove(self.folder / name)

    def forget(self) -> None:
        """Remove what was begun, the intent last: as long as it is there, the rest can be understood."""
        for path in self.folder.iterdir():
            if path.name not in (INTENT, INTENT_0_1, LOCK):
                _remove(path)
        for name in (INTENT, INTENT_0_1):
            _remove(self.folder / name)
        sync_folder(self.folder)

    def end(self) -> None:
        """Remove the folder."""
        self.forget()
        _remove(self.folder)

    def undo(self) -> None:
        """Remove the folder, and those above it that were made for it and hold nothing else."""
        self.end()
        for path in self.made:
            with suppress(OSError):
                path.rmdir()

    def unreadable(self) -> ReleaseError:
        """The error for a folder that we did not write, or that was damaged."""
        return ReleaseError(
            "what is left of an interrupted release cannot be read",
            fix="restore it from a backup, or remove it and release again, which is charged again",
            where=str(self.folder),
        )


def _make(folder: Path) -> tuple[Path, ...]:
    """Make the folders above a folder; those that were missing, the innermost first."""
    missing = []
    above = folder.parent
    while not os.path.lexists(above):
        missing.append(above)
        above = above.parent
    folder.parent.mkdir(parents=True, exist_ok=True)
    return tuple(missing)


def _locked(handle: int, place: OutputFolder) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise _taken(place) from None
    return True


def _same(handle: int, path: Path) -> bool:
    return os.path.samestat(os.fstat(handle), os.stat(path))


def _taken(place: OutputFolder) -> ReleaseError:
    return ReleaseError(
        "another process is writing to this folder",
        fix="wait until it ends, or choose another folder",
        where=place.name,
    )


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
