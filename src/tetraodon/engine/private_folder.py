"""A folder for what must not be left behind: nobody else can read it, and whoever comes next removes it if we cannot.

A process that is killed cannot clean up, and what DuckDB spills is plain data. So each folder holds a file that its
process keeps locked. The lock ends with the process, however it ends, and a folder whose lock is free is nobody's.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import weakref
from contextlib import suppress
from pathlib import Path

PREFIX = "tetraodon-"
LOCK = "lock"


class PrivateFolder:
    """A new folder that only this user can enter (mode 0700), removed by `remove` or at the end of the process.

    >>> folder = PrivateFolder()
    >>> oct(folder.path.stat().st_mode & 0o777)
    '0o700'
    >>> folder.remove()
    >>> folder.path.exists()
    False
    """

    def __init__(self) -> None:
        remove_abandoned()
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX))
        draft = self.path / f"{LOCK}.new"
        handle = os.open(draft, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        fcntl.flock(handle, fcntl.LOCK_EX)
        os.rename(draft, self.path / LOCK)  # once it is seen, it is locked
        self.remove = weakref.finalize(self, _remove, self.path, handle)


def remove_abandoned() -> None:
    """Remove the folders of this user whose processes have ended without doing so."""
    for found in Path(tempfile.gettempdir()).glob(f"{PREFIX}*/{LOCK}"):
        with suppress(OSError):  # locked, or of somebody else, or removed by somebody who was faster
            if found.parent.is_symlink() or found.parent.stat().st_uid != os.getuid():
                continue
            handle = os.open(found, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(found.parent, ignore_errors=True)
            finally:
                os.close(handle)


def _remove(path: Path, handle: int) -> None:
    shutil.rmtree(path, ignore_errors=True)
    os.close(handle)
