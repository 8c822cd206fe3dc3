"""The keys of a ledger, and what they sign."""

from __future__ import annotations

import base64
import os
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_public_key,
)

from tetraodon.errors import LedgerError
from tetraodon.ledger import Ledger
from tetraodon.ledger.signing import (
    PublicKey,
    ensure_key,
    key_place,
    known_keys,
    make_key,
    named_fingerprint,
    public_key,
    read_key,
    replace_key,
    signer_of,
)

# RFC 8032, section 7.1, test 2.
RAW = bytes.fromhex("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c")
SIGNATURE = bytes.fromhex(
    "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
    "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
)


def test_it_is_the_signature_of_the_standard() -> None:
    key = PublicKey(RAW)
    assert key.signed(b"\x72", SIGNATURE)
    assert not key.signed(b"\x73", SIGNATURE)
    assert not key.signed(b"\x72", SIGNATURE[:-1])
    assert not PublicKey(bytes(32)).signed(b"\x72", SIGNATURE)


def test_others_read_the_key_as_we_write_it() -> None:
    theirs = load_pem_public_key(PublicKey(RAW).pem.encode())
    assert isinstance(theirs, Ed25519PublicKey)
    assert theirs.public_bytes_raw() == RAW
    pem = theirs.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
    assert pem == PublicKey(RAW).pem


def test_a_key_is_named_by_file_text_or_fingerprint(tmp_path: Path) -> None:
    key = PublicKey(RAW)
    (tmp_path / "office.pem").write_text(key.pem)
    given = [key.pem, key.text, key.fingerprint, key.fingerprint.upper(), tmp_path / "office.pem"]
    given.append(":".join(key.fingerprint[place : place + 4] for place in range(0, 64, 4)))
    assert {named_fingerprint(one) for one in given} == {key.fingerprint}
    for wrong in ("", "key", "a" * 63, base64.b64encode(bytes(31)).decode(), tmp_path, "\0", "x" * 5000):
        with pytest.raises(LedgerError, match="neither a public key"):
            named_fingerprint(wrong)
    with pytest.raises(LedgerError, match="no public key"):
        public_key("AAAA")


def test_the_private_half_is_for_its_owner_alone(tmp_path: Path) -> None:
    place = tmp_path / "office.key"
    made = make_key(place)
    assert place.stat().st_mode & 0o777 == 0o600
    read = read_key(place)
    assert read.key == made.key
    assert made.key.signed(b"text", read.sign(b"text"))
    with pytest.raises(LedgerError, match="cannot be written"):
        make_key(place)
    place.chmod(0o640)
    with pytest.raises(LedgerError, match="others may read"):
        read_key(place)


def test_a_key_that_is_none_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "office.key"
    with pytest.raises(LedgerError, match="not there"):
        read_key(place)
    other = generate_private_key(65537, 2048).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    for content, told in ((b"", "cannot be read"), (other, "another kind"), (b"x" * 20_000, "cannot be read")):
        place.write_bytes(content)
        place.chmod(0o600)
        with pytest.raises(LedgerError, match=told):
            read_key(place)
    os.remove(place)
    place.mkdir(mode=0o700)
    with pytest.raises(LedgerError, match="cannot be read"):
        read_key(place)


def test_the_key_is_beside_the_ledger_or_where_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TETRAODON_KEY", raising=False)
    assert [str(key_place(path)) for path in ("a/budget.db", "a/budget", "a/budget.key")] == [
        "a/budget.key",
        "a/budget.key",
        "a/budget.key.key",
    ]
    assert key_place("") is None
    monkeypatch.setenv("TETRAODON_KEY", "vault/office.key")
    assert key_place("") == key_place("a/budget.db") == Path("vault/office.key")


def test_opening_makes_one_key_and_keeps_it(ledger: Ledger, path: Path) -> None:
    (key,) = ledger.keys()
    assert path.with_suffix(".key").stat().st_mode & 0o777 == 0o600
    ledger.open("births", 1, {})
    assert ledger.keys() == (key,)
    assert key.signed(b"text", ledger.signer().sign(b"text"))


def test_a_key_file_that_was_left_is_taken(path: Path) -> None:
    key = make_key(path.with_suffix(".key")).key
    with Ledger(path) as ledger:
        ledger.open("adult", 1, {})
        assert ledger.keys() == (key,)


def test_a_lost_key_signs_nothing_and_a_new_one_takes_its_place(ledger: Ledger, path: Path) -> None:
    (old,) = ledger.keys()
    with pytest.raises(LedgerError, match="cannot be written"):
        ledger.new_key()
    path.with_suffix(".key").unlink()
    with pytest.raises(LedgerError, match="not there"):
        ledger.signer()
    new = ledger.new_key()
    assert ledger.keys() == (old, new)
    assert ledger.signer().key == new
    assert ledger.audit().holds
    path.with_suffix(".key").unlink()
    make_key(path.with_suffix(".key"))
    with pytest.raises(LedgerError, match="does not hold this ledger's key"):
        ledger.signer()


def test_without_a_place_there_is_no_key(ledger: Ledger) -> None:
    with ledger._database.writing() as connection:
        assert len(known_keys(connection)) == 1
        for use in (signer_of, replace_key):
            with pytest.raises(LedgerError, match="TETRAODON_KEY"):
                use(connection, None)
        ensure_key(connection, None)
        assert len(known_keys(connection)) == 1


def test_a_ledger_that_has_none_says_how_to_make_one(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tetraodon.ledger import store

    monkeypatch.setattr(store, "ensure_key", lambda *_: None)  # as a ledger of version 0.1
    with Ledger(path) as ledger:
        ledger.open("adult", 1, {})
        with pytest.raises(LedgerError, match=r"no key.*ledger key --new"):
            ledger.signer()
        assert ledger.new_key() == ledger.signer().key
