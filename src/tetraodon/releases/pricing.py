"""What a release costs: under the policy that governs its data set, beside others, and before any data is touched.

The loss of all releases together is computed from what each of them measured, and the new one is charged the difference
(docs/promise.md, "Releases one after the other"). Where losses add up, that is done where it is cheaper than its own
loss. Where they do not, it is what must be charged ([KM12] section 8), and what cannot be priced so is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from tetraodon.certificate.certificate import Certificate
from tetraodon.certificate.correlated_records import adds_up, certify_release, known_counts
from tetraodon.certificate.kernel import certify_measurements
from tetraodon.errors import BudgetExhausted, Refused, TetraodonError
from tetraodon.exact.rational import decimal_text
from tetraodon.exact.zcdp import epsilon_at, sqrt_above
from tetraodon.gate import Charge, Terms, require_not_dearer
from tetraodon.ledger import Account, Entry
from tetraodon.ledger.account import ADDS_UP, ALONE, JOINTLY
from tetraodon.ledger.governing import governing_policy
from tetraodon.policy.attackers import Contacts, DependentGroups, Independent, TableSecret
from tetraodon.policy.policy import Policy
from tetraodon.releases.codec import certificate_document, plan_document
from tetraodon.releases.plan import Plan
from tetraodon.releases.reprice import check_same_data, entry_measurements, merged

if TYPE_CHECKING:
    from tetraodon.ledger import Ledger

Earlier: TypeAlias = Callable[[int | None], Sequence[Entry]]
"""The entries that an account was read with: so many of the newest, or all."""
MOST_TOGETHER = 100
"""Of more earlier releases than this the joint loss is not computed any more: what comes then is added up."""


def governing_certificate(plan: Plan, account: Account) -> Certificate:
    """The loss of a plan's measurements, recomputed under the governing policy. Refused where it is infinite.

    Pre   the plan's attributes mean the same in both policies; otherwise what was measured could not be compared.
    Why   it depends on the plan, the policy and the delta alone, and is computed once for all releases of a plan.
    """
    key = "governing", account.policy_hash, account.delta
    if key not in plan._derived:
        plan._derived[key] = _governing_certificate(plan, account)
    found: Certificate = plan._derived[key]
    return found


def _governing_certificate(plan: Plan, account: Account) -> Certificate:
    governing = governing_policy(account)
    check_same_data(plan.policy, governing)
    measurements = [m for item in plan for m in item.measurements]
    certificate = certify_release(
        governing, measurements, delta=account.delta, names=[item.above for item in plan.names]
    )
    if (certificate.rho is not None or certificate.delta) and not account.delta:
        raise Refused(
            f"this release {'tells names' if plan.names else 'has Gaussian noise'}, and its data set was opened "
            "without a delta",
            fix="leave them out; another total needs a new data set"
            if plan.names
            else "leave delta out of the policy's budget; another total needs a new data set",
            where=plan.policy.dataset,
        )
    if not certificate.finite:
        raise Refused(
            "the policy that governs this data set protects something that this release would tell for certain",
            fix="ask for what the governing policy allows; `tetraodon ledger show` prints it",
            where=plan.policy.dataset,
        )
    return certificate


def charge_of(certificate: Certificate) -> Fraction:
    """What is taken from the total: the loss, exactly; with Gaussian noise, its epsilon at the account's delta."""
    return Fraction(certificate.epsilon)


def charge_for(plan: Plan, certificate: Certificate, account: Account, entries: Earlier) -> Charge:
    """The charge of a release whose certificate under the governing policy is given.

    Post  with those of all earlier releases it sums to no less than the loss of all of them together, for whoever the
          governing policy calls an attacker.
    """
    governing = governing_policy(account)
    if adds_up(governing.attackers):
        beside = _beside(plan, certificate, account, entries)
        return Charge(charge_of(certificate), ADDS_UP) if beside is None else beside
    measured, earlier = [m for item in plan for m in item.measurements], entries(None)
    if earlier and isinstance(governing.attackers, TableSecret):
        raise Refused(
            "a secret of the whole table has a price for one release, which was made",
            fix="release it from new data with a ledger account of their own",
            where=account.dataset,
        )
    if earlier and (certificate.delta or any(entry.delta for entry in earlier)):
        raise Refused(
            "under the governing policy losses do not add up, and with Gaussian noise there is one release",
            fix="release it from new data with a ledger account of their own",
            where=account.dataset,
        )
    for entry in earlier:
        try:
            measured += entry_measurements(entry, governing)
        except TetraodonError as error:
            raise Refused(
                f"how this release composes with entry {entry.id} of the ledger is not known, and losses do not add up "
                "under the governing policy",
                fix="release it from new data with a ledger account of their own",
                where=account.dataset,
            ) from error
    together = certify_release(governing, measured)
    return Charge(max(Fraction(together.epsilon) - account.charged, Fraction(0)), JOINTLY, account.spent.last)


def _beside(plan: Plan, certificate: Certificate, account: Account, entries: Earlier) -> Charge | None:
    """What a release adds to the loss of those before it that it is priced together with; None where that is not less.

    Post  the charges of these and the new one sum to no less than what all of them lose together, over the worst pair
          of neighbours. Every other entry was charged all of its own loss, and whatever follows may be.
    Why   for each pair of neighbours losses add up, whoever chose what is released next ([HMD14] Thm 4.2 over time),
          and so do those in zCDP, at the one order that the ledger reads them at. Pure losses are compared with pure
          ones and rho with rho: each sum is then enough for every pair. Charges of another table's releases, or where
          the rows of a person are cut, pay for other pairs.
    """
    governing, squares = governing_policy(account), certificate.rho is not None
    alone = Fraction(certificate.rho or certificate.epsilon)
    if (certificate.delta and not squares) or not _same_records(governing) or not account.spent.last:
        return None
    measured, paid = [m for item in plan for m in item.measurements], Fraction(0)
    newest = entries(MOST_TOGETHER + 1)
    earlier = _alike(newest, plan.policy.dataset, squares=squares)
    if len(earlier) <= MOST_TOGETHER < len(newest):
        earlier = _alike(entries(None), plan.policy.dataset, squares=squares)
    if len(earlier) > MOST_TOGETHER:
        return None
    for entry in earlier:
        try:
            measured += entry_measurements(entry, governing)
            paid += entry.charged if entry.loss.rho is None else entry.loss.rho
        except TetraodonError:
            if entry.composition != ADDS_UP:
                return None  # others were charged less because of it
    try:
        together = certify_release(governing, merged(measured), delta=account.delta)
    except Refused:
        return None
    added = max(Fraction(together.rho or together.epsilon) - paid, alone - paid, Fraction(0))
    if added >= alone:
        return None
    if squares:
        return Charge(epsilon_at(added, account.delta), JOINTLY, account.spent.last, added)
    return Charge(added, JOINTLY, account.spent.last)


def _same_records(governing: Policy) -> bool:
    """Whether a change of the table is the same change for every release.

    Why   a release may leave people with too many rows out where another counts some of theirs. Of a group that rows
          depend in, every release counts the same.
    """
    match governing.attackers:
        case DependentGroups() | Contacts():
            return True
        case Independent():
            return not (governing.key and governing.cuts_rows)
        case _:
            return False


def _alike(entries: Sequence[Entry], dataset: str, *, squares: bool) -> list[Entry]:
    """Those that a release of a data set may be priced together with, in zCDP or not."""
    mine = [entry for entry in entries if entry.wave == dataset and entry.composition != ALONE]
    return [entry for entry in mine if not entry.loss.delta and (entry.loss.rho is not None) == squares]


@dataclass(frozen=True, slots=True)
class Quote:
    """What a release would be charged, None where no price covers it, why it would be refused, if it would, and
    otherwise what it would add to what is spent.
    """

    account: Account
    charge: Fraction | None
    refusal: BudgetExhausted | Refused | None = None
    added: Fraction | None = None

    def document(self, name: str) -> dict[str, Any]:
        """As JSON, with the name of the ledger; amounts are exact texts."""
        return {
            "ledger": name,
            "total": decimal_text(self.account.total),
            "left": decimal_text(self.account.left),
            "charge": None if self.charge is None else decimal_text(self.charge),
            "fits": self.refusal is None,
            "why_not": None if self.refusal is None else str(self.refusal),
        }


def terms(plan: Plan, certificate: Certificate, account: Account, ledger: Ledger) -> Terms:
    """What is charged for a release whose certificate under the governing policy is given, at the time of asking.

    Why   it is asked before the table is counted and again to charge. The ledger refuses a price that was computed
          together with others if something was spent since; then it is computed anew.
    """
    found: list[Charge] = []

    def price(again: bool) -> Charge:
        if again or not found:
            now = ledger.account(account.dataset) if again else account
            before = partial(ledger.entries, now.dataset, up_to=now.spent.last)
            found[:] = [charge_for(plan, certificate, now, lambda newest: before(newest=newest))]
        return found[0]

    return Terms(
        certificate,
        plan.policy.epsilon,
        plan.policy.document,
        plan_document(plan),
        certificate_document(certificate, governing_policy(account).domain)["witness"],
        price,
    )


def quote(plan: Plan, ledger: Ledger, *, upto: int | None = None) -> Quote:
    """What a release of this plan would be charged now, or after an entry, and whether it would be refused. Nothing is
    charged.
    """
    account = ledger.account(plan.policy.account, upto=upto)
    try:
        certificate = governing_certificate(plan, account)
        return checked(account, ledger, terms(plan, certificate, account, ledger), upto=upto)
    except Refused as refusal:
        return Quote(account, None, refusal)


def checked(account: Account, ledger: Ledger, asked: Terms, *, upto: int | None = None) -> Quote:
    """The quote for what would be charged on these terms."""
    bill = asked.bill()
    try:
        added = ledger.check(account.dataset, bill, upto=upto)
        require_not_dearer(bill, account.dataset)
    except (BudgetExhausted, Refused) as refusal:
        return Quote(account, Fraction(bill.charged), refusal)
    return Quote(account, Fraction(bill.charged), added=added)


def price_of_known(plan: Plan) -> dict[str, Fraction | float]:
    """How many times larger the noise of every item is because of what is known; infinity if there would be none.

    Why  losses are inversely proportional to scales, or in zCDP to their squares; so this is the loss, or its root,
         divided by that of the same noise if nothing were known.
    """
    policy = plan.policy
    if isinstance(groups := policy.attackers, DependentGroups):
        times = Fraction(groups.rows_together(known_counts(policy)), groups.at_most)
        return {item.name: times for item in plan if any(m.scale for m in item.measurements)}
    unknowing = replace(policy.graph, known=())
    found: dict[str, Fraction | float] = {}
    for item in plan:
        noisy = [m for m in item.measurements if m.scale]
        if not noisy:
            continue
        after, before = (certify_measurements(graph, noisy) for graph in (policy.graph, unknowing))
        if not before.epsilon:
            found[item.name] = math.inf if after.epsilon else Fraction(1)
        elif before.rho is not None and after.rho is not None:
            found[item.name] = sqrt_above(after.rho / before.rho)
        else:
            found[item.name] = Fraction(after.epsilon) / Fraction(before.epsilon)
    return found
