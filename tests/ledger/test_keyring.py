"""A ledger has a key from its opening; the newest signs, and without its private half nothing does."""

from __future__ import annotations

from pathlib import Path

import pytest

from tetraodon.errors import LedgerError
from tetraodon.ledger import Ledger
from tetraodon.ledger.keyring import ensure_key, known_keys, replace_key, signer_of
from tetraodon.ledger.signing import make_key


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
