"""A view that exposes too many is drawn once, charged once, and published only if that is accepted.

What a view exposes depends on its coins, which are seeded here: nothing can raise a false alarm.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars
import pytest

import tetraodon as td
from tetraodon.gate import release_transaction as permit
from tetraodon.noise.repeatable_coins import Dice

POLICY = {
    "dataset": "town",
    "presence": "public",
    "attributes": {name: {"integer": [0, 29]} for name in "abcd"},
    "budget": {"epsilon": 20},
    "adversary": {"prior": {"k": 10}, "posterior": 0.9},
}
DICE = np.random.default_rng(5)
TABLE = polars.DataFrame({name: DICE.integers(0, 14, 3000) for name in "abcd"})
"""People have the first fourteen values only: 38,416 of 810,000 tuples, which the attacker is not taken to know."""


@pytest.fixture(autouse=True)
def seeded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(permit, "system_coins", lambda: Dice(17))


@pytest.fixture
def book(tmp_path: Path) -> td.Ledger:
    ledger = td.Ledger(tmp_path / "ledger.db")
    ledger.open("town", 100, td.load_policy(POLICY).document)
    return ledger


def publish(book: td.Ledger, out: Path, *, accept: bool = False, resume: bool = False, **other: object) -> td.View:
    policy = td.load_policy({**POLICY, **other})
    return td.publish(policy, TABLE, ledger=book, accept_exposure=accept, resume=resume, out=out)


def test_it_is_held_back_and_published_when_accepted(tmp_path: Path, book: td.Ledger) -> None:
    out = tmp_path / "view"
    with pytest.raises(td.errors.Refused, match="held back") as caught:
        publish(book, out)
    assert "--accept-exposure" in str(caught.value)
    with pytest.raises(td.errors.Refused, match="held back"):  # nothing is drawn again, and nothing charged
        publish(book, out, resume=True)
    assert [entry.state for entry in book.entries("town")] == ["reserved"]
    assert not out.exists()
    [drawn] = [path.read_bytes() for path in tmp_path.glob(".*/**/tuples.parquet")][:1]
    view = publish(book, out, resume=True, accept=True)
    assert view.rows.read_bytes() == drawn
    assert [entry.state for entry in book.entries("town")] == ["settled"]
    assert all(check.passed for check in td.verify(out))


def test_who_accepts_beforehand_gets_it_at_once(tmp_path: Path, book: td.Ledger) -> None:
    publish(book, tmp_path / "view", accept=True)
    assert [entry.state for entry in book.entries("town")] == ["settled"]


def test_a_view_of_a_series(tmp_path: Path, book: td.Ledger) -> None:
    out, several = tmp_path / "series", {"adversary": {"prior": {"d": "0.001"}, "posterior": 0.9, "views": 2}}
    for number in (1, 2):
        with pytest.raises(td.errors.Refused, match="held back"):
            publish(book, out, **several)
        publish(book, out, resume=True, accept=True, **several)
        assert all(check.passed for check in td.verify(out / f"view-{number}"))
    assert [entry.state for entry in book.entries("town")] == ["settled"] * 2
