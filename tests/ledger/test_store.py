from __future__ import annotations

import math
import subprocess
import sys
from datetime import datetime, timedelta
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.ledger.certificates import FREE, gaussian

import tetraodon.ledger
from tetraodon.errors import BudgetExhausted, LedgerError
from tetraodon.exact.zcdp import epsilon_at
from tetraodon.ledger import Ledger, RecordedRefusal, Reservation, document_hash
from tetraodon.ledger.account import ReleaseLoss, composed
from tetraodon.ledger.charging import Bill

Item = dict[str, object]
POLICY = {"dataset": "adult"}


def test_the_room_is_cheap_to_enter() -> None:
    script = "import sys, tetraodon.ledger; sys.exit('sqlalchemy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_what_is_public() -> None:
    assert sorted(tetraodon.ledger.__all__) == tetraodon.ledger.__all__
    assert all(hasattr(tetraodon.ledger, name) for name in tetraodon.ledger.__all__)
    with pytest.raises(AttributeError, match="Leger"):
        tetraodon.ledger.Leger  # type: ignore[attr-defined]  # noqa: B018


def test_an_account_keeps_its_terms(ledger: Ledger) -> None:
    account = ledger.account("adult")
    assert (account.total, account.charged, account.left) == (1, 0, 1)
    assert account.policy == POLICY
    assert account.policy_hash == document_hash(POLICY)
    assert datetime.fromisoformat(account.opened).utcoffset() == timedelta(0)


def test_opening_again_on_the_same_terms_changes_nothing(ledger: Ledger, item: Item) -> None:
    ledger.reserve("adult", Bill(asked=1, charged=Fraction(1, 4), item=item))
    before = ledger.account("adult")
    assert ledger.open("adult", Fraction(1), POLICY) == before


@pytest.mark.parametrize(
    ("total", "policy", "differs"),
    [(2, POLICY, "total"), (1, {}, "policy"), (Fraction(1, 2), {}, "total and policy")],
)
def test_opening_again_on_other_terms_is_refused(
    ledger: Ledger, total: Fraction, policy: dict[str, str], differs: str
) -> None:
    before = ledger.account("adult")
    with pytest.raises(LedgerError, match=f"db: .* already open with another {differs}. Fix: keep"):
        ledger.open("adult", total, policy)
    assert ledger.account("adult") == before


@pytest.mark.parametrize("total", [-1, math.inf, math.nan, "one", True, None])
def test_a_total_is_exact(path: Path, total: Fraction) -> None:
    with pytest.raises(LedgerError, match="the total is"):
        Ledger(path).open("adult", total, POLICY)
    assert not path.exists()


def test_data_sets_do_not_share_a_total(ledger: Ledger, item: Item) -> None:
    ledger.open("births", 2, {})
    ledger.reserve("births", Bill(asked=2, charged=2, item=item))
    assert [(a.dataset, a.left) for a in ledger.accounts()] == [("adult", 1), ("births", 0)]
    assert ledger.entries("adult") == ()
    assert len(ledger.entries()) == len(ledger.entries("births")) == 1


def test_a_data_set_never_opened_is_refused(ledger: Ledger, item: Item) -> None:
    for use in (
        lambda: ledger.account("adlut"),
        lambda: ledger.entries("adlut"),
        lambda: ledger.refusals("adlut"),
        lambda: ledger.record_refusal("adlut", "refused"),
        lambda: ledger.reserve("adlut", Bill(asked=1, charged=1, item=item)),
    ):
        with pytest.raises(LedgerError, match=r"budget\.db: .*never opened.*`tetraodon ledger open POLICY`.*'adult'\?"):
            use()


def test_a_reservation_is_charged_at_once_and_kept_whole(ledger: Ledger, path: Path, item: Item) -> None:
    made = ledger.reserve("adult", Bill(asked=Fraction(1, 2), charged=Fraction(1, 3), item=item))
    with Ledger(f"sqlite:///{path}") as later:
        assert later.account("adult").left == Fraction(2, 3)
        (entry,) = later.entries("adult")
    assert (entry.id, entry.asked, entry.charged) == (made.id, Fraction(1, 2), Fraction(1, 3))
    kept = {"epsilon_exact": "0", "method": FREE.method, "exact": True}
    assert (entry.state, entry.document) == ("reserved", {**item, "certificate": kept})


def test_a_charge_is_told_as_it_is_kept(ledger: Ledger, item: Item) -> None:
    entry, chained = ledger.charge("adult", Bill(asked=1, charged=Fraction(1, 3), item={**item, "plan": ("count",)}))
    assert entry == ledger.entry(entry.reservation) == ledger.entries("adult")[0]
    assert chained == ledger.statement(entry.reservation)["chain"]


def test_settling_keeps_the_charge(ledger: Ledger, item: Item) -> None:
    made = ledger.reserve("adult", Bill(asked=1, charged=1, item=item))
    ledger.settle(made, manifest_hash="ab")
    (entry,) = ledger.entries()
    assert (entry.state, entry.manifest_hash, entry.when) == ("settled", "ab", made.when)
    assert entry.settled >= entry.when
    assert ledger.account("adult").left == 0


def test_settling_twice_is_refused(ledger: Ledger, item: Item) -> None:
    made = ledger.reserve("adult", Bill(asked=1, charged=1, item=item))
    ledger.settle(made, manifest_hash="ab")
    with pytest.raises(LedgerError, match="already settled"):
        ledger.settle(made, manifest_hash="cd")
    assert ledger.entries()[0].manifest_hash == "ab"


def test_settling_what_another_ledger_gave_is_refused(ledger: Ledger, item: Item) -> None:
    made = ledger.reserve("adult", Bill(asked=1, charged=1, item=item))
    for other in (
        Reservation(made.id + 1, "adult", made.asked, made.charged, made.when),
        Reservation(made.id, "births", made.asked, made.charged, made.when),
        Reservation(made.id, "adult", Fraction(2), made.charged, made.when),
        Reservation(made.id, "adult", made.asked, Fraction(0), made.when),
        Reservation(made.id, "adult", made.asked, made.charged, "2001-01-01T00:00:00+00:00"),
    ):
        with pytest.raises(LedgerError, match="does not know this reservation"):
            ledger.settle(other, manifest_hash="ab")
    assert ledger.entries()[0].state == "reserved"


@pytest.mark.parametrize("digest", ["", " ", "a\nb"])
def test_settling_needs_the_hash_of_what_was_written(ledger: Ledger, item: Item, digest: str) -> None:
    made = ledger.reserve("adult", Bill(asked=1, charged=1, item=item))
    with pytest.raises(LedgerError, match="manifest hash"):
        ledger.settle(made, manifest_hash=digest)


def test_an_exhausted_budget_is_refused_and_says_what_is_left(ledger: Ledger, item: Item) -> None:
    ledger.reserve("adult", Bill(asked=1, charged=Fraction(9, 10), item=item))
    with pytest.raises(
        BudgetExhausted, match=r"budget\.db: .*epsilon 0\.2, .*'adult' has 0\.1 left of 1\. Fix: ask for"
    ):
        ledger.reserve("adult", Bill(asked=0, charged=Fraction(1, 5), item=item))
    assert len(ledger.entries()) == 1
    ledger.reserve("adult", Bill(asked=1, charged=Fraction(1, 10), item=item))
    with pytest.raises(BudgetExhausted):
        ledger.reserve("adult", Bill(asked=0, charged=Fraction(1, 10**900), item=item))


def test_checking_refuses_the_same_and_charges_nothing(ledger: Ledger, item: Item) -> None:
    ledger.check("adult", Bill(asked=1, charged=1, item=item))
    ledger.check("adult", Bill(asked=1, charged=1, item=item))
    assert ledger.entries() == ()
    for wrong in (2, Fraction(1, 10**900) + 1):
        with pytest.raises(BudgetExhausted, match="'adult' has 1 left of 1"):
            ledger.check("adult", Bill(asked=1, charged=wrong, item=item))
    with pytest.raises(LedgerError, match="never opened"):
        ledger.check("adlut", Bill(asked=1, charged=1, item=item))


def test_an_exact_release_costs_nothing_even_when_nothing_is_left(ledger: Ledger, item: Item) -> None:
    ledger.reserve("adult", Bill(asked=1, charged=1, item=item))
    ledger.reserve("adult", Bill(asked=1, charged=0, item=item))
    assert [entry.charged for entry in ledger.entries()] == [1, 0]


@pytest.mark.parametrize("part", ["asked", "charged"])
@pytest.mark.parametrize("number", [-1, 0.5, math.inf, math.nan, True])
def test_only_exact_amounts_are_charged(ledger: Ledger, item: Item, part: str, number: Fraction) -> None:
    amounts = {"asked": Fraction(1), "charged": Fraction(1), part: number}
    with pytest.raises(LedgerError, match=r"negative|infinite|exact"):
        ledger.reserve("adult", Bill(item=item, **amounts))
    assert ledger.entries() == ()


@pytest.mark.parametrize("part", ["policy", "plan", "certificate"])
def test_what_could_not_be_priced_again_is_not_charged(ledger: Ledger, item: Item, part: str) -> None:
    del item[part]
    with pytest.raises(LedgerError, match=f"has no {part}"):
        ledger.reserve("adult", Bill(asked=1, charged=1, item=item))


costs = st.lists(st.fractions(min_value=0, max_value=1, max_denominator=10**12), max_size=6)


@settings(max_examples=25, deadline=None)
@given(st.fractions(min_value=0, max_value=2), costs)
def test_it_agrees_with_exact_arithmetic(total: Fraction, costs: list[Fraction]) -> None:
    item = {"policy": 0, "plan": 0, "certificate": FREE}
    left = total
    with TemporaryDirectory() as folder, Ledger(Path(folder) / "x.db") as ledger:
        ledger.open("adult", total, {})
        for cost in costs:
            try:
                ledger.reserve("adult", Bill(asked=cost, charged=cost, item=item))
                left -= cost
            except BudgetExhausted:
                assert cost > left
            assert ledger.account("adult").left == left >= 0


def test_a_refusal_leaves_its_kind_and_time_only(ledger: Ledger) -> None:
    ledger.record_refusal("adult", "no-convergence")
    ledger.record_refusal("adult", "table-error")
    found = ledger.refusals("adult")
    assert [(r.dataset, r.kind) for r in found] == [("adult", "no-convergence"), ("adult", "table-error")]
    assert set(RecordedRefusal.__slots__) == {"dataset", "kind", "when"}
    assert ledger.account("adult").charged == 0
    with pytest.raises(LedgerError, match="fixed word"):
        ledger.record_refusal("adult", "17 rows are missing")


def test_two_spellings_of_one_name_share_one_total(ledger: Ledger, item: Item) -> None:
    ledger.open("caf\u00e9", 1, {})
    ledger.reserve("cafe\u0301", Bill(asked=1, charged=1, item=item))
    assert ledger.account("caf\u00e9").left == 0


def test_gaussian_releases_compose(path: Path, item: dict[str, object]) -> None:
    delta, rho = Fraction(1, 10**6), Fraction(1, 50)
    cost = epsilon_at(rho, delta)
    noisy = {**item, "certificate": gaussian(delta)}
    with Ledger(path) as ledger:
        ledger.open("births", 2, {}, delta=delta)
        for _ in range(2):
            ledger.reserve("births", Bill(asked=1, charged=cost, item=noisy))
        ledger.reserve("births", Bill(asked=1, charged=Fraction(1, 4), item=item))
        losses = [ReleaseLoss(cost, rho), ReleaseLoss(cost, rho), ReleaseLoss(Fraction(1, 4))]
        account = ledger.account("births")
        assert [entry.loss for entry in ledger.entries("births")] == losses
        assert account.charged == composed(losses, delta, Fraction(2)) < 2 * cost
        assert account.delta == delta
        with pytest.raises(BudgetExhausted, match="left of 2"):
            ledger.reserve("births", Bill(asked=1, charged=account.left + Fraction(1, 10), item=item))
        with pytest.raises(LedgerError, match="another total"):
            ledger.open("births", 2, {})


def test_gaussian_noise_needs_the_delta_of_the_account(ledger: Ledger, item: dict[str, object]) -> None:
    noisy = {delta: {**item, "certificate": gaussian(delta)} for delta in (Fraction(1, 10**6), Fraction(1, 10**5))}
    with pytest.raises(BudgetExhausted, match="without a delta"):
        ledger.reserve("adult", Bill(asked=1, charged=2, item=noisy[Fraction(1, 10**6)]))
    ledger.open("births", 2, {}, delta=Fraction(1, 10**6))
    with pytest.raises(BudgetExhausted, match="for a delta of"):
        ledger.reserve("births", Bill(asked=1, charged=2, item=noisy[Fraction(1, 10**5)]))
