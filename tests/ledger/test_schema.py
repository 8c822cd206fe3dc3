from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from tetraodon.errors import LedgerError
from tetraodon.ledger import Ledger
from tetraodon.ledger.charging import Bill
from tetraodon.ledger.schema import VERSION


@pytest.fixture
def raw(ledger: Ledger, path: Path, item: dict[str, object]) -> Iterator[sqlite3.Connection]:
    """Another program at a ledger with a settled entry, a reserved one and a refusal."""
    first = ledger.reserve("adult", Bill(asked=1, charged=0, item=item))
    ledger.settle(first, manifest_hash="ab")
    ledger.reserve("adult", Bill(asked=1, charged=0, item=item))
    ledger.record_refusal("adult", "refused")
    connection = sqlite3.connect(path, isolation_level=None)
    yield connection
    connection.close()


def test_a_ledger_from_a_newer_version_is_refused(ledger: Ledger, raw: sqlite3.Connection) -> None:
    raw.execute("UPDATE meta SET value = ? WHERE key = 'version'", [str(VERSION + 1)])
    for use in (ledger.accounts, lambda: ledger.open("new", 1, {})):
        with pytest.raises(LedgerError, match=r"newer version.*Fix: upgrade tetraodon"):
            use()


@pytest.mark.parametrize("version", ["", "0", "one", "-1", "1.0"])
def test_a_version_that_never_was_is_damage(ledger: Ledger, raw: sqlite3.Connection, version: str) -> None:
    raw.execute("UPDATE meta SET value = ? WHERE key = 'version'", [version])
    with pytest.raises(LedgerError, match="damaged"):
        ledger.accounts()


@pytest.mark.parametrize(
    "script",
    [
        "CREATE TABLE people (name TEXT)",
        "CREATE TABLE meta (a TEXT, b TEXT)",
        "CREATE TABLE meta (key TEXT, value TEXT); INSERT INTO meta VALUES ('version', '1')",
        "CREATE TABLE meta (key TEXT, value INT); INSERT INTO meta VALUES ('format', 3)",
    ],
)
def test_the_database_of_another_program_is_not_adopted(path: Path, script: str) -> None:
    connection = sqlite3.connect(path)
    connection.executescript(script)
    connection.close()
    before = path.read_bytes()
    for use in (Ledger(path).accounts, lambda: Ledger(path).open("adult", 1, {})):
        with pytest.raises(LedgerError, match="belongs to something else"):
            use()
    assert path.read_bytes() == before


def test_a_ledger_without_its_tables_is_refused(ledger: Ledger, raw: sqlite3.Connection) -> None:
    raw.executescript("DROP TABLE refusals")
    with pytest.raises(LedgerError, match="whole"):
        ledger.refusals("adult")


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM entries",
        "DELETE FROM accounts",
        "DELETE FROM refusals",
        "UPDATE accounts SET total = '100'",
        "UPDATE accounts SET policy = '{}'",
        "UPDATE refusals SET kind = 'other'",
        "UPDATE entries SET charged = '1' WHERE state = 'reserved'",
        "UPDATE entries SET asked = '1/2' WHERE state = 'reserved'",
        "UPDATE entries SET delta = '1', state = 'settled' WHERE state = 'reserved'",
        "UPDATE entries SET document = '{}', state = 'settled' WHERE state = 'reserved'",
        "UPDATE entries SET reserved_at = '', state = 'settled' WHERE state = 'reserved'",
        "UPDATE entries SET id = 9, state = 'settled' WHERE state = 'reserved'",
        "UPDATE entries SET state = 'reserved' WHERE state = 'settled'",
        "UPDATE entries SET manifest_hash = 'cd' WHERE state = 'settled'",
        "INSERT OR REPLACE INTO entries SELECT id, dataset, asked, '0', delta, state, reserved_at,"
        " settled_at, manifest_hash, document FROM entries",
        "INSERT OR REPLACE INTO accounts SELECT dataset, '9', delta, policy, policy_hash, opened FROM accounts",
    ],
)
def test_other_programs_cannot_change_what_is_recorded(raw: sqlite3.Connection, change: str) -> None:
    with pytest.raises(sqlite3.IntegrityError, match="only ever added to"):
        raw.execute(change)


def test_there_is_room_for_a_second_amount(raw: sqlite3.Connection) -> None:
    assert raw.execute("SELECT delta FROM accounts").fetchall() == [("0",)]
    assert raw.execute("SELECT delta FROM entries").fetchall() == [("0",), ("0",)]
