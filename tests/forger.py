"""Somebody who changes a folder, states every hash anew and signs it with a key of their own."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tetraodon.ledger import document_hash
from tetraodon.ledger.signing import Signer
from tetraodon.releases.folder import file_hash

STRANGER = Signer(Ed25519PrivateKey.from_private_bytes(bytes(32)))


def forge(folder: Path, manifest: dict[str, Any]) -> None:
    """Give a folder another manifest, with the hashes of its files and policy as they are, signed by a stranger."""
    name = "view.json" if (folder / "view.json").exists() else "release.json"
    if isinstance(manifest.get("files"), dict):
        manifest["files"] = {file: file_hash(folder / file) for file in manifest["files"] if (folder / file).is_file()}
    if "policy" in manifest and "policy_sha256" in manifest:
        manifest["policy_sha256"] = document_hash(manifest["policy"])
    if isinstance(manifest.get("ledger"), dict) and "key" in manifest["ledger"]:
        manifest["ledger"]["key"] = STRANGER.key.fingerprint
    content = (json.dumps(manifest, indent=1, ensure_ascii=False, sort_keys=True) + "\n").encode()
    (folder / name).write_bytes(content)
    signature = {
        "tetraodon_signature": 1,
        "signs": name,
        "algorithm": "Ed25519",
        "public_key": STRANGER.key.text,
        "fingerprint": STRANGER.key.fingerprint,
        "signature": base64.b64encode(STRANGER.sign(content)).decode(),
    }
    (folder / "signature.json").write_text(json.dumps(signature))


def changed(document: Any, where: str = "") -> Iterator[tuple[str, Any]]:
    """A document with each of its parts changed, one at a time: numbers, words, what is there, and what is not."""
    if isinstance(document, dict):
        yield f"{where} + a key", {**document, "more": 1}
        for key, part in document.items():
            yield f"{where}.{key} removed", {name: one for name, one in document.items() if name != key}
            for place, other in changed(part, f"{where}.{key}"):
                yield place, {**document, key: other}
    elif isinstance(document, list):
        yield f"{where} + an element", [*document, document[-1] if document else 1]
        for number, part in enumerate(document):
            yield f"{where}[{number}] removed", document[:number] + document[number + 1 :]
            for place, other in changed(part, f"{where}[{number}]"):
                yield place, [*document[:number], other, *document[number + 1 :]]
    else:
        yield from ((where, other) for other in _others(document))


def _others(leaf: Any) -> list[Any]:
    if isinstance(leaf, bool) or leaf is None:
        return [not leaf]
    if isinstance(leaf, int):
        return [leaf + 1, leaf - 1]
    if isinstance(leaf, float):
        return [leaf * 1.0001 + 1e-9]
    return [f"{leaf}x", *([f"{leaf[:-1]}{(int(leaf[-1]) + 1) % 10}"] if leaf[-1:].isdecimal() else [])]
