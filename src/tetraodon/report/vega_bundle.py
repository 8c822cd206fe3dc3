"""The JavaScript that draws the charts, from vl-convert, kept in the user's cache because making it takes a second."""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
from importlib.metadata import version
from pathlib import Path

FOLDER = "tetraodon"


def vega_bundle() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script without any import.

    Post  what is returned is what vl-convert makes, whether or not it was kept: a copy that is damaged, or that
          somebody else could have changed, is made anew. A folder that cannot be written costs time, nothing else.
    """
    path = cache_folder() / f"vega-{version('vl-convert-python')}.js"
    kept = _kept(path)
    if kept is not None:
        return kept
    import vl_convert

    made: str = vl_convert.javascript_bundle()  # type: ignore[call-arg]  # its stub asks for more than it does
    _keep(path, made.encode())
    return made


def cache_folder() -> Path:
    """Where this user's programs keep what they can make again."""
    root = os.environ.get("XDG_CACHE_HOME", "")
    return Path(root if os.path.isabs(root) else os.path.expanduser("~/.cache")) / FOLDER


def _kept(path: Path) -> str | None:
    try:
        digest = _own_bytes(path.with_suffix(".sha256"))
        content = _own_bytes(path)
        if digest is None or content is None or hashlib.sha256(content).hexdigest().encode() != digest.strip():
            return None
        return content.decode()
    except (OSError, UnicodeDecodeError):
        return None


def _own_bytes(path: Path) -> bytes | None:
    """A file's content, if nobody but its owner, who is us, can write it."""
    with path.open("rb") as file:
        status = os.fstat(file.fileno())
        ours = not hasattr(os, "getuid") or status.st_uid == os.getuid()
        if not ours or (os.name == "posix" and status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)):
            return None
        return file.read()


def _keep(path: Path, content: bytes) -> None:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _replace(path, content)
        _replace(path.with_suffix(".sha256"), hashlib.sha256(content).hexdigest().encode())
    except OSError:
        return


def _replace(path: Path, content: bytes) -> None:
    """Write a file in one step, readable by its owner only."""
    handle, draft = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(draft, path)
    except OSError:
        os.unlink(draft)
        raise
