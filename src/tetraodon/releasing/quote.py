"""What the ledger would say to a release, before any data is touched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from tetraodon.certificate.certificate import Certificate
from tetraodon.errors import BudgetExhausted, Refused
from tetraodon.gate import Terms
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


def terms(plan: Plan, certificate: Certificate, account: Account, entries: Callable[[], Sequence[Entry]]) -> Terms:
    """What is charged for a release whose certificate under the governing policy is given."""
    return Terms(
        certificate,
        plan.policy.epsilon,
        plan.policy.document,
        plan_document(plan),
        certificate_document(certificate, load_policy(account.policy).domain)["witness"],
        lambda: charge_for(plan, certificate, account, entries),
    )


def quote(plan: Plan, ledger: Ledger) -> Quote:
    """What a release of this plan would be charged now, and whether it would be refused. Nothing is charged."""
    account = ledger.account(plan.policy.dataset)
    try:
        certificate = governing_certificate(plan, account)
        return checked(account, ledger, terms(plan, certificate, account, lambda: ledger.entries(account.dataset)))
    except Refused as refusal:
        return Quote(account, None, refusal)


def checked(account: Account, ledger: Ledger, asked: Terms) -> Quote:
    """The quote for what would be charged on these terms."""
    bill = asked.bill()
    try:
        ledger.check(account.dataset, bill)
    except BudgetExhausted as refusal:
        return Quote(account, Fraction(bill.charged), refusal)
    return Quote(account, Fraction(bill.charged))
