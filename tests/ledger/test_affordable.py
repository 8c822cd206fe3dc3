"""What is left of a total covers one more release, or it does not; the ledger itself is tried in test_store.py."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tetraodon.errors import BudgetExhausted, LedgerError
from tetraodon.ledger.account import Account
from tetraodon.ledger.affordable import check_affordable
from tetraodon.ledger.compose import ReleaseLoss
from tetraodon.ledger.document import document_hash
from tetraodon.ledger.entry import Entry

HALF = Fraction(1, 2)
ACCOUNT = Account("d", Fraction(1), HALF, {}, document_hash({}), "2026-01-01")


def entry(charged: Fraction, delta: Fraction = Fraction(0)) -> Entry:
    document = {"policy": {}, "plan": {}, "certificate": {"rho_exact": "1/50"}}
    return Entry(0, "d", charged, charged, "reserved", "2026-01-01", document, delta=delta)


def test_what_is_left_may_be_spent_and_no_more() -> None:
    check_affordable(ACCOUNT, [ReleaseLoss(HALF)], entry(HALF), after=None)
    check_affordable(ACCOUNT, [ReleaseLoss(HALF)], entry(HALF), after=HALF)
    with pytest.raises(BudgetExhausted, match=r"has 0\.5 left of 1"):
        check_affordable(ACCOUNT, [ReleaseLoss(HALF)], entry(HALF + Fraction(1, 10**9)), after=None)


def test_a_price_for_another_past_is_none() -> None:
    with pytest.raises(LedgerError, match="while this one was priced"):
        check_affordable(ACCOUNT, [ReleaseLoss(HALF)], entry(HALF), after=Fraction(0))


def test_a_delta_that_the_account_does_not_have() -> None:
    with pytest.raises(BudgetExhausted, match="opened without a delta"):
        check_affordable(ACCOUNT, [], entry(HALF, Fraction(1, 10**6)), after=None)
