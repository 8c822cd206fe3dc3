"""Whatever is changed, added or taken away behind a ledger's back is found, and what is old is told by a noted hash."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest
from sqlalchemy import insert
from tests.ledger.certificates import FREE

from tetraodon.ledger import Ledger
from tetraodon.ledger.audit import audited
from tetraodon.ledger.charging import Bill
from tetraodon.ledger.entries import START, append
from tetraodon.ledger.schema import corrections

ITEM = {"policy": {}, "plan": {}, "certificate": FREE}


@pytest.fixture
def used(ledger: Ledger, path: Path) -> Path:
    """Two settled entries, a reserved one, a refusal, and no trigger that would keep anybody from changing them."""
    for _ in range(2):
        ledger.settle(ledger.reserve("adult", Bill(asked=1, charged=0, item=ITEM)), manifest_hash="ab")
    ledger.reserve("adult", Bill(asked=1, charged=0, item=ITEM))
    ledger.record_refusal("adult", "table-refused")
    raw = sqlite3.connect(path)
    for (name,) in raw.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        raw.execute(f"DROP TRIGGER {name}")
    raw.commit()
    raw.close()
    return path


def change(path: Path, *statements: str) -> None:
    raw = sqlite3.connect(path)
    for statement in statements:
        raw.execute(statement)
    raw.commit()
    raw.close()


def test_a_ledger_that_nobody_touched_holds(used: Path) -> None:
    with Ledger(used) as ledger:
        found = ledger.audit()
        assert found.holds
        assert (found.records, found.head) == (8, found.hashes[-1])
        assert sorted(found.charges) == [1, 2, 3]
        with ledger._database.reading() as connection:
            assert audited(connection) == found


@pytest.mark.parametrize(
    ("statements", "told"),
    [
        (["UPDATE entries SET charged = '1/9' WHERE id = 2"], r"entry 2.*was changed"),
        (["UPDATE entries SET document = '{}' WHERE id = 1"], r"entry 1.*was changed"),
        (["UPDATE entries SET manifest_hash = 'cd' WHERE id = 1"], r"settled: entry 1.*was changed"),
        (["UPDATE entries SET state = 'reserved' WHERE id = 1"], r"settled: entry 1.*deleted"),
        (["UPDATE accounts SET total = '9'"], r"opened: data set adult.*was changed"),
        (["UPDATE keys SET public_key = 'AAAA'"], r"key 1.*was changed"),
        (["UPDATE refusals SET kind = 'other'"], r"refusal 1.*was changed"),
        (["DELETE FROM entries WHERE id = 2"], r"reserved: entry 2.*deleted"),
        (["DELETE FROM refusals"], r"refusal 1.*deleted"),
        (["DELETE FROM chain WHERE number = 3"], r"should have the number 3"),
        (["DELETE FROM chain WHERE number = 8"], r"refusal 1 \(refused\) is not in the chain"),
        (
            ["INSERT INTO entries SELECT 9, dataset, asked, charged, delta, state, reserved_at, settled_at,"
             " manifest_hash, document FROM entries WHERE id = 3"],
            r"entry 9 \(reserved\) is not in the chain",
        ),
        (
            ["UPDATE chain SET number = -1 WHERE number = 4", "UPDATE chain SET number = 4 WHERE number = 5",
             "UPDATE chain SET number = 5 WHERE number = -1"],
            r"record 4 of the chain.*was changed",
        ),
        (["UPDATE chain SET hash = 'ff' WHERE number = 5"], r"record 5.*was changed"),
        (["UPDATE chain SET kind = 'gift' WHERE number = 5"], r"record 5.*deleted"),
        (["UPDATE entries SET charged = x'00' WHERE id = 1"], r"entry 1.*was changed"),
    ],
)  # fmt: skip
def test_a_change_is_found(used: Path, statements: list[str], told: str) -> None:
    import re

    change(used, *statements)
    found = Ledger(used).audit()
    assert not found.holds
    assert any(re.search(told, problem) for problem in found.problems), found.problems


def test_a_total_that_was_raised_after_a_charge_is_found_although_the_chain_fits(ledger: Ledger) -> None:
    ledger.correct("adult", 2)
    ledger.reserve("adult", Bill(asked=1, charged=0, item=ITEM))
    assert ledger.audit().holds
    with ledger._database.writing() as connection:  # by whoever may write, and knows how
        values = {"dataset": "adult", "total": "9", "delta": "0", "corrected_at": "2026-01-01"}
        (key,) = connection.execute(insert(corrections).values(**values)).inserted_primary_key or []
        append(connection, "corrected", key)
    assert ledger.account("adult").total == 9
    assert ledger.audit().problems == ("correction 2 came after a charge: a total was changed that stood",)


def test_a_backup_put_back_is_told_by_a_noted_hash(ledger: Ledger, path: Path, tmp_path: Path) -> None:
    early = ledger.audit().head
    shutil.copy(path, tmp_path / "backup.db")
    ledger.reserve("adult", Bill(asked=1, charged=1, item=ITEM))
    noted = ledger.audit().head
    assert ledger.audit().compared(noted) == ledger.audit().compared(early) == ledger.audit().compared(START) == ""
    shutil.copy(tmp_path / "backup.db", path)
    found = ledger.audit()
    assert found.holds  # by itself an old copy is a good ledger
    assert "rewritten" in found.compared(noted)
    assert found.compared(early) == ""
