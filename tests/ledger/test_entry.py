from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from tetraodon.errors import LedgerError
from tetraodon.ledger.entry import Entry, RecordedRefusal, Reservation

NOW = "2025-01-01T00:00:00+00:00"


def entry(**changes: Any) -> Entry:
    fields = {"id": 1, "dataset": "adult", "asked": Fraction(1), "charged": Fraction(1)}
    return Entry(
        **{
            **fields,
            "state": "reserved",
            "when": NOW,
            "document": {"policy": {}, "plan": {}, "certificate": {}},
            **changes,
        }
    )


def test_both_states_can_be_kept() -> None:
    assert entry().state == "reserved"
    assert entry(state="settled", settled=NOW, manifest_hash="ab").manifest_hash == "ab"


@pytest.mark.parametrize(
    "changes",
    [{"state": "refunded"}, {"state": "settled"}, {"settled": NOW, "manifest_hash": "ab"}],
)
def test_a_state_that_we_would_not_write_is_damage(changes: dict[str, Any]) -> None:
    with pytest.raises(LedgerError, match="did not write"):
        entry(**changes)


@pytest.mark.parametrize("part", ["asked", "charged"])
@pytest.mark.parametrize("number", [Fraction(-1), 0.5])
def test_amounts_are_checked(part: str, number: object) -> None:
    with pytest.raises(LedgerError, match=r"negative|exact"):
        entry(**{part: number})
    fields: dict[str, Any] = {"asked": Fraction(1), "charged": Fraction(1), part: number}
    with pytest.raises(LedgerError, match=r"negative|exact"):
        Reservation(1, "adult", when=NOW, **fields)


@pytest.mark.parametrize("kind", ["no-convergence", "table_error", "refused"])
def test_a_kind_is_a_word(kind: str) -> None:
    assert RecordedRefusal("adult", kind, NOW).kind == kind


@pytest.mark.parametrize("kind", ["", "17 rows", "rows-17", "Bad", "a b", "a-", "-a", "a\n", "x" * 41])
def test_a_kind_cannot_carry_detail(kind: str) -> None:
    with pytest.raises(LedgerError, match="not a fixed word"):
        RecordedRefusal("adult", kind, NOW)
