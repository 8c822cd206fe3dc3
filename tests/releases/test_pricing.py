"""What a release costs is decided by the policy that governs the data."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from tests.releases.conftest import POLICY

import tetraodon as td
from tetraodon.ledger import Account, Entry, document_hash
from tetraodon.ledger.account import ADDS_UP, ALONE
from tetraodon.releases import pricing
from tetraodon.releases.pricing import charge_for, charge_of, governing_certificate, terms


def account(**changes: Any) -> Account:
    document = td.load_policy({**POLICY, "release": [], **changes}).document
    return Account("survey", Fraction(10), Fraction(0), document, document_hash(document), "2026-01-01T00:00:00Z")


def asked(**changes: Any) -> td.Plan:
    return td.plan(td.load_policy({**POLICY, "release": [{"name": "h", "histogram": ["age"]}], **changes}))


def test_the_same_policy_charges_what_was_planned() -> None:
    plan = asked()
    assert charge_of(governing_certificate(plan, account())) == plan.certificate.epsilon


def test_a_weaker_governing_policy_charges_less() -> None:
    plan = asked(release=[{"name": "t", "total": "age"}])
    narrower = account(secrets={**POLICY["secrets"], "age": {"within": 1}})
    assert charge_of(governing_certificate(plan, narrower)) == plan.certificate.epsilon / 2


def test_a_secret_presence_makes_a_known_total_infinitely_dear() -> None:
    with pytest.raises(td.errors.Refused, match="governs"):
        governing_certificate(asked(), account(presence="secret"))


def test_attributes_may_be_left_out_but_not_redeclared() -> None:
    few = {name: POLICY["attributes"][name] for name in ("age", "sex")}
    secrets = {name: POLICY["secrets"][name] for name in ("age", "sex")}
    assert governing_certificate(asked(attributes=few, secrets=secrets), account()).finite
    with pytest.raises(td.errors.Refused, match="declared otherwise"):
        governing_certificate(asked(attributes={**POLICY["attributes"], "age": {"integer": [19, 29]}}), account())


def test_a_price_is_worked_out_again_only_after_a_charge(ledger: td.Ledger, table: object) -> None:
    plan = asked(budget={"epsilon": "0.1"})
    for _ in range(2):
        td.release(plan, table, ledger=ledger)
    looked_at: list[str] = []

    class Watched(td.Ledger):
        def entries(self, dataset: str | None = None, **some: Any) -> tuple[Entry, ...]:
            looked_at.append(str(dataset))
            return ledger.entries(dataset, **some)

        def account(self, dataset: str) -> Account:
            return ledger.account(dataset)

    now = ledger.account("survey")
    price = terms(plan, governing_certificate(plan, now), now, Watched("unused.db")).price
    assert price is not None
    first = price(False)
    assert (price(False), looked_at) == (first, ["survey"])
    td.release(plan, table, ledger=ledger)
    assert price(True) == first  # the same questions again: what they lose adds up
    assert looked_at == ["survey", "survey"]


def test_a_plan_is_certified_once_under_a_governing_policy() -> None:
    plan = asked(release=[{"name": "t", "total": "age"}])
    narrower = account(secrets={**POLICY["secrets"], "age": {"within": 1}})
    first = governing_certificate(plan, account())
    assert governing_certificate(plan, account()) is first
    assert governing_certificate(plan, narrower).epsilon == Fraction(first.epsilon) / 2


def test_of_a_long_ledger_no_more_is_read_than_is_priced_together(
    ledger: td.Ledger, table: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where some of the newest are not priced together with others, all are read, as before."""
    monkeypatch.setattr(pricing, "MOST_TOGETHER", 2)
    plan = asked(budget={"epsilon": "0.1"})
    for _ in range(5):
        td.release(plan, table, ledger=ledger)
    now, read = ledger.account("survey"), list[tuple[int | None, int]]()

    def earlier(newest: int | None) -> tuple[Entry, ...]:
        found = ledger.entries("survey", up_to=4, newest=newest)
        read.append((newest, len(found)))
        return found

    charge = charge_for(plan, governing_certificate(plan, now), now, earlier)
    assert (charge.composition, read) == (ADDS_UP, [(3, 3)])
    assert [entry.id for entry in ledger.entries("survey", up_to=4, newest=3)] == [2, 3, 4]
    monkeypatch.setattr(Entry, "composition", property(lambda entry: ALONE if entry.id > 2 else ADDS_UP))
    charge_for(plan, governing_certificate(plan, now), now, earlier)
    assert read[1:] == [(3, 3), (None, 4)]
