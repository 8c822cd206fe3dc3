"""Allotments: leave to spend, which sets nothing aside; the total of the data set wins."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from fractions import Fraction

import pytest
from tests.ledger.certificates import FREE, gaussian, pure

from tetraodon.errors import BudgetExhausted, LedgerError
from tetraodon.ledger import Ledger
from tetraodon.ledger.allotment import Allotment
from tetraodon.ledger.charging import Bill

ITEM = {"policy": {}, "plan": {}, "certificate": FREE}
HALF, TENTH = Fraction(1, 2), Fraction(1, 10)
SOON = datetime(2999, 1, 1, tzinfo=UTC)


def spend(ledger: Ledger, amount: Fraction | int, owner: str = "") -> None:
    ledger.reserve("adult", Bill(asked=amount, charged=amount, item=ITEM, owner=owner))


def test_an_owner_spends_their_allotment_and_no_more(ledger: Ledger) -> None:
    made = ledger.allot("adult", "ann", HALF, SOON)
    assert (made.amount, made.spent, made.expires) == (HALF, 0, "2999-01-01T00:00:00.000000+00:00")
    spend(ledger, Fraction(2, 5), "ann")
    assert ledger.left("adult", "ann") == TENTH
    for use in (ledger.reserve, ledger.check):
        with pytest.raises(BudgetExhausted, match=r"costs epsilon 0\.2, and the allotment of 'ann'.* has 0\.1 left"):
            use("adult", Bill(asked=1, charged=Fraction(1, 5), item=ITEM, owner="ann"))
    spend(ledger, TENTH, "ann")
    assert (ledger.left("adult", "ann"), ledger.left("adult")) == (0, HALF)
    assert [entry.owner for entry in ledger.entries("adult")] == ["ann", "ann"]
    assert ledger.audit().holds


def test_who_has_none_spends_nothing_and_a_curator_needs_none(ledger: Ledger) -> None:
    with pytest.raises(BudgetExhausted, match=r"nothing of data set 'adult' is allotted to 'bob'.*Fix: ask a curator"):
        spend(ledger, 0, "bob")
    assert ledger.left("adult", "bob") == 0
    spend(ledger, HALF)
    assert ledger.left("adult") == HALF


def test_allotments_may_be_more_than_the_total_which_wins(ledger: Ledger) -> None:
    for owner in ("ann", "bob", "eve"):
        ledger.allot("adult", owner, Fraction(4, 5))
    spend(ledger, Fraction(4, 5), "ann")
    assert ledger.left("adult", "bob") == Fraction(1, 5)
    with pytest.raises(BudgetExhausted, match=r"data set 'adult' has 0\.2 left of 1"):
        spend(ledger, HALF, "bob")
    spend(ledger, Fraction(1, 5), "eve")
    assert [ledger.left("adult", owner) for owner in ("ann", "bob", "eve")] == [0, 0, 0]
    assert {one.owner: one.spent for one in ledger.allotments("adult")} == {
        "ann": Fraction(4, 5),
        "bob": 0,
        "eve": Fraction(1, 5),
    }


def test_a_new_one_takes_the_place_of_the_old_and_what_was_spent_stays(ledger: Ledger) -> None:
    ledger.allot("adult", "ann", HALF)
    spend(ledger, Fraction(2, 5), "ann")
    assert ledger.allot("adult", "ann", TENTH).left("2026") == 0
    with pytest.raises(BudgetExhausted):
        spend(ledger, TENTH, "ann")
    ledger.allot("adult", "ann", "0.9")
    assert ledger.left("adult", "ann") == HALF
    assert [(one.owner, one.amount) for one in ledger.allotments("adult")] == [("ann", Fraction(9, 10))]


def test_one_that_has_expired_is_worth_nothing(ledger: Ledger) -> None:
    ledger.allot("adult", "ann", HALF, datetime.now(UTC) - timedelta(seconds=1))
    assert ledger.left("adult", "ann") == 0
    with pytest.raises(BudgetExhausted, match="has 0 left"):
        spend(ledger, TENTH, "ann")
    found = Allotment("adult", "ann", HALF, Fraction(0), "2026-06-01", "2026-01-01")
    assert (found.left("2026-05-31"), found.left("2026-06-01")) == (HALF, 0)


def test_with_gaussian_noise_owners_pay_what_they_add(ledger: Ledger) -> None:
    """Losses do not add up one by one; what everybody pays does add up to what is spent."""
    delta = Fraction(1, 10**6)
    certificate = gaussian(delta)
    ledger.open("births", 9, {}, delta=delta)
    for owner in ("ann", "bob"):
        ledger.allot("births", owner, 9)
    for owner in ("ann", "bob", "ann"):
        item = {**ITEM, "certificate": certificate}
        ledger.reserve("births", Bill(asked=9, charged=Fraction(certificate.epsilon), item=item, owner=owner))
    ann, bob = ledger.allotments("births")
    assert ann.spent + bob.spent == ledger.account("births").charged
    assert ann.spent > bob.spent > 0
    assert ledger.audit().holds


def test_waves_of_a_population_share_one(ledger: Ledger) -> None:
    for wave in ("jan", "feb"):
        ledger.open("jan", 1, {"dataset": "jan", "population": "panel"})
        ledger.allot("panel", "ann", HALF)
        item = {**ITEM, "policy": {"dataset": wave, "population": "panel"}, "certificate": pure(Fraction(1, 5))}
        ledger.reserve("panel", Bill(asked=1, charged=Fraction(1, 5), item=item, owner="ann"))
    assert ledger.left("jan", "ann") == ledger.left("panel", "ann") == TENTH


@pytest.mark.parametrize(
    ("owner", "amount", "expires", "words"),
    [
        ("", 1, None, "the name of the owner cannot be kept"),
        ("a\nb", 1, None, "the name of the owner cannot be kept"),
        (7, 1, None, "the name of the owner is not text"),
        ("ann", -1, None, "the allotment is negative"),
        ("ann", "some", None, "the allotment"),
        ("ann", 1, datetime(2026, 1, 1), "is no moment"),
        ("ann", 1, "2026", "is no moment"),
    ],
)
def test_what_is_no_allotment_is_refused(
    ledger: Ledger, owner: str, amount: int, expires: datetime | None, words: str
) -> None:
    with pytest.raises(LedgerError, match=words):
        ledger.allot("adult", owner, amount, expires)
    assert ledger.allotments("adult") == ()


def test_nothing_is_allotted_of_what_was_never_opened(ledger: Ledger) -> None:
    with pytest.raises(LedgerError, match="never opened"):
        ledger.allot("births", "ann", 1)
