"""JSON documents kept for later readers: one text per document, and one hash per text."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any

from tetraodon.errors import LedgerError

_FIX = (
    "use only mappings with text keys, lists, text, whole or finite numbers, true, false and null; "
    "write an exact amount as text such as '1/3'"
)


def _plain(value: object) -> object:
    """The value in the types that JSON reads back; refuses what JSON would quietly change."""
    if value is None or isinstance(value, (bool, str, int)):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: _plain(part) for key, part in value.items()}
    raise LedgerError("the document holds something that JSON cannot keep", fix=_FIX)


def canonical_text(document: Mapping[str, Any]) -> str:
    """The one text of a document: keys sorted, no spaces.

    Post  equal documents have equal texts, and the text reads back as the document.

    >>> canonical_text({"b": (1, 2), "a": None})
    '{"a":null,"b":[1,2]}'
    """
    if not isinstance(document, Mapping):
        raise LedgerError("the document is not a mapping", fix=_FIX)
    try:
        text = json.dumps(_plain(document), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        text.encode()
    except (ValueError, RecursionError):  # broken text, a giant integer, or a document in itself
        raise LedgerError("the document holds something that JSON cannot keep", fix=_FIX) from None
    return text


def document_hash(document: Mapping[str, Any]) -> str:
    """SHA-256 of the canonical text, in hexadecimal.

    >>> document_hash({"a": 1, "b": 2}) == document_hash({"b": 2, "a": 1})
    True
    """
    return hashlib.sha256(canonical_text(document).encode()).hexdigest()


def document_from_text(text: object) -> dict[str, Any]:
    """The document that was stored as this text.

    >>> document_from_text('{"a":[1]}')
    {'a': [1]}
    """
    try:
        document = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise LedgerError(
            "the ledger holds a document that Tetraodon did not write",
            fix="restore the ledger from a backup",
        )
    return document
