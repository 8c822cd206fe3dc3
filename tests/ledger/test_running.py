"""What is spent is kept with every entry, is what all of them add up to, and an audit says where it is not."""

from __future__ import annotations

import random
import shutil
import sqlite3
from fractions import Fraction
from pathlib import Path

import pytest
from tests.ledger.certificates import FREE, gaussian, named, pure
from tests.ledger.test_migrate import OLD

from tetraodon.errors import LedgerError
from tetraodon.ledger import Ledger
from tetraodon.ledger.account import composed
from tetraodon.ledger.charging import Bill

ITEM = {"policy": {}, "plan": {}, "certificate": FREE}
DELTA = Fraction(1, 10**6)


def test_it_is_what_all_entries_add_up_to(ledger: Ledger) -> None:
    """Pure, named and Gaussian releases, in an order in which they are allowed, charged to three people."""
    ledger.open("births", 40, {}, delta=DELTA)
    ledger.allot("births", "ann", 40)
    order = random.Random(1)
    kinds = [pure(1), named(DELTA / 3), pure(Fraction(1, 7)), named(DELTA / 3)]
    order.shuffle(kinds)
    for certificate in [*kinds, gaussian(DELTA), pure(Fraction(1, 3)), gaussian(DELTA)]:
        plan = {"names": []} if certificate.delta and certificate.rho is None else {}
        item = {**ITEM, "plan": plan, "certificate": certificate}
        owner = order.choice(["", "ann"])
        ledger.reserve("births", Bill(asked=1, charged=Fraction(certificate.epsilon), item=item, owner=owner))
        losses = [entry.loss for entry in ledger.entries("births")]
        assert ledger.account("births").charged == composed(losses, DELTA, Fraction(40))
    assert ledger.audit().holds


def tampered(path: Path, *changes: str) -> None:
    raw = sqlite3.connect(path)
    for (trigger,) in raw.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        raw.execute(f"DROP TRIGGER {trigger}")
    for change in changes:
        raw.execute(change)
    raw.commit()
    raw.close()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("UPDATE running SET pure = '0', before = '0' WHERE entry = 2", "up to entry 2 is not the sum"),
        ("UPDATE running SET owned = '0' WHERE entry = 2", "up to entry 2 is not the sum"),
        ("UPDATE running SET owner = 'bob' WHERE entry = 2", "up to entry 2 is not the sum"),
        ("DELETE FROM running WHERE entry = 1", "up to entry 1 is not the sum"),
        ("DELETE FROM entries WHERE id = 2", "kept for entry 2, which is not there"),
        ("UPDATE entries SET charged = 'x' WHERE id = 1", "cannot be added up"),
    ],
)
def test_an_audit_adds_up_anew(ledger: Ledger, path: Path, change: str, words: str) -> None:
    ledger.allot("adult", "ann", 1)
    for _ in range(2):
        ledger.reserve("adult", Bill(asked=1, charged=Fraction(1, 4), item=ITEM, owner="ann"))
    assert ledger.audit().holds
    tampered(path, "PRAGMA foreign_keys=OFF", change)
    assert any(words in problem for problem in ledger.audit().problems)


def test_an_entry_for_which_nothing_is_kept_stops_the_account(ledger: Ledger, path: Path) -> None:
    ledger.reserve("adult", Bill(asked=1, charged=Fraction(1, 4), item=ITEM))
    tampered(path, "DELETE FROM running")
    with pytest.raises(LedgerError, match="damaged"):
        ledger.account("adult")


def test_an_old_ledger_is_added_up_until_it_is_brought_up_to_date(path: Path) -> None:
    shutil.copy(OLD, path)
    path.chmod(0o600)
    with Ledger(path) as ledger:
        before = [(account.charged, account.spent) for account in ledger.accounts()]
        assert ledger.left("people", "ann") == 0
        assert ledger.allotments("people") == ()
        assert ledger.audit().holds  # brings it up to date
        assert [(account.charged, account.spent) for account in ledger.accounts()] == before
    raw = sqlite3.connect(path)
    kept, made = (raw.execute(f"SELECT {key}") for key in ("entry FROM running", "id FROM entries"))
    assert sorted(kept.fetchall()) == sorted(made.fetchall())
    raw.close()
