"""One word, `verify`, for a release folder and a view folder."""

from __future__ import annotations

import json
import os
from pathlib import Path

from tetraodon.errors import QueryError
from tetraodon.foreign import read_plain
from tetraodon.ledger.signature import judged, stated_entry
from tetraodon.policy.load import stated_policy
from tetraodon.publishing.folder import stated_plan
from tetraodon.publishing.verify import verify_view
from tetraodon.publishing.view import MANIFEST
from tetraodon.releasing.folder import MANIFEST as RELEASE
from tetraodon.releasing.verify import Check
from tetraodon.releasing.verify import verify as verify_folder


def verify(folder: str | os.PathLike[str], *, key: str | os.PathLike[str] | None = None) -> list[Check]:
    """Check a release or view folder without its data.

    It recomputes every hash and certificate, and says who signed the folder; with `key`, a public key that you trust, a
    file with one or its fingerprint, it must be signed with that; without it, anybody may have made the folder.
    A page that another version wrote fails with `other_version`. Mechanisms are verified against definitions by
    `td.pufferfish.verify`.
    """
    if not isinstance(folder, str | os.PathLike):
        raise QueryError("this is no folder", fix="write td.pufferfish.verify(mechanism, definition) for a mechanism")
    folder = Path(folder)
    view = is_view(folder)
    checks = verify_view(folder) if view else verify_folder(folder)
    return checks + _signature(folder, MANIFEST if view else RELEASE, key)


def is_view(folder: Path) -> bool:
    """Whether a folder says it is a view rather than a release."""
    return os.path.lexists(folder / MANIFEST)


def _signature(folder: Path, name: str, key: str | os.PathLike[str] | None) -> list[Check]:
    """Which entry of a ledger paid for a folder, as it says, and who signed that."""
    content = read_plain(folder / name)
    manifest = json.loads(content)
    asked = stated_plan(manifest).loss if name == MANIFEST else stated_policy(manifest["policy"]).epsilon
    entry = stated_entry(manifest, asked)
    return [*([] if entry is None else [Check(*entry)]), Check(*judged(folder, name, content, key))]
