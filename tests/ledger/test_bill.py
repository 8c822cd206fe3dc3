"""Only what the kernel certified is charged, never less than it certified, and only what is left covers.

The ledger itself is tried in test_store.py.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from fractions import Fraction

import pytest
from tests.ledger.certificates import POLICY, gaussian, named, pure

import tetraodon as td
from tetraodon.errors import BudgetExhausted, ConcurrentCharge, LedgerError
from tetraodon.ledger import Ledger
from tetraodon.ledger.account import Account, Entry, Spent, composed
from tetraodon.ledger.amount import document_hash
from tetraodon.ledger.charging import Bill, check_affordable

Item = dict[str, object]


@pytest.mark.parametrize("real", [pure(1), gaussian(Fraction(1, 10**6))], ids=["pure", "gaussian"])
def test_what_looks_like_a_certificate_is_not_one(ledger: Ledger, item: Item, real: td.Certificate) -> None:
    class Posing:
        epsilon, witness, method, exact = real.epsilon, real.witness, real.method, real.exact
        rho, delta, finite = real.rho, real.delta, True

    document = asdict(real)
    for posing in (document, {}, Posing(), None, {"epsilon_exact": "0", "method": "trust me", "exact": True}):
        for use in (ledger.reserve, ledger.check):
            with pytest.raises(LedgerError, match="given as a certificate is none"):
                use("adult", Bill(asked=1, charged=1, item={**item, "certificate": posing}))
    assert ledger.entries() == ()


def test_no_less_is_charged_than_was_certified(ledger: Ledger, item: Item) -> None:
    third = {**item, "certificate": pure(Fraction(1, 3))}
    with pytest.raises(LedgerError, match="below the loss that was certified"):
        ledger.reserve("adult", Bill(asked=1, charged=Fraction(1, 4), item=third))
    assert ledger.entries() == ()
    ledger.reserve("adult", Bill(asked=1, charged=Fraction(1, 3), item=third))
    ledger.reserve("adult", Bill(asked=1, charged=Fraction(1, 4), item=third, after=1))
    assert ledger.account("adult").charged == Fraction(7, 12)


def test_an_infinite_loss_is_not_charged(ledger: Ledger, item: Item) -> None:
    told = td.certify(POLICY, [[1, 0]], 0)
    assert not told.finite
    with pytest.raises(LedgerError, match="infinite"):
        ledger.reserve("adult", Bill(asked=1, charged=1, item={**item, "certificate": told}))


def test_the_certificate_is_kept_as_the_ledger_writes_it(ledger: Ledger, item: Item) -> None:
    real = gaussian(Fraction(1, 10**6))
    ledger.open("births", 9, {}, delta=real.delta)
    ledger.reserve("births", Bill(asked=1, charged=Fraction(real.epsilon), item={**item, "certificate": real}))
    (entry,) = ledger.entries("births")
    assert entry.document["certificate"] == {
        "epsilon_exact": str(real.epsilon),
        "method": real.method,
        "exact": real.exact,
        "delta": "1/1000000",
        "rho_exact": "1/50",
    }
    assert entry.delta == real.delta


HALF = Fraction(1, 2)
ACCOUNT = Account("d", Fraction(1), HALF, {}, document_hash({}), "2026-01-01", spent=Spent(HALF, before=HALF, last=3))
EMPTY = replace(ACCOUNT, charged=Fraction(0), spent=Spent())


def entry(charged: Fraction, delta: Fraction = Fraction(0)) -> Entry:
    document = {"policy": {}, "plan": {}, "certificate": {"rho_exact": "1/50", "epsilon_exact": str(charged)}}
    return Entry(0, "d", charged, charged, "reserved", "2026-01-01", document, delta=delta)


def test_what_is_left_may_be_spent_and_no_more() -> None:
    assert check_affordable(ACCOUNT, entry(HALF), after=None).pure == 1
    assert check_affordable(ACCOUNT, entry(HALF), after=3).pure == 1
    with pytest.raises(BudgetExhausted, match=r"has 0\.5 left of 1"):
        check_affordable(ACCOUNT, entry(HALF + Fraction(1, 10**9)), after=None)


def test_a_price_for_another_past_is_none() -> None:
    for other in (0, 2, 4):
        with pytest.raises(ConcurrentCharge, match="while this one was priced"):
            check_affordable(ACCOUNT, entry(HALF), after=other)


def test_a_delta_that_the_account_does_not_have() -> None:
    with pytest.raises(BudgetExhausted, match="opened without a delta"):
        check_affordable(EMPTY, entry(HALF, Fraction(1, 10**6)), after=None)


def test_what_is_computed_together_with_earlier_ones_is_held_to_its_own_loss_too(ledger: Ledger, item: Item) -> None:
    one = {**item, "certificate": pure(1)}
    with pytest.raises(LedgerError, match="below the loss"):
        ledger.reserve("adult", Bill(asked=1, charged=0, item=one, after=0))
    ledger.reserve("adult", Bill(asked=1, charged=1, item=one, after=0))
    ledger.reserve("adult", Bill(asked=1, charged=0, item=one, after=1))


def test_what_cost_nothing_overtakes_too(ledger: Ledger, item: Item) -> None:
    """Two that each add nothing to what was released may add something to each other."""
    ledger.reserve("adult", Bill(asked=1, charged=1, item=item))
    first = Bill(asked=1, charged=0, item=item, after=1)
    second = Bill(asked=1, charged=0, item=item, after=1)
    ledger.reserve("adult", first)
    assert ledger.account("adult").charged == 1
    with pytest.raises(ConcurrentCharge, match="Fix: run the same command again"):
        ledger.reserve("adult", second)


# -- releases with a delta of their own ------------------------------------------------------------------


def spend(ledger: Ledger, item: Item, certificate: td.Certificate) -> None:
    plan = {"names": []} if certificate.rho is None and certificate.delta else {}
    priced = {**item, "plan": plan, "certificate": certificate}
    ledger.reserve("births", Bill(asked=1, charged=Fraction(certificate.epsilon), item=priced))


def test_deltas_of_names_add_up_and_gaussian_releases_take_the_rest(ledger: Ledger, item: Item) -> None:
    total = Fraction(1, 10**6)
    ledger.open("births", 9, {}, delta=total)
    spend(ledger, item, named(total * 2 / 5))
    spend(ledger, item, pure(1))
    spend(ledger, item, named(total * 2 / 5))
    with pytest.raises(BudgetExhausted, match="needs a delta of"):
        spend(ledger, item, named(total))
    spent = sum((entry.delta for entry in ledger.entries("births")), Fraction(0))
    assert total * 2 / 5 < spent <= total * 4 / 5
    spend(ledger, item, gaussian(total))
    losses = [entry.loss for entry in ledger.entries("births")]
    assert ledger.account("births").charged == composed(losses, total, Fraction(9))
    assert composed(losses, total, Fraction(9)) - composed(losses[:-1], total, Fraction(9)) == composed(
        losses[-1:], total - spent, 9 - composed(losses[:-1], total, Fraction(9))
    )
    with pytest.raises(BudgetExhausted, match="took all of its delta"):
        spend(ledger, item, named(total / 100))


def test_no_delta_is_left_for_gaussian_noise(ledger: Ledger, item: Item) -> None:
    certificate = named(Fraction(1, 10**6))
    ledger.open("births", 9, {}, delta=certificate.delta)
    spend(ledger, item, certificate)
    with pytest.raises(BudgetExhausted, match="took all of the delta"):
        spend(ledger, item, gaussian(certificate.delta))


def test_a_delta_of_their_own_needs_one_of_the_data_set(ledger: Ledger, item: Item) -> None:
    ledger.open("births", 9, {})
    with pytest.raises(BudgetExhausted, match="needs a delta of"):
        spend(ledger, item, named(Fraction(1, 10**6)))
