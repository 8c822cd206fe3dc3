"""The database of a ledger: address, durability, failures."""

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
from sqlalchemy.exc import OperationalError
from tests.ledger.conftest import at_once

from tetraodon.errors import BudgetExhausted, LedgerError
from tetraodon.ledger import Ledger, database
from tetraodon.ledger.charging import Bill
from tetraodon.ledger.database import Database, explained, ledger_address

# -- database ---------------------------------------------------------------------------------------


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


# -- address ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("given", ["sqlite:///a/b.db", "sqlite+pysqlite:///a/b.db", "a/b.db", Path("a/b.db")])
def test_a_file_keeps_the_name_its_user_gave(given: str | Path) -> None:
    address = ledger_address(given)
    assert address.name == str(Path("a/b.db"))
    assert address.path == os.path.abspath("a/b.db")
    assert address.url.database == address.path


def test_a_path_may_look_like_a_url() -> None:
    assert ledger_address(Path("sqlite:/x?mode=memory")).path.endswith("sqlite:/x?mode=memory")


@pytest.mark.parametrize("given", ["", ":memory:", "sqlite://", "sqlite:///", "sqlite:///:memory:"])
def test_memory_forgets_and_is_refused(given: str) -> None:
    with pytest.raises(LedgerError, match="would forget"):
        ledger_address(given)


@pytest.mark.parametrize(
    "given", ["sqlite:///x.db?nolock=1&uri=true", "sqlite:///x.db?timeout=0", "sqlite://host/x.db"]
)
def test_parameters_that_could_switch_locks_off_are_refused(given: str) -> None:
    with pytest.raises(LedgerError, match="no parameters"):
        ledger_address(given)


@pytest.mark.parametrize(
    "given",
    [
        "postgresql://ann:hunter2@db.example/budget",
        "postgresql+psycopg://ann:hunter2@db.example:5432/budget?sslmode=require",
        "postgresql://db.example/budget?user=ann&password=hunter2",
    ],
)
def test_a_server_is_named_without_credentials(given: str) -> None:
    address = ledger_address(given)
    assert address.name.replace(":5432", "") == "postgresql://db.example/budget"
    assert address.path == ""


@pytest.mark.parametrize(
    "given", ["mysql://ann:hunter2@h/d", "postgres://ann:hunter2@h/d", "://hunter2", "x://h:hunter2/d"]
)
def test_other_addresses_are_refused_without_showing_them(given: str) -> None:
    with pytest.raises(LedgerError, match="Fix: give the path of a file") as refusal:
        ledger_address(given)
    assert "hunter2" not in str(refusal.value)


# -- failures ---------------------------------------------------------------------------------------


# Files that may not grow: what a full disk looks like to the database.
NO_ROOM = """
import os, resource, sys
from tetraodon.errors import LedgerError
from tetraodon.ledger import Ledger
from tetraodon.ledger.charging import Bill
path = sys.argv[1]
resource.setrlimit(resource.RLIMIT_FSIZE, (os.path.getsize(path), resource.RLIM_INFINITY))
from tests.ledger.certificates import FREE
item = {"policy": "x" * 100_000, "plan": "", "certificate": FREE}
try:
    Ledger(path).reserve("adult", Bill(asked=1, charged=1, item=item))
except LedgerError as error:
    print(error)
"""


def test_a_statement_and_its_values_are_never_shown() -> None:
    error = OperationalError("SELECT secret", {"v": "secret"}, sqlite3.OperationalError("secret"))
    told = explained(error, "budget.db")
    assert "secret" not in str(told)
    assert str(told).startswith("budget.db: ")
    assert "Fix: " in str(told)


@pytest.mark.parametrize("content", [b"junk", b"date,count\n" * 1000, b"SQLite format 3\x00" + b"j" * 5000])
def test_a_file_that_is_no_database_is_refused_and_kept(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    ledger = Ledger(path)
    with pytest.raises(LedgerError, match=r"budget\.db: (this is not a ledger|the ledger is damaged)"):
        ledger.open("adult", 1, {})
    with pytest.raises(LedgerError, match="Fix: "):
        ledger.accounts()
    assert path.read_bytes() == content


def test_a_damaged_ledger_is_refused(ledger: Ledger, path: Path) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + b"\xff" * (len(whole) - 4096))
    with pytest.raises(LedgerError, match="damaged"):
        ledger.accounts()


def test_a_folder_in_place_of_a_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="cannot be opened"):
        Ledger(tmp_path).open("adult", 1, {})


def test_a_folder_that_cannot_be_written_charges_nothing(ledger: Ledger, path: Path, item: dict[str, object]) -> None:
    # The journal cannot be made where something else already is; this stops the superuser too.
    blocked = path.with_name(path.name + "-journal")
    blocked.mkdir()
    with pytest.raises(LedgerError, match="Fix: check that"):
        ledger.reserve("adult", Bill(asked=1, charged=1, item=item))
    blocked.rmdir()
    assert ledger.account("adult").charged == 0


def test_a_ledger_that_may_not_be_written_charges_nothing_but_can_be_read(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, item: dict[str, object]
) -> None:
    monkeypatch.setattr(database, "PRAGMAS", (*database.PRAGMAS, "query_only=ON"))
    with pytest.raises(LedgerError, match="may not be written, so nothing was charged"):
        ledger.reserve("adult", Bill(asked=1, charged=1, item=item))
    assert ledger.account("adult").charged == 0


def test_a_full_database_charges_nothing(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, item: dict[str, object]
) -> None:
    with monkeypatch.context() as full:
        full.setattr(database, "PRAGMAS", (*database.PRAGMAS, "max_page_count=1"))
        with pytest.raises(LedgerError, match="the disk is full, so nothing was charged"):
            ledger.reserve("adult", Bill(asked=1, charged=1, item={**item, "plan": "x" * 100_000}))
    assert ledger.account("adult").charged == 0


def test_a_full_disk_charges_nothing(ledger: Ledger, path: Path, start: Started) -> None:
    said, _ = start(NO_ROOM, path).communicate()
    assert "Fix: " in said
    assert "so nothing was charged" in said or "cannot be read or written" in said
    assert ledger.account("adult").charged == 0
    assert ledger.entries() == ()


def test_a_ledger_kept_by_another_is_refused_in_the_end(
    ledger: Ledger, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "BUSY_SECONDS", 0)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(LedgerError, match="another process kept the ledger"):
        Ledger(path).record_refusal("adult", "refused")
    assert ledger.account("adult").charged == 0
    other.close()
