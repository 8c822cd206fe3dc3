"""Tables of a ledger: versions and migration."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from sqlalchemy import create_engine
from tests.ledger.certificates import FREE, pure
from tests.ledger.conftest import Started, at_once
from tests.ledger.test_postgres import address as address  # the fixture
from tests.services import needs_postgres

from tetraodon.errors import LedgerError
from tetraodon.ledger import Ledger
from tetraodon.ledger.charging import Bill
from tetraodon.ledger.database import Database
from tetraodon.ledger.migrate import create_if_empty, migrate
from tetraodon.ledger.schema import FORMAT, GUARDED, LACKING, VERSION, found_version, guard, meta, tables

# -- schema -----------------------------------------------------------------------------------------


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


# -- migrate ----------------------------------------------------------------------------------------
# A ledger of version 0.1 gets its chain, its guards and, when it is opened, its key; whoever comes first does it.


OLD = Path(__file__).parent.parent / "data" / "0.1" / "ledger.db"
THIRD = OLD.parent.parent / "ledger-3" / "ledger.db"
HEAD = "6e97df77e5bae1301458e09d95c50d40d889aa80d6eccdfe96f43d6d80958c7d"
CHARGED = {"births": "15767307723667/3000000000000", "panel": "1", "people": "2"}
"""What it was told to be by whoever wrote it."""
OPENING = """
import sys
from tetraodon.ledger import Ledger
ledger = Ledger(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
ledger.record_refusal("people", "table-refused")
"""


@pytest.fixture
def old(path: Path) -> Path:
    shutil.copy(OLD, path)
    path.chmod(0o600)
    return path


def version(path: Path) -> str:
    raw = sqlite3.connect(path)
    ((found,),) = raw.execute("SELECT value FROM meta WHERE key = 'version'").fetchall()
    raw.close()
    return str(found)


def test_reading_changes_nothing(old: Path) -> None:
    before = old.read_bytes()
    with Ledger(old) as ledger:
        assert ledger.account("people").charged == 3
        assert len(ledger.entries()) == 4
    assert old.read_bytes() == before


def test_everything_of_the_past_is_chained(old: Path) -> None:
    with Ledger(old) as ledger:
        entries, accounts = ledger.entries(), ledger.accounts()
        found = ledger.audit()
        assert found.holds
        settled = sum(entry.state == "settled" for entry in entries)
        refused = sum(len(ledger.refusals(account.dataset)) for account in accounts)
        assert found.records == len(accounts) + len(entries) + settled + refused
        assert (ledger.entries(), ledger.accounts(), version(old)) == (entries, accounts, str(VERSION))
        assert ledger.audit() == found
        assert ledger.keys() == ()


def test_it_is_guarded(old: Path) -> None:
    Ledger(old).audit()
    raw = sqlite3.connect(old)
    for change in ("DELETE FROM chain", "UPDATE chain SET hash = ''", "DELETE FROM keys", "DELETE FROM entries"):
        if change == "DELETE FROM keys":
            raw.execute("INSERT INTO keys VALUES (1, 'a', 'b')")
        with pytest.raises(sqlite3.IntegrityError, match="only ever added to"):
            raw.execute(change)
    raw.close()


def test_who_opens_it_gets_a_key(old: Path) -> None:
    with Ledger(old) as ledger:
        account = ledger.account("people")
        ledger.open("people", account.total, account.policy, delta=account.delta)
        assert ledger.signer().key == ledger.keys()[-1]
        assert ledger.audit().holds


def test_two_at_once_do_it_once(old: Path, start: Started) -> None:
    before = len(Ledger(old).refusals("people"))
    at_once([start(OPENING, old) for _ in range(3)])
    assert Ledger(old).audit().holds
    assert len(Ledger(old).refusals("people")) == before + 3


def test_a_new_ledger_needs_nothing(ledger: Ledger) -> None:
    database: Database = ledger._database
    with database.writing() as connection:
        create_if_empty(connection)
        migrate(connection, VERSION)
        assert found_version(connection) == VERSION
    assert ledger.audit().holds


def test_a_chain_that_an_old_ledger_cannot_have_is_damage(ledger: Ledger, path: Path) -> None:
    raw = sqlite3.connect(path)
    raw.execute("UPDATE meta SET value = '1' WHERE key = 'version'")
    raw.commit()
    raw.close()
    with pytest.raises(LedgerError, match="damaged"):
        ledger.audit()


def test_a_ledger_of_version_three_opens_is_brought_up_to_date_and_goes_on(path: Path) -> None:
    shutil.copy(THIRD, path)
    path.chmod(0o600)
    with Ledger(path) as ledger:
        accounts, entries = ledger.accounts(), ledger.entries()
        assert {account.dataset: str(account.charged) for account in accounts} == CHARGED
        assert (version(path), ledger.allotments("people")) == ("3", ())
        ledger.allot("people", "ann", 1)
        assert (ledger.accounts(), ledger.entries(), version(path)) == (accounts, entries, str(VERSION))
        found = ledger.audit()
        assert found.holds
        assert found.hashes[-2] == HEAD  # what was printed before still is in the chain
        for wish in ({**entries[0].document["policy"], "budget": {"epsilon": "1/2"}}, entries[-1].document["policy"]):
            item = {"policy": wish, "plan": {}, "certificate": pure(Fraction(1, 2))}
            ledger.reserve(wish.get("population", wish["dataset"]), Bill(1, Fraction(1, 2), item))
        assert [str(account.charged) for account in ledger.accounts()] == [CHARGED["births"], "3/2", "5/2"]
        assert ledger.audit().holds


# -- triggers ----------------------------------------------------------------------------------------
# Plain DELETE, UPDATE and TRUNCATE are refused on a server too; what SQLite refuses is in test_schema.py.

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
def test_triggers_keep_what_is_recorded(address: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
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
    from tests.ledger.test_entries import spend_together  # which imports this module

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
