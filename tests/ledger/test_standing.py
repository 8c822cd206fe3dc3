"""How accounts stand, and the lock that whoever charges takes first."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from sqlalchemy import Select
from sqlalchemy.dialects import postgresql

from tetraodon.errors import LedgerError
from tetraodon.ledger import Ledger, allotment
from tetraodon.ledger import charging as standing
from tetraodon.ledger.charging import Bill, locked

Item = dict[str, object]


def test_an_account_stands_as_it_was_corrected_and_charged(ledger: Ledger, item: Item) -> None:
    ledger.correct("adult", 3)
    ledger.reserve("adult", Bill(asked=1, charged=Fraction(1, 3), item=item))
    account = ledger.account("adult")
    assert (account.total, account.charged, account.left) == (3, Fraction(1, 3), Fraction(8, 3))
    assert (account.spent.pure, account.spent.last) == (Fraction(1, 3), 1)
    with pytest.raises(LedgerError, match=r"'adlt' was never opened.*did you mean 'adult'\?"):
        ledger.account("adlt")


def test_a_server_locks_the_account_first() -> None:
    assert str(locked("adult").compile(dialect=postgresql.dialect())).endswith("FOR UPDATE")


def test_the_account_is_locked_and_then_the_allotment(
    ledger: Ledger, item: Item, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[str] = []

    def watched(name: str) -> Select[Any]:
        taken.append(name)
        return locked(name)

    real = allotment.allotment_of

    def allotted(*args: Any, lock: bool = False) -> Any:
        taken.extend(["ann"] if lock else [])
        return real(*args, lock=lock)

    ledger.allot("adult", "ann", 1)
    monkeypatch.setattr(standing, "locked", watched)
    monkeypatch.setattr(allotment, "allotment_of", allotted)
    ledger.check("adult", Bill(asked=1, charged=1, item=item, owner="ann"))
    assert taken == []
    ledger.reserve("adult", Bill(asked=1, charged=1, item=item, owner="ann"))
    assert taken == ["adult", "ann"]
