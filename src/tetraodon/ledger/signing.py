"""The keys of a ledger, and the signatures of release folders.

The private half is in a file that only its owner may read, in the usual form (PKCS8 in PEM): next to a ledger that is a
file, `tetraodon.key` next to `tetraodon.db`, or where the environment variable `TETRAODON_KEY` says. The public halves
are among the ledger's tables, and the newest one signs.
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
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tetraodon.errors import LedgerError, TetraodonError
from tetraodon.exact.rational import decimal_text, rational
from tetraodon.ledger.account import dataset_name
from tetraodon.ledger.amount import shown_above

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from tetraodon.ledger import Ledger
    from tetraodon.ledger.account import Reservation


# -- signing ----------------------------------------------------------------------------------------

PLACE: Final = "TETRAODON_KEY"
LONGEST = 10_000
"""Bytes of a key file; a key has some hundred."""
_FINGERPRINT = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class PublicKey:
    """The public half of an Ed25519 key: 32 bytes."""

    raw: bytes

    def __post_init__(self) -> None:
        if len(self.raw) != 32:
            raise LedgerError("this is no public key", fix="give the key that `tetraodon ledger key` prints")

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the key, in hexadecimal: enough to tell keys apart, short enough to print on paper."""
        return hashlib.sha256(self.raw).hexdigest()

    @property
    def text(self) -> str:
        """The key as one line of Base64."""
        return base64.b64encode(self.raw).decode()

    @property
    def pem(self) -> str:
        """The key as other programs read it (SubjectPublicKeyInfo in PEM)."""
        body = base64.b64encode(_PREFIX + self.raw).decode()
        return f"-----BEGIN PUBLIC KEY-----\n{body}\n-----END PUBLIC KEY-----\n"

    def signed(self, message: bytes, signature: bytes) -> bool:
        """Whether the private half made this signature of this message."""
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        try:
            Ed25519PublicKey.from_public_bytes(self.raw).verify(signature, message)
        except (InvalidSignature, ValueError):
            return False
        return True


_PREFIX = bytes.fromhex("302a300506032b6570032100")
"""What comes before the 32 bytes of an Ed25519 key in SubjectPublicKeyInfo (RFC 8410)."""


def public_key(text: str) -> PublicKey:
    """The key that a text holds: PEM, or one line of Base64.

    >>> key = PublicKey(bytes(32))
    >>> public_key(key.pem) == public_key(key.text) == key
    True
    """
    body = re.sub(r"-----(BEGIN|END) PUBLIC KEY-----|\s", "", text)
    try:
        raw = base64.b64decode(body, validate=True)
    except (ValueError, binascii.Error):
        raw = b""
    return PublicKey(raw.removeprefix(_PREFIX) if len(raw) == 44 else raw)


def named_fingerprint(given: str | os.PathLike[str]) -> str:
    """The fingerprint of the key that is named: a file that holds it, its text, or the fingerprint itself."""
    text = os.fspath(given)
    with suppress(OSError, ValueError):
        path = Path(text)
        if path.is_file() and path.stat().st_size <= LONGEST:
            text = path.read_text(encoding="utf-8")
    plain = re.sub(r"[\s:]", "", text).lower()
    if _FINGERPRINT.fullmatch(plain):
        return plain
    try:
        return public_key(text).fingerprint
    except LedgerError:
        raise LedgerError(
            "what was given as a key is neither a public key, nor a file with one, nor a fingerprint",
            fix="give what `tetraodon ledger key` prints, or a file that holds it",
        ) from None


class Signer:
    """The private half of a key."""

    def __init__(self, private: Ed25519PrivateKey) -> None:
        self._private = private
        self.key = PublicKey(private.public_key().public_bytes_raw())

    def sign(self, message: bytes) -> bytes:
        """A signature of a message: 64 bytes."""
        return self._private.sign(message)


def key_place(ledger: str) -> Path | None:
    """Where the private half of a ledger's key is: None for a server's, unless the environment says.

    Pre  `ledger` is the path of a SQLite file, or empty.

    >>> key_place("folder/tetraodon.db").name
    'tetraodon.key'
    """
    if given := os.environ.get(PLACE):
        return Path(given)
    if not ledger:
        return None
    beside = Path(ledger).with_suffix(".key")
    return beside if beside != Path(ledger) else Path(f"{ledger}.key")


def make_key(path: Path) -> Signer:
    """Make a key and put its private half into a new file that only its owner may read."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    private = Ed25519PrivateKey.generate()
    text = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise LedgerError(
            f"the key cannot be written ({error.strerror})",
            fix=f"make its folder writable, or name another file in {PLACE}",
            where=str(path),
        ) from None
    return Signer(private)


def read_key(path: Path) -> Signer:
    """The private half of a key, from its file; refused where others may read it too."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    what, fix = "the key file cannot be read", f"put it back, or name the right file in {PLACE}"
    try:
        found = path.stat()
        if path.is_file() and found.st_mode & 0o077:
            what, fix = "others may read the key file, so it is not used", "take their rights away: chmod 600"
        elif path.is_file() and found.st_size <= LONGEST:
            private = load_pem_private_key(path.read_bytes(), password=None)
            if isinstance(private, Ed25519PrivateKey):
                return Signer(private)
            what = "the key file holds another kind of key"
    except FileNotFoundError:
        what = "the key file is not there"
    except (OSError, ValueError, TypeError, UnsupportedAlgorithm):
        pass
    raise LedgerError(what, fix=fix, where=str(path))


# -- signature --------------------------------------------------------------------------------------
# Whose a folder is: its manifest states the ledger's entry that paid for it, and `signature.json` signs the manifest.
#
# The signature is that of the manifest's bytes, by Ed25519, with the key of the ledger. The manifest has the hash of
# every other file, so one signature covers the whole folder. Anybody can check it, with or without Tetraodon.

SIGNATURE: Final = "signature.json"
STATEMENT: Final = "ledger"
"""The key of a manifest that holds the ledger's entry."""
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
