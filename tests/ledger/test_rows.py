"""A ledger that was damaged, in whatever way, is refused in words and never with an error of Python's own."""

from __future__ import annotations

import random
import shutil
import sqlite3
from pathlib import Path

import pytest
from tests.ledger.certificates import FREE

from tetraodon.errors import LedgerError
from tetraodon.ledger import Ledger, database
from tetraodon.ledger.charging import Bill
from tetraodon.ledger.entries import text_in

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
