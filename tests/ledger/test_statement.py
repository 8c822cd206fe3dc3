from __future__ import annotations

from fractions import Fraction

import pytest
from tests.ledger.certificates import FREE

from tetraodon.errors import LedgerError
from tetraodon.ledger import Ledger, Reservation
from tetraodon.ledger.charging import Bill
from tetraodon.ledger.entries import SAME_ENTRY, unknown


def test_a_statement_is_the_entry_and_its_hash(ledger: Ledger) -> None:
    ledger.record_refusal("adult", "table-refused")
    item = {"policy": {}, "plan": {}, "certificate": FREE}
    made = ledger.reserve("adult", Bill(asked=Fraction(1, 2), charged=Fraction(1, 3), item=item))
    found = ledger.statement(made)
    assert found == {
        "entry": made.id,
        "dataset": "adult",
        "when": made.when[:10],  # the moment would tell how long a worker took for the one before
        "asked": "0.5",
        "charged": "1/3",
        "delta": "0",
        "chain": ledger.audit().charges[made.id],
    }
    ledger.settle(made, manifest_hash="ab")
    assert ledger.statement(made) == found


def test_a_reservation_of_another_ledger_has_none(ledger: Ledger) -> None:
    other = Reservation(1, "adult", Fraction(1), Fraction(1), "2026")
    with pytest.raises(LedgerError, match="does not know this reservation"):
        ledger.statement(other)
    assert "entries.reserved_at" in str(SAME_ENTRY)
    assert "settle it" in str(unknown())
