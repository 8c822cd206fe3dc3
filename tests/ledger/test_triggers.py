"""Plain DELETE, UPDATE and TRUNCATE are refused on a server too; what SQLite refuses is in test_schema.py."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from sqlalchemy import create_engine
from tests.ledger.certificates import FREE
from tests.ledger.conftest import at_once
from tests.ledger.test_entries import spend_together
from tests.ledger.test_postgres import address as address  # the fixture
from tests.services import needs_postgres

from tetraodon.errors import LedgerError
from tetraodon.ledger import Ledger
from tetraodon.ledger.charging import Bill
from tetraodon.ledger.schema import FORMAT, GUARDED, LACKING, guard, meta, tables

ITEM = {"policy": {}, "plan": {}, "certificate": FREE}
CHANGES = [
    *(f"DELETE FROM {table.name}" for table in GUARDED),
    *(f"TRUNCATE {table.name} CASCADE" for table in GUARDED),
    "UPDATE accounts SET total = '100'",
    "UPDATE refusals SET kind = 'other'",
    "UPDATE allotments SET amount = '9'",
    "UPDATE running SET pure = '0'",
    "UPDATE chain SET hash = 'ff' WHERE number = 1",
    "UPDATE entries SET charged = '1' WHERE state = 'reserved'",
    "UPDATE entries SET charged = '1', state = 'settled' WHERE state = 'reserved'",
    "UPDATE entries SET state = 'reserved', settled_at = '', manifest_hash = '' WHERE state = 'settled'",
    "UPDATE entries SET manifest_hash = 'cd' WHERE state = 'settled'",
    "INSERT INTO accounts SELECT * FROM accounts ON CONFLICT (dataset) DO UPDATE SET total = '9'",
]


def fill(address: str, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setenv("TETRAODON_KEY", f"{folder}/office.key")
    with Ledger(address) as book:
        book.open("adult", 1, {})
        book.settle(book.reserve("adult", Bill(asked=1, charged=0, item=ITEM)), manifest_hash="ab")
        book.reserve("adult", Bill(asked=1, charged=0, item=ITEM))
        book.record_refusal("adult", "table-refused")
        book.open("jan", 1, {"dataset": "jan", "population": "panel"})
        book.correct("panel", 2)
        book.allot("adult", "ann", 1)


def changed(address: str) -> list[str]:
    """The changes that a plain client of the database could make."""
    done = []
    with psycopg.connect(address.replace("+psycopg", ""), autocommit=True) as connection:
        for change in CHANGES:
            with suppress(psycopg.errors.IntegrityConstraintViolation):
                connection.execute(sql.SQL(change))  # type: ignore[arg-type]
                done.append(change)
    return done


@needs_postgres
def test_other_programs_cannot_change_what_is_recorded(
    address: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fill(address, monkeypatch, tmp_path)
    assert changed(address) == []
    found = Ledger(address).audit()
    assert (found.problems, found.records) == ((), 10)
    assert Ledger(address).signer().key == Ledger(address).keys()[0]


@needs_postgres
def test_a_ledger_of_version_one_gets_them(address: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    engine = create_engine(address)
    with engine.begin() as connection:
        tables.create_all(connection, tables=[table for table in tables.sorted_tables if table not in LACKING[1]])
        connection.execute(meta.insert(), [{"key": "format", "value": FORMAT}, {"key": "version", "value": "1"}])
        connection.exec_driver_sql("INSERT INTO accounts VALUES ('old', '1', '0', '{}', 'x', '2026-01-01')")
        connection.exec_driver_sql(
            "INSERT INTO entries (dataset, asked, charged, state, reserved_at, document)"
            " VALUES ('old', '1', '1/3', 'reserved', '2026-01-02', '{}')"
        )
    fill(address, monkeypatch, tmp_path)
    assert changed(address) == []
    found = Ledger(address).audit()
    assert (found.problems, found.records) == ((), 12)
    with engine.begin() as connection:
        guard(connection)  # once more changes nothing
    assert changed(address) == []
    engine.dispose()


@needs_postgres
def test_processes_together_make_one_chain(address: str, start: object) -> None:
    spend_together(address, start)  # type: ignore[arg-type]


@needs_postgres
def test_two_who_make_it_at_once_make_one(address: str, start: object) -> None:
    script = """
import sys
from tetraodon.ledger import Ledger
print("ready", flush=True)
sys.stdin.readline()
Ledger(sys.argv[1]).open(sys.argv[2], 1, {})
"""
    at_once([start(script, address, name) for name in "abcd"])  # type: ignore[operator]
    assert [account.dataset for account in Ledger(address).accounts()] == list("abcd")
    assert Ledger(address).audit().holds


@needs_postgres
def test_a_ledger_without_its_tables_is_refused_in_words(address: str) -> None:
    Ledger(address).open("adult", 1, {})
    with psycopg.connect(address.replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute("DROP TABLE refusals")
    with pytest.raises(LedgerError, match="damaged"):
        Ledger(address).refusals("adult")
