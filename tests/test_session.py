"""A session: what it plans is free, what it releases is charged, and what it answers was released."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pandas as pd
import polars as pl
import pytest

import tetraodon as td

POLICY = {
    "dataset": "ages",
    "attributes": {"age": {"integer": [0, 9]}, "sex": ["f", "m"]},
    "secrets": {"age": {"within": 2}},
    "budget": {"epsilon": 1},
    "release": [{"name": "ages", "histogram": "age"}],
}
TABLE = pl.DataFrame({"age": [3, 4, 4, 5] * 50, "sex": ["f", "m"] * 100})


def test_a_plan_is_free_and_a_release_is_charged(tmp_path: Path) -> None:
    with td.Session(POLICY, TABLE, ledger=tmp_path / "l.db", total=2) as session:
        assert session.plan(epsilon="0.5").epsilon == Fraction(1, 2)
        assert session.left == 2
        with pytest.raises(td.errors.QueryError, match="nothing was released"):
            session.ask("age >= 4")
        made = session.release({"means": td.queries.mean("age", by="sex")}, epsilon="0.5")
        assert session.left == Fraction(3, 2)
        assert list(made) == ["means"]
        made = session.release(out=tmp_path / "out")
        assert session.ask("age >= 4").source == "ages"
        assert Fraction(1, 2) <= session.left < 1  # priced together with the first, and no dearer than by itself
        with pytest.raises(td.errors.BudgetExhausted):
            session.release(epsilon=3)
        assert len(session.releases) == 2
    assert td.verify(tmp_path / "out")
    assert len(pd.DataFrame(made["ages"])) == len(pl.DataFrame(made["ages"])) == len(made["ages"]) == 10


def test_it_uses_an_open_ledger_and_leaves_it_open(tmp_path: Path) -> None:
    with td.Ledger(tmp_path / "l.db") as ledger:
        with td.Session(POLICY, TABLE, ledger=ledger, total=1) as session:
            session.release([{"name": "sexes", "histogram": "sex"}])
        assert ledger.account("ages").charged > 0


def test_a_ledger_without_the_account_is_refused(tmp_path: Path) -> None:
    with pytest.raises(td.errors.LedgerError, match="no ledger here"):
        td.Session(POLICY, TABLE, ledger=tmp_path / "none.db")
    assert not list(tmp_path.iterdir())


def test_a_forged_folder_is_false(tmp_path: Path) -> None:
    with td.Session(POLICY, TABLE, ledger=tmp_path / "l.db", total=2) as session:
        session.release(out=tmp_path / "out")
    with open(tmp_path / "out" / "report.html", "a") as page:
        page.write(" ")
    found = td.verify(tmp_path / "out")
    assert not found
    assert [check.what for check in found.failed] == ["file report.html"]
    assert "1 of" in repr(found)
