"""What the ledger would say to a release, before any data is touched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tetraodon.certificate.certificate import Certificate
from tetraodon.errors import BudgetExhausted, Refused
from tetraodon.ledger import Account, Entry, Ledger
from tetraodon.policy.load import load_policy
from tetraodon.releasing.charge import governing_certificate
from tetraodon.releasing.documents import certificate_document, plan_document
from tetraodon.releasing.joint_charge import charge_for
from tetraodon.releasing.plan import Plan


@dataclass(frozen=True, slots=True)
class Quote:
    """What a release would be charged, None where no price covers it, and why it would be refused, if it would."""

    account: Account
    charge: Fraction | None
    refusal: BudgetExhausted | Refused | None = None


def terms(
    plan: Plan, certificate: Certificate, account: Account, entries: Callable[[], Sequence[Entry]]
) -> dict[str, Any]:
    """What `Ledger.reserve` is to be told of a release whose certificate under the governing policy is given."""
    charge = charge_for(plan, certificate, account, entries)
    return {
        "asked": plan.policy.epsilon,
        "charged": charge.amount,
        "after": charge.after,
        "item": {
            "composition": charge.composition,
            "policy": plan.policy.document,
            "plan": plan_document(plan),
            "certificate": certificate,
            "witness": certificate_document(certificate, load_policy(account.policy).domain)["witness"],
        },
    }


def quote(plan: Plan, ledger: Ledger) -> Quote:
    """What a release of this plan would be charged now, and whether it would be refused. Nothing is charged."""
    account = ledger.account(plan.policy.dataset)
    try:
        certificate = governing_certificate(plan, account)
        told = terms(plan, certificate, account, lambda: ledger.entries(account.dataset))
    except Refused as refusal:
        return Quote(account, None, refusal)
    return checked(account, ledger, told)


def checked(account: Account, ledger: Ledger, told: dict[str, Any]) -> Quote:
    """The quote for what `Ledger.reserve` would be told."""
    try:
        ledger.check(account.dataset, **told)
    except BudgetExhausted as refusal:
        return Quote(account, told["charged"], refusal)
    return Quote(account, told["charged"])
