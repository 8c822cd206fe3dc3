"""Entries of a ledger: rows, statements, running sums, the chain of hashes."""

from __future__ import annotations

import hashlib
import random
import shutil
import sqlite3
from fractions import Fraction
from pathlib import Path

import pytest
from tests.ledger.certificates import FREE, gaussian, named, pure
from tests.ledger.conftest import Started, at_once
from tests.ledger.test_schema import OLD

from tetraodon.errors import LedgerError
from tetraodon.ledger import Ledger, Reservation, database
from tetraodon.ledger.account import composed
from tetraodon.ledger.amount import canonical_text
from tetraodon.ledger.charging import Bill
from tetraodon.ledger.entries import KINDS, SAME_ENTRY, START, append, extend, hash_of, links, text_in, unknown

# -- rows -------------------------------------------------------------------------------------------
# A ledger that was damaged, in whatever way, is refused in words and never with an error of Python's own.


ITEM = {"policy": {}, "plan": {}, "certificate": FREE}
COLUMNS = {
    "meta": ("key", "value"),
    "accounts": ("dataset", "total", "delta", "policy", "policy_hash", "opened"),
    "entries": ("dataset", "asked", "charged", "delta", "state", "settled_at", "manifest_hash", "document"),
    "refusals": ("dataset", "kind", "refused_at"),
    "keys": ("public_key", "made"),
    "chain": ("number", "kind", "subject", "nonce", "hash"),
}  # fmt: skip
ODD = ["NULL", "x'c328'", "1.5", "''", "'x'", "'1/0'", "99999999999999999999", "'{}'"]
DEEP = "'" + "[" * 100_000 + "'"
NESTED = "'" + '{"a":' * 5_000 + "1" + "}" * 5_000 + "'"


@pytest.fixture(autouse=True)
def _quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "PRAGMAS", ("foreign_keys=ON", "synchronous=OFF"))


@pytest.fixture
def whole(ledger: Ledger, path: Path) -> Path:
    ledger.settle(ledger.reserve("adult", Bill(asked=1, charged=0, item=ITEM)), manifest_hash="ab")
    ledger.reserve("adult", Bill(asked=1, charged=0, item=ITEM))
    ledger.record_refusal("adult", "table-refused")
    return path


def use(path: Path) -> str:
    """Everything that a ledger is asked for; what it refuses, in words. Any other error ends the test."""
    told = ""
    with Ledger(path) as ledger:
        for wish in (
            ledger.accounts,
            ledger.entries,
            lambda: ledger.refusals("adult"),
            ledger.audit,
            ledger.keys,
            ledger.signer,
            lambda: ledger.record_refusal("adult", "table-refused"),
            lambda: ledger.settle(ledger.reserve("adult", Bill(asked=1, charged=0, item=ITEM)), manifest_hash="ab"),
            lambda: ledger.open("births", 1, {}),
        ):
            try:
                wish()
            except LedgerError as error:
                told += f"{error.what}; {error.fix}"
    return told


def damage(path: Path, statement: str) -> None:
    raw = sqlite3.connect(path)
    try:
        for (name,) in raw.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            raw.execute(f"DROP TRIGGER {name}")
        raw.execute("PRAGMA ignore_check_constraints = ON")
        raw.execute(statement)
        raw.commit()
    except sqlite3.Error:
        raw.rollback()
    raw.close()


@pytest.mark.parametrize(("table", "column"), [(table, column) for table, those in COLUMNS.items() for column in those])
def test_a_column_may_hold_anything(whole: Path, tmp_path: Path, table: str, column: str) -> None:
    for number, value in enumerate([*ODD, DEEP, NESTED]):
        copy = tmp_path / f"{number}.db"
        shutil.copy(whole, copy)
        damage(copy, f"UPDATE {table} SET {column} = {value}")
        use(copy)


@pytest.mark.parametrize("table", COLUMNS)
def test_a_table_may_be_gone_or_another(whole: Path, tmp_path: Path, table: str) -> None:
    for number, change in enumerate(
        (f"DROP TABLE {table}", f"ALTER TABLE {table} RENAME TO other", f"DELETE FROM {table}")
    ):
        copy = tmp_path / f"{number}.db"
        shutil.copy(whole, copy)
        damage(copy, "PRAGMA foreign_keys = OFF")
        damage(copy, change)
        assert use(copy) or change.startswith("DELETE")
    damage(whole, f"DROP TABLE {table}")
    damage(whole, f"CREATE TABLE {table} (a, b)")
    assert use(whole)


def test_a_file_may_be_cut_or_overwritten(whole: Path, tmp_path: Path) -> None:
    """Some bytes of a file are free space, so that not every change is damage."""
    good, dice, refused = whole.read_bytes(), random.Random(7), 0
    for number in range(90):
        bad = bytearray(good)
        if number % 3 == 0:
            bad = bad[: dice.randrange(len(bad))]
        else:
            for _ in range(1 if number % 3 == 1 else 300):
                bad[dice.randrange(len(bad))] = dice.randrange(256)
        copy = tmp_path / f"{number}.db"
        copy.write_bytes(bad)
        refused += bool(use(copy))
    assert refused > 45
    for number, content in enumerate((b"", b"text", b"SQLite format 3\0", bytes(4096))):
        copy = tmp_path / f"file-{number}.db"
        copy.write_bytes(content)
        use(copy)


def test_what_is_not_text_is_damage() -> None:
    assert text_in("a") == "a"
    with pytest.raises(LedgerError, match="did not write"):
        text_in(b"a")


# -- statement --------------------------------------------------------------------------------------


def test_a_statement_is_the_entry_and_its_hash(ledger: Ledger) -> None:
    ledger.record_refusal("adult", "table-refused")
    item = {"policy": {}, "plan": {}, "certificate": FREE}
    made = ledger.reserve("adult", Bill(asked=Fraction(1, 2), charged=Fraction(1, 3), item=item))
    found = ledger.statement(made)
    assert found == {
        "entry": made.id,
        "dataset": "adult",
        "when": made.when[:10],  # the moment would tell how long a worker took for the one before
        "asked": "0.5",
        "charged": "1/3",
        "delta": "0",
        "chain": ledger.audit().charges[made.id],
    }
    ledger.settle(made, manifest_hash="ab")
    assert ledger.statement(made) == found


def test_a_reservation_of_another_ledger_has_none(ledger: Ledger) -> None:
    other = Reservation(1, "adult", Fraction(1), Fraction(1), "2026")
    with pytest.raises(LedgerError, match="does not know this reservation"):
        ledger.statement(other)
    assert "entries.reserved_at" in str(SAME_ENTRY)
    assert "settle it" in str(unknown())


# -- running ----------------------------------------------------------------------------------------
# What is spent is kept with every entry, is what all of them add up to, and an audit says where it is not.


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


# -- chain ------------------------------------------------------------------------------------------
# Everything that is recorded is in the chain, once, in order; and a hash of it tells nothing but itself.


SPENDING = """
import sys
from fractions import Fraction
from tests.ledger.certificates import FREE
from tetraodon.ledger import Ledger
from tetraodon.ledger.charging import Bill
item = {"policy": {}, "plan": {}, "certificate": FREE}
ledger = Ledger(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
for turn in range(8):
    ledger.open(f"{sys.argv[2]}-{turn}", 1, {})
    made = ledger.reserve("adult", Bill(asked=1, charged=Fraction(1, 100), item=item))
    ledger.record_refusal("adult", "table-refused")
    ledger.settle(made, manifest_hash="ab")
"""


def spend_together(address: str, start: Started) -> None:
    """Three processes that open, reserve, settle and refuse at once; then the chain is whole."""
    Ledger(address).open("adult", Fraction(2), {})
    at_once([start(SPENDING, address, name) for name in "abc"])
    found = Ledger(address).audit()
    assert found.problems == ()
    extra = len(Ledger(address).keys())
    assert (found.records, len(found.charges)) == (1 + 3 * 8 * 4 + extra, 24)


def test_processes_together_make_one_chain(path: Path, start: Started) -> None:
    spend_together(str(path), start)


def test_every_kind_of_record_is_chained(ledger: Ledger) -> None:
    made = ledger.reserve("adult", Bill(asked=1, charged=1, item={"policy": {}, "plan": {}, "certificate": FREE}))
    ledger.settle(made, manifest_hash="ab")
    ledger.record_refusal("adult", "table-refused")
    ledger.open("jan", 1, {"dataset": "jan", "population": "panel"})
    ledger.correct("panel", 2)
    ledger.allot("panel", "ann", 1)
    with ledger._database.reading() as connection:
        found = links(connection)
        assert hash_of(connection, "reserved", made.id) == found[2].hash
    kinds = ["opened", "key", "reserved", "settled", "refused", "opened", "joined", "corrected", "allotted"]
    assert [link.kind for link in found] == kinds
    assert set(kinds) == set(KINDS)
    assert [link.number for link in found] == list(range(1, 10))


def test_a_hash_is_that_of_the_one_before_and_of_the_row(ledger: Ledger, path: Path) -> None:
    ledger.record_refusal("adult", "table-refused")
    raw = sqlite3.connect(path)
    (before,), (nonce, found) = (
        raw.execute("SELECT hash FROM chain WHERE number = 2").fetchone(),
        raw.execute("SELECT nonce, hash FROM chain WHERE number = 3").fetchone(),
    )
    (when,) = raw.execute("SELECT refused_at FROM refusals").fetchone()
    raw.close()
    row = {"id": 1, "dataset": "adult", "kind": "table-refused", "refused_at": when}
    text = canonical_text({"number": 3, "kind": "refused", "subject": "1", "nonce": nonce, "row": row})
    assert hashlib.sha256(f"{before}\n{text}".encode()).hexdigest() == found
    assert START == "0" * 64


def test_nobody_can_guess_what_was_recorded_between_two_hashes(tmp_path: Path) -> None:
    """Why  a refusal says something about the data; without a secret in it, a published hash would confirm a guess."""
    nonces: list[str] = []
    for name in "ab":
        with Ledger(tmp_path / f"{name}.db") as ledger:
            ledger.open("adult", 1, {})
            with ledger._database.reading() as connection:
                nonces += [link.nonce for link in links(connection)]
    assert len(set(nonces)) == len(nonces) == 4
    assert all(len(nonce) == 64 for nonce in nonces)


def test_what_is_rolled_back_is_not_in_the_chain(ledger: Ledger) -> None:
    before = ledger.audit()
    try:
        with ledger._database.writing() as connection:
            append(connection, "opened", "adult")
            extend(connection, [("opened", "adult")])
            raise KeyError
    except KeyError:
        pass
    assert ledger.audit() == before
