"""A release for an owner is charged before anything reads the table, and tells them nothing of what goes wrong."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import tetraodon as td
from tetraodon.releases import run


@pytest.fixture
def allotted(policy: td.Policy, ledger: td.Ledger) -> td.Ledger:
    ledger.allot(policy.dataset, "ann", 10)
    return ledger


def test_it_is_charged_to_its_owner(policy: td.Policy, table: pl.DataFrame, allotted: td.Ledger) -> None:
    td.release(td.plan(policy), table, ledger=allotted, owner="ann")
    (entry,) = allotted.entries(policy.dataset)
    assert (entry.owner, entry.state) == ("ann", "settled")
    assert allotted.allotments(policy.dataset)[0].spent == entry.charged == policy.epsilon


def test_the_charge_is_on_the_disk_before_the_table_is_read(
    policy: td.Policy, table: pl.DataFrame, allotted: td.Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen, real = [], run.count

    def looking(*args: object, **named: object) -> object:
        seen.append(len(allotted.entries(policy.dataset)))
        return real(*args, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(run, "count", looking)
    for owner in ("", "ann"):
        td.release(td.plan(policy), table, ledger=allotted, owner=owner)
    assert seen == [0, 2]  # a curator's is counted first


def broken_tables(table: pl.DataFrame, folder: Path) -> dict[str, object]:
    (folder / "cut.parquet").write_bytes(b"PAR1")
    return {
        "empty": table.head(0),
        "a column less": table.drop("age"),
        "not there": str(folder / "gone.csv"),
        "damaged": str(folder / "cut.parquet"),
    }


@pytest.mark.parametrize("which", ["empty", "a column less", "not there", "damaged"])
def test_whatever_is_wrong_with_the_table_they_are_told_the_same(
    policy: td.Policy, table: pl.DataFrame, allotted: td.Ledger, tmp_path: Path, which: str
) -> None:
    plan, out = td.plan(policy), tmp_path / "out"
    with pytest.raises(td.errors.FailedAfterCharge) as told:
        td.release(plan, broken_tables(table, tmp_path)[which], ledger=allotted, out=out, owner="ann")
    assert str(told.value) == (
        "this release is charged, and could not be finished. Fix: ask your curator, who can finish it."
    )
    assert isinstance(told.value.__cause__, td.errors.TetraodonError)
    (entry,) = allotted.entries(policy.dataset)
    assert (entry.owner, entry.state) == ("ann", "reserved")
    td.release(plan, table, ledger=allotted, out=out, owner="ann", resume=True)
    (finished,) = allotted.entries(policy.dataset)
    assert (finished.id, finished.state) == (entry.id, "settled")


def test_what_is_refused_before_the_charge_says_why(
    policy: td.Policy, table: pl.DataFrame, ledger: td.Ledger, tmp_path: Path
) -> None:
    with pytest.raises(td.errors.BudgetExhausted, match=r"nothing of data set .* is allotted to 'ann'"):
        td.release(td.plan(policy), table.head(0), ledger=ledger, out=tmp_path / "out", owner="ann")
    assert ledger.entries(policy.dataset) == ()
    assert ledger.refusals(policy.dataset) == ()
    assert not (tmp_path / ".out.pending").exists()


def test_only_its_owner_finishes_it(
    policy: td.Policy, table: pl.DataFrame, allotted: td.Ledger, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    with pytest.raises(td.errors.FailedAfterCharge):
        td.release(td.plan(policy), table.head(0), ledger=allotted, out=out, owner="ann")
    with pytest.raises(td.errors.ReleaseError, match="another policy, plan or owner"):
        td.release(td.plan(policy), table, ledger=allotted, out=out, resume=True)
