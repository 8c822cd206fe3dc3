"""A folder says who paid and who signed; whatever is changed afterwards is no longer signed."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from tests.ledger.certificates import FREE

from tetraodon.errors import LedgerError
from tetraodon.ledger import Ledger
from tetraodon.ledger.charging import Bill
from tetraodon.ledger.signing import SIGNATURE, judged, stamp, stated_entry

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
