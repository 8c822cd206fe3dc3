"""Whose a folder is: its manifest states the ledger's entry that paid for it, and `signature.json` signs the manifest.

The signature is that of the manifest's bytes, by Ed25519, with the key of the ledger. The manifest has the hash of
every other file, so one signature covers the whole folder. Anybody can check it, with or without Tetraodon.
"""

from __future__ import annotations

import base64
import binascii
import datetime as dt
import hashlib
import json
import os
import re
import stat
from collections.abc import Mapping
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tetraodon.errors import LedgerError, TetraodonError
from tetraodon.ledger.account import dataset_name
from tetraodon.ledger.amount import shown_above
from tetraodon.ledger.signing import LONGEST, PublicKey, Signer, named_fingerprint, public_key
from tetraodon.rational import decimal_text, rational

if TYPE_CHECKING:
    from tetraodon.ledger.account import Reservation
    from tetraodon.ledger.store import Ledger

SIGNATURE: Final = "signature.json"
STATEMENT: Final = "ledger"
"""The key of a manifest under which the ledger's entry stands."""
VERSION: Final = 1
_KEYS = {"entry", "dataset", "when", "asked", "charged", "delta", "chain", "key"}
_HASH = re.compile(r"[0-9a-f]{64}")
_BROKEN = (KeyError, TypeError, ValueError, AttributeError, RecursionError, ZeroDivisionError, binascii.Error)


def stamp(folder: Path, manifest: str, ledger: Ledger, reservation: Reservation) -> str:
    """State in a folder's manifest which entry of the ledger paid for it, and sign it; the hash of the manifest.

    Pre   the folder is whole but for this, and not published yet.
    Post  without the private half of the ledger's key the folder is unsigned, and its manifest names no key.
    """
    try:
        signer: Signer | None = ledger.signer()
    except LedgerError:
        signer = None
    path = folder / manifest
    document = json.loads(path.read_text(encoding="utf-8"))
    document[STATEMENT] = ledger.statement(reservation) | {"key": signer.key.fingerprint if signer else None}
    content = (json.dumps(document, indent=1, ensure_ascii=False, sort_keys=True) + "\n").encode()
    path.write_bytes(content)
    if signer is not None:
        (folder / SIGNATURE).write_text(_signed(manifest, content, signer), encoding="utf-8")
    return hashlib.sha256(content).hexdigest()


def _signed(manifest: str, content: bytes, signer: Signer) -> str:
    document = {
        "tetraodon_signature": VERSION,
        "signs": manifest,
        "algorithm": "Ed25519",
        "public_key": signer.key.text,
        "fingerprint": signer.key.fingerprint,
        "signature": base64.b64encode(signer.sign(content)).decode(),
    }
    return json.dumps(document, indent=1, sort_keys=True) + "\n"


def judged(folder: Path, manifest: str, content: bytes, key: str | os.PathLike[str] | None) -> tuple[str, bool, str]:
    """Who signed a manifest of these bytes: what is said of it, whether that is as it should be, and the fingerprint.

    Pre   `key` is one that the reader trusts, in any form that `named_fingerprint` takes, or None.
    """
    wanted = None if key is None else named_fingerprint(key)
    stated = _stated_key(content)
    path = folder / SIGNATURE
    if not path.is_symlink() and not path.exists():
        if stated:
            return f"signature: {SIGNATURE} is missing, though {manifest} names a key", False, stated
        said = "signature: unsigned, so that anybody may have written this folder"
        return said, wanted is None, "" if wanted is None else "a key was named"
    signer = _signer(path, manifest, content)
    if signer is None:
        return f"signature: {SIGNATURE} does not sign this {manifest}", False, ""
    found = signer.fingerprint
    if stated != found:
        return f"signature: {manifest} names another key than the one that signed it", False, found
    if wanted is None:
        return "signature: signed, but by a key that you have not named", True, found
    if wanted != found:
        return "signature: signed by another key than the one that you named", False, found
    return "signature: signed by the key that you named", True, found


def stated_entry(manifest: Mapping[str, Any], asked: Fraction) -> tuple[str, bool, str] | None:
    """Whether what a manifest says of its entry fits the rest of it; None where it says nothing, as in version 0.1.

    `asked` is what its plan asks a ledger for. It asks for a delta too if its certificate has one.
    """
    if STATEMENT not in manifest:
        return None
    what = "the ledger's entry fits the manifest"
    try:
        entry = manifest[STATEMENT]
        amounts = {name: rational(entry[name]) for name in ("asked", "charged", "delta")}
        charged, delta = amounts["charged"], amounts["delta"]
        population = {"population"} if "population" in manifest.get("policy", ()) else set()
        good = entry.keys() == _KEYS | population and entry["dataset"] == manifest.get("dataset", manifest.get("name"))
        good = good and (not population or entry["population"] == dataset_name(manifest["policy"]["population"]))
        good = good and all(entry[name] == decimal_text(exact) for name, exact in amounts.items())
        good = good and shown_above(charged) == manifest["charged"] and amounts["asked"] == asked
        wants = bool(rational(manifest["plan"].get("certificate", {}).get("delta", 0)))
        good = good and 0 <= delta < 1 and bool(delta) == wants and _HASH.fullmatch(entry["chain"]) is not None
        good = good and has_been(entry["when"]) and entry["when"] <= manifest["date"]
        return what, bool(good and type(entry["entry"]) is int and entry["entry"] > 0), f"entry {entry['entry']}"[:40]
    except (TetraodonError, *_BROKEN):
        return what, False, "it cannot be read"


def has_been(day: str) -> bool:
    """Whether a text is a day, as YYYY-MM-DD, that has been somewhere on earth."""
    with suppress(ValueError):
        found = dt.date.fromisoformat(day)
        return found.isoformat() == day and found <= dt.datetime.now(dt.UTC).date() + dt.timedelta(days=1)
    return False


def stated_hash(manifest: Mapping[str, Any]) -> str:
    """The hash in the ledger's chain that a manifest states; empty where it states none."""
    try:
        return bytes.fromhex(manifest[STATEMENT]["chain"]).hex()
    except _BROKEN:
        return ""


def hash_in_words(chained: str) -> list[str]:
    """What the hash of a charge is for, in a report; nothing where there is none."""
    if not chained:
        return []
    return [
        f"The charge has the hash {chained} in the ledger. It stands for everything that was recorded up to this "
        "charge, and tells nothing of it. Whoever keeps the ledger may be asked to run \u201ctetraodon ledger audit "
        "--after HASH\u201d with it: that fails if any of it was changed since, or if an older copy was put back."
    ]


def _stated_key(content: bytes) -> str:
    try:
        return str(json.loads(content)[STATEMENT]["key"] or "")
    except _BROKEN:
        return ""


def _signer(path: Path, manifest: str, content: bytes) -> PublicKey | None:
    """The key that signed these bytes, if the signature is good."""
    try:
        found = path.lstat()
        if not stat.S_ISREG(found.st_mode) or found.st_size > LONGEST:
            return None
        document = json.loads(path.read_text(encoding="utf-8"))
        key = public_key(document["public_key"])
        signature = base64.b64decode(document["signature"], validate=True)
        said = (document["tetraodon_signature"], document["signs"], document["algorithm"], document["fingerprint"])
    except (OSError, LedgerError, *_BROKEN):
        return None
    good = said == (VERSION, manifest, "Ed25519", key.fingerprint) and len(document) == 6
    return key if good and key.signed(content, signature) else None
