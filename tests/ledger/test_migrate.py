"""A ledger of version 0.1 gets its chain, its guards and, when it is opened, its key; whoever comes first does it."""

from __future__ import annotations

import shutil
import sqlite3
from fractions import Fraction
from pathlib import Path

import pytest
from tests.ledger.certificates import pure
from tests.ledger.conftest import Started, at_once

from tetraodon.errors import LedgerError
from tetraodon.ledger import Ledger
from tetraodon.ledger.charging import Bill
from tetraodon.ledger.database import Database
from tetraodon.ledger.migrate import create_if_empty, migrate
from tetraodon.ledger.schema import VERSION, found_version

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
