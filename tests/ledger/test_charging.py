"""Charges: bills, what fits an account, losses composed."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import ndtr
from tests.ledger.certificates import POLICY, gaussian, named, pure
from tests.ledger.test_postgres import address as address  # the fixture
from tests.services import needs_postgres

import tetraodon as td
from tetraodon.errors import BudgetExhausted, ConcurrentCharge, LedgerError
from tetraodon.exact.zcdp import epsilon_at, rho_at
from tetraodon.ledger import Ledger
from tetraodon.ledger.account import Account, Entry, ReleaseLoss, Spent, composed, spent_by
from tetraodon.ledger.amount import document_hash
from tetraodon.ledger.charging import Bill, check_affordable

# -- charging ---------------------------------------------------------------------------------------
# Twenty-four processes behind one barrier spend no more than there is; without the lock they do.
# Everybody waits, between the check and the writing, until all have checked or somebody has waited long enough.
# Without a lock all of them find that there is enough; with one, the second is not let in before the first has
# written.


PEOPLE = 24
SPENDING = """
import multiprocessing, sys, time
from contextlib import suppress
from fractions import Fraction
from threading import BrokenBarrierError
from tests.ledger.certificates import FREE
from tetraodon.errors import LedgerError
from tetraodon.ledger import Ledger, charging, database
from tetraodon.ledger.charging import Bill

address, without_lock, people = sys.argv[1], sys.argv[2] == "mutant", int(sys.argv[3])
context = multiprocessing.get_context("fork")
barrier, mine = context.Barrier(people), 0

if without_lock:
    database.ALONE = dict.fromkeys(database.ALONE, "SELECT 1")
    charging_fitting = charging.fitting
    charging.fitting = lambda *args, lock: charging_fitting(*args, lock=False)

checked = charging.check_allotment

def check_and_wait(*args, **kwargs):
    found = checked(*args, **kwargs)
    with suppress(BrokenBarrierError):
        barrier.wait(20 if without_lock else 2)
    if without_lock:
        time.sleep(mine / 5)  # of two who add to the chain at once one fails
    return found

charging.check_allotment = check_and_wait

def spend(number):
    global mine
    mine = number
    owner = "ann" if number % 2 else "bob"
    bill = Bill(1, Fraction(1, 5), {"policy": {}, "plan": {}, "certificate": FREE}, owner=owner)
    with Ledger(address) as ledger:
        with suppress(LedgerError):
            ledger.reserve("adult", bill)

running = [context.Process(target=spend, args=[number]) for number in range(people)]
for process in running:
    process.start()
for process in running:
    process.join()
"""


def charged_by_all(address: str, how: str) -> tuple[Fraction, dict[str, Fraction]]:
    """What was charged in all, and to whom; counted from the entries, since a mutant may keep wrong sums."""
    with Ledger(address) as ledger:
        ledger.open("adult", 1, {})
        for owner in ("ann", "bob"):
            ledger.allot("adult", owner, Fraction(4, 5))
        done = subprocess.run(
            [sys.executable, "-c", SPENDING, address, how, str(PEOPLE)], capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stderr
        found = {"ann": Fraction(0), "bob": Fraction(0)}
        for entry in ledger.entries("adult"):
            found[entry.owner] += entry.charged
        return sum(found.values(), Fraction(0)), found


def never_overspent(address: str) -> None:
    total, each = charged_by_all(address, "whole")
    assert total == 1
    assert max(each.values()) <= Fraction(4, 5)
    with Ledger(address) as ledger:
        assert {one.owner: one.spent for one in ledger.allotments("adult")} == each
        assert ledger.left("adult") == 0
        assert ledger.audit().holds


def test_a_file_is_never_overspent(path: Path) -> None:
    never_overspent(str(path))


def test_a_file_without_the_lock_is_overspent(path: Path) -> None:
    total, _ = charged_by_all(str(path), "mutant")
    assert total > 1


@needs_postgres
def test_a_server_is_never_overspent(address: str) -> None:
    never_overspent(address)


@needs_postgres
def test_a_server_without_the_lock_is_overspent(address: str) -> None:
    total, _ = charged_by_all(address, "mutant")
    assert total > 1


# -- bill -------------------------------------------------------------------------------------------
# Only what the kernel certified is charged, never less than it certified, and only what is left covers.
# The ledger itself is tried in test_store.py.


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


# -- compose ----------------------------------------------------------------------------------------
# Mixed losses compose to no less than they lose together, whoever chooses the releases and whenever.


DELTA = Fraction(1, 10**6)
TOTAL = Fraction(3)
pure_losses = st.fractions(Fraction(1, 100), 3, max_denominator=100).map(ReleaseLoss)
mixed = st.fractions(Fraction(1, 1000), 1, max_denominator=1000).map(
    lambda rho: ReleaseLoss(epsilon_at(rho, DELTA), rho)
)
totals = st.fractions(Fraction(1, 100), 20, max_denominator=100)


def best_each_time(losses: list[ReleaseLoss], delta: Fraction) -> Fraction:
    """What is true of releases that were fixed beforehand, and no filter: the best order of what happened to be spent.

    Version 0.1 charged this or less.
    """
    rho = sum((loss.rho for loss in losses if loss.rho is not None), Fraction(0))
    return sum((loss.epsilon for loss in losses if loss.rho is None), Fraction(0)) + epsilon_at(rho, delta)


def accounted(losses: list[ReleaseLoss], delta: Fraction) -> float:
    """The other bound that version 0.1 took where it was smaller: Renyi divergences, by an accountant of others."""
    from dp_accounting import NeighboringRelation, RandomizedResponseDpEvent, ZCDpEvent
    from dp_accounting.rdp import RdpAccountant

    orders = [1.02 + 0.1 * math.exp(step / 8) for step in range(80)]
    accountant = RdpAccountant(orders, NeighboringRelation.REPLACE_ONE)
    for loss in losses:
        if loss.rho is None:
            accountant.compose(RandomizedResponseDpEvent(2 / (1 + math.exp(float(loss.epsilon))), 2))
        else:
            accountant.compose(ZCDpEvent(float(loss.rho), 0))
    return float(accountant.get_epsilon(float(delta)))


def delta_of(losses: list[ReleaseLoss], epsilon: float) -> float:
    """The exact delta of honest answers turned round, as often as their pure losses allow, beside continuous Gaussian
    noise of the added-up rho: mechanisms that have these losses.
    """
    distance = math.sqrt(2 * sum(float(loss.rho) for loss in losses if loss.rho is not None))
    law = {0.0: 1.0}
    for loss in losses:
        if loss.rho is None:
            up = 1 / (1 + math.exp(-float(loss.epsilon)))
            after: dict[float, float] = {}
            for place, chance in law.items():
                for step, part in ((float(loss.epsilon), up), (-float(loss.epsilon), 1 - up)):
                    after[round(place + step, 9)] = after.get(round(place + step, 9), 0.0) + chance * part
            law = after

    def gaussian(rest: float) -> float:
        if not distance:
            return max(0.0, -math.expm1(rest))
        high = math.erfc((rest / distance - distance / 2) / math.sqrt(2)) / 2
        return high - math.exp(min(rest, 700)) * math.erfc((rest / distance + distance / 2) / math.sqrt(2)) / 2

    return sum(chance * gaussian(epsilon - place) for place, chance in law.items())


def adaptive_delta(total: float, rho: float, allowed: Callable[[float], float], *, steps: int, unit: float) -> float:
    """At most the delta that an analyst reaches who sees each answer and decides: one more Gaussian step, or one count
    with the pure loss that the rule still allows, and then nothing more.

    Why  the loss so far is kept in whole units, rounded down, and what can be won from it only grows with it; so this
         is a bound from below. The best decisions are found backwards. A count with discrete Laplace noise loses
         +epsilon with chance 1 / (1 + e^-epsilon), and -epsilon otherwise.
    """
    step, width = rho / steps, math.sqrt(2 * rho / steps)
    low, high = -round((total + 3) / unit), round((total + 6) / unit)
    loss = unit * np.arange(low, high)
    reach = math.ceil((9 * width + step) / unit)
    places = unit * np.arange(-reach, reach + 1)
    chance = ndtr((places + unit - step) / width) - ndtr((places - step) / width)

    def exceeding(reached: NDArray[np.float64]) -> NDArray[np.float64]:
        return -np.expm1(np.minimum(total - reached, 0.0))

    def last(spent: float) -> NDArray[np.float64]:
        epsilon = math.floor(max(allowed(spent), 0.0) / unit) * unit
        up = 1 / (1 + math.exp(-epsilon))
        return up * exceeding(loss + epsilon) + (1 - up) * exceeding(loss - epsilon)

    won = last(rho)
    for number in range(steps - 1, -1, -1):
        padded = np.concatenate([np.zeros(reach), won, np.full(reach, won[-1])])
        won = np.maximum(last(number * step), np.convolve(padded, chance[::-1], "valid"))
    return float(won[-low])


def exactly(number: float) -> Fraction:
    return Fraction(number).limit_denominator(10**12)


@pytest.mark.parametrize(("total", "delta"), [(1, "1e-6"), (2, "1e-6"), (8, "1e-6")])
def test_whoever_chooses_after_each_answer_keeps_delta(total: int, delta: str) -> None:
    forgiven, whole = Fraction(delta), Fraction(total)
    rho = float(rho_at(whole, forgiven)) * (1 - 1e-9)

    def gaussian(spent: float) -> list[ReleaseLoss]:
        return [ReleaseLoss(Fraction(0), exactly(spent))] if spent else []

    def hopeful(spent: float) -> float:
        return total - float(best_each_time(gaussian(spent), forgiven))

    def ours(spent: float) -> float:
        return total - float(composed(gaussian(spent), forgiven, whole))

    terms = {"steps": 40, "unit": total / 1000}
    assert adaptive_delta(total, rho, hopeful, **terms) > 1.05 * float(forgiven)  # type: ignore[arg-type]
    assert 0.05 * float(forgiven) < adaptive_delta(total, rho, ours, **terms) <= float(forgiven)  # type: ignore[arg-type]


@settings(max_examples=40, deadline=None)
@given(st.lists(pure_losses, max_size=6), st.lists(mixed, max_size=3), totals)
def test_it_is_never_below_what_version_one_charged(
    one: list[ReleaseLoss], other: list[ReleaseLoss], total: Fraction
) -> None:
    losses = [*one, *other]
    found = composed(losses, DELTA, total)
    assert delta_of(losses, float(found)) <= float(DELTA)
    assert found >= best_each_time(losses, DELTA) - Fraction(1, 10**9)  # the best order is searched for


def test_nor_below_what_an_accountant_says_of_many_small_releases() -> None:
    losses = [*[ReleaseLoss(Fraction(1, 10))] * 60, ReleaseLoss(Fraction(1), Fraction(1, 50))]
    assert accounted(losses, DELTA) < composed(losses, DELTA, TOTAL)
    assert composed([ReleaseLoss(Fraction(1, 10))] * 60, DELTA, TOTAL) == 6


@settings(max_examples=25, deadline=None)
@given(st.lists(st.one_of(pure_losses, mixed), min_size=1, max_size=5), st.one_of(pure_losses, mixed), totals)
def test_one_more_release_never_lowers_it(losses: list[ReleaseLoss], more: ReleaseLoss, total: Fraction) -> None:
    before, after = composed(losses, DELTA, total), composed([*losses, more], DELTA, total)
    assert before <= after
    if more.rho is None:
        assert after == before + more.epsilon


@settings(max_examples=40, deadline=None)
@given(totals, st.integers(1, 9), st.integers(1, 12))
def test_gaussian_releases_alone_may_spend_everything(total: Fraction, parts: int, power: int) -> None:
    delta = Fraction(1, 10**power)
    rho = rho_at(total, delta)
    assert composed([ReleaseLoss(total, rho / parts)] * parts, delta, total) <= total
    assert composed([ReleaseLoss(total, rho * Fraction(10**6 + 1, 10**6) + Fraction(1, 10**9))], delta, total) > total


@settings(max_examples=25, deadline=None)
@given(st.lists(pure_losses, max_size=3), mixed, st.lists(st.one_of(pure_losses, mixed), max_size=3), totals)
def test_the_order_is_fixed_before_the_first_gaussian_noise(
    before: list[ReleaseLoss], first: ReleaseLoss, later: list[ReleaseLoss], total: Fraction
) -> None:
    order = spent_by([*before, ReleaseLoss(Fraction(1), Fraction(1, 7))]).order(DELTA, total)
    assert spent_by([*before, first, *later]).order(DELTA, total) == order


def test_what_is_left_for_gaussian_noise_is_what_pure_releases_left() -> None:
    rest = rho_at(Fraction(2), DELTA)
    assert composed([ReleaseLoss(Fraction(1)), ReleaseLoss(Fraction(2), rest)], DELTA, TOTAL) <= TOTAL


def test_without_delta_losses_add_up() -> None:
    assert composed([ReleaseLoss(Fraction(1, 3))] * 2, Fraction(0), Fraction(1)) == Fraction(2, 3)
    assert composed([], DELTA, TOTAL) == 0
    with pytest.raises(AssertionError):
        composed([ReleaseLoss(Fraction(1), Fraction(1, 2))], Fraction(0), TOTAL)
