"""Keys of a ledger, and signatures of folders."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Callable
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

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
from tests.ledger.certificates import FREE

from tetraodon.errors import LedgerError
from tetraodon.ledger import Ledger
from tetraodon.ledger.charging import Bill
from tetraodon.ledger.signing import (
    SIGNATURE,
    PublicKey,
    judged,
    key_place,
    make_key,
    named_fingerprint,
    public_key,
    read_key,
    stamp,
    stated_entry,
)
from tetraodon.ledger.store import ensure_key, known_keys, replace_key, signer_of

# -- signing ----------------------------------------------------------------------------------------
# The keys of a ledger, and what they sign.


# RFC 8032, section 7.1, test 2.
RAW = bytes.fromhex("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c")
RFC_SIGNATURE = bytes.fromhex(
    "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
    "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
)


def test_it_is_the_signature_of_the_standard() -> None:
    key = PublicKey(RAW)
    assert key.signed(b"\x72", RFC_SIGNATURE)
    assert not key.signed(b"\x73", RFC_SIGNATURE)
    assert not key.signed(b"\x72", RFC_SIGNATURE[:-1])
    assert not PublicKey(bytes(32)).signed(b"\x72", RFC_SIGNATURE)


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


# -- signature --------------------------------------------------------------------------------------
# A folder says who paid and who signed; whatever is changed afterwards is no longer signed.


NAME = "release.json"


@pytest.fixture
def folder(ledger: Ledger, tmp_path: Path) -> Path:
    made = tmp_path / "release"
    made.mkdir()
    today = datetime.now(UTC).date().isoformat()
    manifest = {"dataset": "adult", "charged": "1/3", "title": "Köln", "date": today, "plan": {}}
    (made / NAME).write_text(json.dumps(manifest))
    item = {"policy": {}, "plan": {}, "certificate": FREE}
    reservation = ledger.reserve("adult", Bill(asked=1, charged=Fraction(1, 3), item=item))
    digest = stamp(made, NAME, ledger, reservation)
    assert digest == hashlib.sha256((made / NAME).read_bytes()).hexdigest()
    return made


def said(folder: Path, key: str | None = None) -> tuple[str, bool, str]:
    return judged(folder, NAME, (folder / NAME).read_bytes(), key)


def change(folder: Path, file: str, alter: Callable[[dict[str, Any]], object]) -> None:
    document = json.loads((folder / file).read_text())
    alter(document)
    (folder / file).write_text(json.dumps(document, indent=1, ensure_ascii=False, sort_keys=True) + "\n")


def test_who_signed_is_said_in_words(folder: Path, ledger: Ledger, tmp_path: Path) -> None:
    (key,) = ledger.keys()
    assert said(folder) == ("signature: signed, but by a key that you have not named", True, key.fingerprint)
    for named in (key.fingerprint, key.pem, key.text):
        assert said(folder, named) == ("signature: signed by the key that you named", True, key.fingerprint)
    other = Ledger(tmp_path / "other.db")
    other.open("adult", 1, {})
    what, passed, _ = said(folder, other.keys()[0].pem)
    assert ("another key" in what, passed) == (True, False)
    with pytest.raises(LedgerError, match="neither a public key"):
        said(folder, "nonsense")


def test_the_manifest_states_the_entry(folder: Path, ledger: Ledger) -> None:
    manifest = json.loads((folder / NAME).read_text())
    entry = manifest["ledger"]
    assert entry["key"] == ledger.keys()[0].fingerprint
    assert entry["chain"] == ledger.audit().charges[entry["entry"]]
    assert stated_entry(manifest, Fraction(1)) == ("the ledger's entry fits the manifest", True, "entry 1")
    assert stated_entry(manifest, Fraction(2)) == ("the ledger's entry fits the manifest", False, "entry 1")
    assert stated_entry({"dataset": "adult"}, Fraction(1)) is None
    for alter in (
        {"charged": "0.1"},
        {"dataset": "births"},
        {"ledger": {**entry, "charged": "1/0"}},
        {"ledger": {**entry, "chain": "ff"}},
        {"ledger": {**entry, "more": 1}},
        {"ledger": {**entry, "when": "3026-01-01"}},
        {"ledger": {**entry, "when": "long ago"}},
        {"date": "2000-01-01"},
        {"ledger": {**entry, "delta": "1e-6"}},
        {"ledger": {**entry, "asked": "0.5"}},
        {"ledger": {**entry, "entry": 0}},
        {"ledger": {**entry, "entry": "1"}},
        {"ledger": []},
        {"ledger": {**entry, "charged": "1e9999999"}},
    ):
        found = stated_entry({**manifest, **alter}, Fraction(1))
        assert found is not None
        assert found[1] is False


def test_others_can_check_it_without_us(folder: Path, ledger: Ledger) -> None:
    import base64

    key = load_pem_public_key(ledger.keys()[0].pem.encode())
    signature = base64.b64decode(json.loads((folder / SIGNATURE).read_text())["signature"])
    key.verify(signature, (folder / NAME).read_bytes())  # type: ignore[union-attr, call-arg]


@pytest.mark.parametrize(
    ("file", "alter"),
    [
        (NAME, lambda document: document.update(title="Berlin")),
        (NAME, lambda document: document["ledger"].update(entry=7)),
        (SIGNATURE, lambda document: document.update(signature="AAAA")),
        (SIGNATURE, lambda document: document.update(signature="?")),
        (SIGNATURE, lambda document: document.update(fingerprint="00" * 32)),
        (SIGNATURE, lambda document: document.update(signs="view.json")),
        (SIGNATURE, lambda document: document.update(public_key="AAAA")),
        (SIGNATURE, lambda document: document.update(more="text")),
        (SIGNATURE, lambda document: document.update(tetraodon_signature=2)),
    ],
)
def test_what_was_changed_is_not_signed(folder: Path, file: str, alter: Callable[[dict[str, Any]], object]) -> None:
    change(folder, file, alter)
    assert said(folder) == ("signature: signature.json does not sign this release.json", False, "")


def test_a_stranger_cannot_sign_in_the_name_of_the_office(folder: Path, ledger: Ledger, tmp_path: Path) -> None:
    from tetraodon.ledger.signing import _signed

    office, stranger = ledger.keys()[0], Ledger(tmp_path / "other.db")
    stranger.open("adult", 1, {})
    (folder / SIGNATURE).write_text(_signed(NAME, (folder / NAME).read_bytes(), stranger.signer()))
    assert "names another key" in said(folder)[0]
    change(folder, NAME, lambda document: document["ledger"].update(key=stranger.keys()[0].fingerprint))
    (folder / SIGNATURE).write_text(_signed(NAME, (folder / NAME).read_bytes(), stranger.signer()))
    assert said(folder)[:2] == ("signature: signed, but by a key that you have not named", True)
    assert said(folder, office.pem)[1] is False


def test_taking_the_signature_away_shows(folder: Path, ledger: Ledger) -> None:
    (folder / SIGNATURE).unlink()
    assert said(folder)[:2] == ("signature: signature.json is missing, though release.json names a key", False)
    change(folder, NAME, lambda document: document["ledger"].update(key=None))
    assert said(folder) == ("signature: unsigned, so that anybody may have written this folder", True, "")
    assert said(folder, ledger.keys()[0].pem)[1] is False


def test_a_signature_that_is_no_plain_file_signs_nothing(folder: Path) -> None:
    (folder / SIGNATURE).rename(folder / "elsewhere")
    (folder / SIGNATURE).symlink_to(folder / "elsewhere")
    assert said(folder)[1] is False
    (folder / SIGNATURE).unlink()
    os.mkfifo(folder / SIGNATURE)
    assert said(folder)[1] is False
    (folder / SIGNATURE).unlink()
    (folder / SIGNATURE).write_text("[" * 100_000)
    assert said(folder)[1] is False


def test_without_its_key_a_ledger_writes_unsigned_folders(ledger: Ledger, path: Path, tmp_path: Path) -> None:
    path.with_suffix(".key").unlink()
    (tmp_path / NAME).write_text("{}")
    item = {"policy": {}, "plan": {}, "certificate": FREE}
    stamp(tmp_path, NAME, ledger, ledger.reserve("adult", Bill(asked=1, charged=0, item=item)))
    assert json.loads((tmp_path / NAME).read_text())["ledger"]["key"] is None
    assert not (tmp_path / SIGNATURE).exists()
    assert said(tmp_path)[1] is True
