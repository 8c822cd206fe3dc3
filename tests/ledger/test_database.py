from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import pytest
from tests.ledger.conftest import at_once

from tetraodon.errors import BudgetExhausted, LedgerError
from tetraodon.ledger import Ledger
from tetraodon.ledger.charging import Bill
from tetraodon.ledger.database import Database, ledger_address

Started = Callable[..., "subprocess.Popen[str]"]

BEGINNING = """
import os, signal, sys
from fractions import Fraction
from tetraodon.errors import BudgetExhausted
from tetraodon.ledger import Ledger, database, schema
from tetraodon.ledger.charging import Bill
from tests.ledger.certificates import FREE
item = {"policy": {}, "plan": {}, "certificate": FREE}
ledger = Ledger(sys.argv[1])
def spend(cost):
    return ledger.reserve("adult", Bill(asked=cost, charged=cost, item=item))
"""

SPENDING = """
print("ready", flush=True)
sys.stdin.readline()
ledger.open("adult", Fraction(3), {})
won = 0
for _ in range(25):
    try:
        ledger.settle(spend(Fraction(1, 10)), manifest_hash="ab")
        won += 1
    except BudgetExhausted:
        pass
print(won)
"""

DYING_AFTER_RESERVING = """
spend(Fraction(1, 3))
os.kill(os.getpid(), signal.SIGKILL)
"""

# So little memory that the change is already half in the file, and the journal hot.
DYING_BEFORE_COMMITTING = """
database.PRAGMAS += ("cache_size=1",)
with ledger._database.writing() as connection:
    rows = [dict(dataset="adult", asked="1", charged="1/100", state="reserved", reserved_at="",
                 document="x" * 9000) for _ in range(50)]
    connection.execute(schema.entries.insert(), rows)
    os.kill(os.getpid(), signal.SIGKILL)
"""

RESERVING_FOR_EVER = """
while True:
    print(spend(Fraction(1, 10**6)).id, flush=True)
"""


def test_processes_together_never_overspend(path: Path, start: Started) -> None:
    assert sum(map(int, at_once([start(BEGINNING + SPENDING, path) for _ in range(4)]))) == 30
    account = Ledger(path).account("adult")
    assert (account.charged, account.left) == (3, 0)
    assert {entry.state for entry in Ledger(path).entries()} == {"settled"}


def test_threads_together_never_overspend(path: Path, item: dict[str, object]) -> None:
    def spend(_turn: int) -> bool:
        ledger.open("adult", 1, {})
        try:
            ledger.reserve("adult", Bill(asked=0, charged=Fraction(1, 7), item=item))
        except BudgetExhausted:
            return False
        return True

    with Ledger(path) as ledger, ThreadPoolExecutor(4) as threads:
        assert sum(threads.map(spend, range(20))) == 7


def test_a_crash_after_reserving_leaves_it_charged(ledger: Ledger, path: Path, start: Started) -> None:
    assert start(BEGINNING + DYING_AFTER_RESERVING, path).wait() == -signal.SIGKILL
    assert ledger.account("adult").charged == Fraction(1, 3)
    assert [entry.state for entry in ledger.entries("adult")] == ["reserved"]


def test_a_crash_before_committing_leaves_nothing(ledger: Ledger, path: Path, start: Started) -> None:
    size = path.stat().st_size
    assert start(BEGINNING + DYING_BEFORE_COMMITTING, path).wait() == -signal.SIGKILL
    assert path.stat().st_size > size, "the test must leave a half-made change behind"
    assert path.with_name(path.name + "-journal").stat().st_size > 0
    assert ledger.entries() == ()
    assert ledger.account("adult").charged == 0
    assert path.stat().st_size == size


@pytest.mark.parametrize("seen", [1, 2, 5, 9, 20])
def test_being_killed_loses_no_charge_that_was_announced(ledger: Ledger, path: Path, start: Started, seen: int) -> None:
    process = start(BEGINNING + RESERVING_FOR_EVER, path)
    assert process.stdout is not None
    announced = [int(process.stdout.readline()) for _ in range(seen)]
    process.kill()
    announced += [int(line) for line in process.stdout.read().splitlines()]
    process.wait()
    kept = [entry.id for entry in ledger.entries("adult")]
    # The last one may have been committed, and charged, just before it could be announced.
    assert kept[: len(announced)] == announced
    assert len(kept) - len(announced) in (0, 1)
    assert ledger.account("adult").charged == len(kept) * Fraction(1, 10**6)


@pytest.mark.usefixtures("ledger")
def test_a_writer_is_alone_from_the_beginning_and_a_reader_is_not(path: Path) -> None:
    database = Database(ledger_address(path))
    other = sqlite3.connect(path, isolation_level=None, timeout=0)
    with database.writing(), pytest.raises(sqlite3.OperationalError, match="locked"):
        other.execute("BEGIN IMMEDIATE")
    with database.reading():
        other.execute("BEGIN IMMEDIATE")
    other.close()


@pytest.mark.usefixtures("ledger")
def test_the_disk_is_asked_for_all_it_can_promise(path: Path) -> None:
    with Database(ledger_address(path)).writing() as connection:
        found = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar_one()
            for name in ("synchronous", "journal_mode", "foreign_keys", "busy_timeout")
        }
    extra = 3
    assert found == {
        "synchronous": extra,
        "journal_mode": "delete",
        "foreign_keys": 1,
        "busy_timeout": 30_000,
    }


def test_a_write_ahead_log_is_folded_back_into_the_file(ledger: Ledger, path: Path) -> None:
    other = sqlite3.connect(path)
    other.execute("PRAGMA journal_mode=WAL")
    other.execute("INSERT INTO refusals (dataset, kind, refused_at) VALUES ('adult', 'a', '')")
    other.commit()
    with pytest.raises(LedgerError, match="another process"):
        ledger.refusals("adult")
    other.close()
    assert len(ledger.refusals("adult")) == 1
    assert sorted(file.name for file in path.parent.iterdir()) == [path.name, "budget.key"]


@pytest.mark.usefixtures("ledger")
def test_a_new_file_is_for_its_owner_only(path: Path) -> None:
    assert path.stat().st_mode & 0o777 == (0o600 if os.name == "posix" else 0o666)


def test_an_older_file_keeps_its_permissions(path: Path) -> None:
    path.touch()
    path.chmod(0o640)
    Ledger(path).open("adult", 1, {})
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_place_where_no_file_can_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for place in (tmp_path / "file" / "x.db", tmp_path / "nowhere" / "x.db"):
        with pytest.raises(LedgerError, match=r"x\.db: the ledger cannot be made .*Fix: name a file"):
            Ledger(place).open("adult", 1, {})


def test_looking_never_makes_a_file(path: Path, item: dict[str, object]) -> None:
    ledger = Ledger(path)
    for use in (
        ledger.accounts,
        ledger.entries,
        lambda: ledger.account("adult"),
        lambda: ledger.refusals("adult"),
        lambda: ledger.record_refusal("adult", "refused"),
        lambda: ledger.reserve("adult", Bill(asked=1, charged=1, item=item)),
    ):
        with pytest.raises(LedgerError, match="Fix: run `tetraodon ledger open POLICY`"):
            use()
    assert not path.exists()


def test_a_missing_driver_is_named_without_credentials() -> None:
    with pytest.raises(LedgerError, match="driver") as refusal:
        Ledger("postgresql+nosuchdriver://ann:hunter2@db.example/budget")
    assert "hunter2" not in str(refusal.value)
    assert "db.example" in str(refusal.value)
