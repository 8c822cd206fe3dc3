"""The manifest of a folder, written and read back: what the folder is, what made it, and a hash of every other file.

Releases and views have one each. A stranger may have written it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, TypeAlias

import tetraodon
from tetraodon.errors import ReleaseError
from tetraodon.foreign import plain_file, read_json

Kind: TypeAlias = Literal["release", "view"]
VERSION = 1
BROKEN = (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError, ZeroDivisionError)
"""What reading a file that somebody else wrote may run into."""


def software() -> str:
    """What made a folder: the same software makes the same pages from the same numbers."""
    drawing, pages = version("vl-convert-python"), version("jinja2")
    return f"tetraodon {tetraodon.__version__} with vl-convert {drawing} and Jinja2 {pages}"


def file_hash(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_manifest(folder: Path, name: str, manifest: Mapping[str, Any]) -> str:
    """Write a manifest; its hash."""
    text = json.dumps(manifest, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
    (folder / name).write_text(text, encoding="utf-8")
    return hashlib.sha256(text.encode()).hexdigest()


def read_manifest(folder: Path, kind: Kind) -> dict[str, Any]:
    """release.json or view.json as plain data, of a version that we know."""
    name = f"{kind}.json"
    try:
        manifest = read_json(plain_file(folder, name))
        made_by = manifest[f"tetraodon_{kind}"]
    except (FileNotFoundError, NotADirectoryError):
        raise ReleaseError(f"there is no {name}", fix=f"name a {kind} folder", where=str(folder)) from None
    except (OSError, ValueError, KeyError, TypeError):
        raise ReleaseError(f"{name} cannot be read", fix="ask for a new copy", where=str(folder)) from None
    if made_by != VERSION:
        raise ReleaseError(f"the {kind} was made by another version", fix="upgrade tetraodon", where=str(folder))
    assert isinstance(manifest, dict)
    return manifest
