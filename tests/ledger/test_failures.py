from __future__ import annotations

import sqlite3
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy.exc import OperationalError

from tetraodon.errors import LedgerError
from tetraodon.ledger import Ledger, database
from tetraodon.ledger.charging import Bill
from tetraodon.ledger.database import explained

Started = Callable[..., "subprocess.Popen[str]"]

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
