"""What the ledger remembers of a data set: its account, charges, and refusals that depended on the data."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from tetraodon.errors import LedgerError
from tetraodon.ledger.account import (
    LONGEST_NAME,
    Account,
    Entry,
    RecordedRefusal,
    ReleaseLoss,
    Reservation,
    dataset_name,
)
from tetraodon.ledger.amount import document_hash
from tetraodon.ledger.governing import governing_policy
from tetraodon.policy.load import load_policy

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


def test_a_release_with_a_delta_states_its_rho_or_that_the_delta_is_its_own() -> None:
    delta = Fraction(1, 10**6)
    parts: dict[str, Any] = {"policy": {}, "plan": {}}
    counted = entry(delta=delta, document=parts | {"certificate": {"delta": str(delta), "rho_exact": "1/50"}})
    assert counted.loss == ReleaseLoss(Fraction(1), Fraction(1, 50))
    alone = entry(delta=delta, document=parts | {"certificate": {"delta": str(delta)}})
    assert alone.loss == ReleaseLoss(Fraction(1), delta=delta)
    for damaged in ({}, {"delta": "1/1000"}):
        with pytest.raises(LedgerError, match="did not write"):
            assert entry(delta=delta, document=parts | {"certificate": damaged}).loss


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


def account(total: Fraction = Fraction(1), charged: Fraction = Fraction(0), digest: str = "") -> Account:
    return Account("adult", total, charged, {}, digest or document_hash({}), "2025-01-01T00:00:00+00:00")


def test_left_is_exact() -> None:
    assert account(charged=Fraction(1, 3)).left == Fraction(2, 3)


def test_it_can_be_hashed_although_a_policy_cannot() -> None:
    assert len({account(), account()}) == 1


def test_a_negative_total_is_refused() -> None:
    with pytest.raises(LedgerError, match="total is negative"):
        account(total=Fraction(-1))


def test_negative_charges_are_refused() -> None:
    with pytest.raises(LedgerError, match="sum of charges"):
        account(charged=Fraction(-1))


def test_a_policy_other_than_the_hashed_one_is_refused() -> None:
    with pytest.raises(LedgerError, match="does not match its hash"):
        account(digest=document_hash({"a": 1}))


@pytest.mark.parametrize("name", ["adult", "Haushalte 2025", "人口", "a/b:c", "x" * LONGEST_NAME])
def test_ordinary_names_are_kept(name: str) -> None:
    assert dataset_name(name) == name


@pytest.mark.parametrize("name", ["", " a", "a ", "a\nb", "a\x00", "\ud800", "x" * (LONGEST_NAME + 1)])
def test_names_that_cannot_be_told_apart_or_shown_are_refused(name: str) -> None:
    with pytest.raises(LedgerError, match="cannot be kept"):
        dataset_name(name)


def test_a_name_is_text() -> None:
    with pytest.raises(LedgerError, match="not text"):
        dataset_name(3)  # type: ignore[arg-type]


def test_the_governing_policy_is_understood_once() -> None:
    document = {"dataset": "d", "attributes": {"x": ["a", "b"]}, "budget": {"epsilon": 1}}
    first = Account("d", Fraction(1), Fraction(0), document, document_hash(document), "")
    again = Account("d", Fraction(2), Fraction(1), dict(reversed(document.items())), document_hash(document), "")
    assert governing_policy(first) == load_policy(document)
    assert governing_policy(again) is governing_policy(first)
