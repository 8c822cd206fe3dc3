"""A release that was charged and not finished is finished under the same charge, with the same numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import tetraodon as td
from tetraodon.noise.laws.laplace import LaplaceNoise
from tetraodon.releasing import folder, run
from tetraodon.releasing.pending import pending_folder


def crash(*_: Any, **__: Any) -> None:
    raise KeyboardInterrupt


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "release"


def interrupted(plan: td.Plan, table: pl.DataFrame, ledger: td.Ledger, out: Path, at: tuple[Any, str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(*at, crash)
        with pytest.raises(KeyboardInterrupt):
            td.release(plan, table, ledger=ledger, out=out)


@pytest.mark.parametrize(
    "at",
    [(LaplaceNoise, "draw"), (run.pending, "keep"), (folder, "manifest_of"), (td.Ledger, "settle")],
    ids=["before noise", "before numbers are kept", "before the folder", "before settling"],
)
def test_it_is_charged_once_and_finished(
    policy: td.Policy, table: pl.DataFrame, ledger: td.Ledger, out: Path, at: tuple[Any, str]
) -> None:
    plan = td.plan(policy)
    interrupted(plan, table, ledger, out, at)
    (entry,) = ledger.entries(policy.dataset)
    assert entry.state == "reserved"
    with pytest.raises(td.ReleaseError, match=r"charged and not finished.*--resume"):
        td.release(plan, table, ledger=ledger, out=out, force=True)
    td.release(plan, table, ledger=ledger, out=out, resume=True)
    (after,) = ledger.entries(policy.dataset)
    assert (after.id, after.state, ledger.account(policy.dataset).charged) == (entry.id, "settled", policy.epsilon)
    assert not pending_folder(out).exists()
    assert all(check.passed for check in td.verify(out))


def test_numbers_that_were_drawn_are_not_drawn_again(
    policy: td.Policy, table: pl.DataFrame, ledger: td.Ledger, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder was there to be read before the crash: the same numbers must be in it afterwards."""
    plan = td.plan(policy)
    interrupted(plan, table, ledger, out, (td.Ledger, "settle"))
    seen = td.load_release(out)
    monkeypatch.setattr(LaplaceNoise, "draw", crash)
    monkeypatch.setattr(run, "_count", crash)
    made = td.release(plan, table.head(0), ledger=ledger, out=out, resume=True)  # the table is not even opened
    for name, arrays in seen.measured.items():
        assert all(np.array_equal(a, b) for a, b in zip(arrays, made.measured[name], strict=True))


def test_nothing_to_resume_is_a_plain_release(
    policy: td.Policy, table: pl.DataFrame, ledger: td.Ledger, out: Path
) -> None:
    td.release(td.plan(policy), table, ledger=ledger, out=out, resume=True)
    assert len(ledger.entries(policy.dataset)) == 1


def test_a_table_lost_while_it_is_counted_costs_nothing(
    policy: td.Policy, table: pl.DataFrame, ledger: td.Ledger, out: Path
) -> None:
    def lost(*_: Any) -> None:
        raise td.TableError("the connection to the database was lost", fix="wait")

    plan = td.plan(policy)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "_count", lost)
        with pytest.raises(td.TableError):
            td.release(plan, table, ledger=ledger, out=out)
    assert ledger.entries(policy.dataset) == ()
    assert ledger.refusals(policy.dataset) == ()
    td.release(plan, table, ledger=ledger, out=out, resume=True)
    assert len(ledger.entries(policy.dataset)) == 1


def test_what_does_not_belong_together_is_refused(
    policy: td.Policy, table: pl.DataFrame, ledger: td.Ledger, out: Path, tmp_path: Path
) -> None:
    plan = td.plan(policy)
    interrupted(plan, table, ledger, out, (folder, "manifest_of"))
    with pytest.raises(td.ReleaseError, match="another policy or plan"):
        td.release(td.plan(policy, epsilon=2), table, ledger=ledger, out=out, resume=True)
    other = td.Ledger(tmp_path / "other.db")
    other.open(policy.dataset, policy.epsilon, policy.document)
    with pytest.raises(td.ReleaseError, match="the ledger does not have"):
        td.release(plan, table, ledger=other, out=out, resume=True)
    kept = pending_folder(out) / "reservation.json"
    content = kept.read_text()
    kept.write_text(json.dumps({**json.loads(content), "id": "x"}))
    with pytest.raises(td.ReleaseError, match="cannot be read"):
        td.release(plan, table, ledger=ledger, out=out, resume=True)
    kept.write_text(content)
    (pending_folder(out) / "measured.npz").write_bytes(b"broken")
    with pytest.raises(td.ReleaseError, match="cannot be read"):
        td.release(plan, table, ledger=ledger, out=out, resume=True)
