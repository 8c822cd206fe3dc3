"""One word, `verify`, for a release folder, a view folder and a mechanism."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, overload

from tetraodon.errors import QueryError
from tetraodon.publishing.verify import verify_view
from tetraodon.publishing.view import MANIFEST
from tetraodon.pufferfish import Definition, Verdict
from tetraodon.pufferfish import verify as verify_mechanism
from tetraodon.releasing.verify import Check
from tetraodon.releasing.verify import verify as verify_folder


@overload
def verify(subject: str | os.PathLike[str]) -> list[Check]: ...


@overload
def verify(subject: Any, definition: Definition, **options: Any) -> Verdict: ...


def verify(subject: Any, definition: Definition | None = None, **options: Any) -> list[Check] | Verdict:
    """Check a release or view folder without its data, or a mechanism against a definition of privacy.

    `verify("release/")` recomputes every hash and certificate. `verify(mechanism, definition)` finds the smallest
    epsilon for which the mechanism keeps the definition, or the attacker who breaks it.
    """
    if definition is not None:
        return verify_mechanism(subject, definition, **options)
    if not isinstance(subject, str | os.PathLike) or options:
        raise QueryError("a mechanism is verified against a definition", fix="write td.verify(mechanism, definition)")
    folder = Path(subject)
    return verify_view(folder) if (folder / MANIFEST).exists() else verify_folder(folder)
