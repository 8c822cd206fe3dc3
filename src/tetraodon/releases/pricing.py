"""What a release costs: under the policy that governs its data set, beside others, and before any data is touched.

The loss of all releases together is computed from what each of them measured, and the new one is charged the difference
(docs/promise.md, "Releases one after the other"). Where losses add up, that is done where it is cheaper than its own
loss. Where they do not, it is what must be charged ([KM12] section 8), and what cannot be priced so is refused.
"""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, TypeAlias

from tetraodon.certificate.certificate import Certificate
from tetraodon.certificate.correlated_records import adds_up, certify_release, known_counts
from tetraodon.certificate.kernel import certify_measurements
from tetraodon.domain import Domain
from tetraodon.errors import BudgetExhausted, LedgerError, Refused, TetraodonError
from tetraodon.exact.rational import decimal_text
from tetraodon.exact.zcdp import epsilon_at, sqrt_above
from tetraodon.gate import Charge, Terms, require_not_dearer
from tetraodon.ledger import Account, Entry, Ledger, opened
from tetraodon.ledger.account import ADDS_UP, ALONE, JOINTLY, ReleaseLoss, composed
from tetraodon.ledger.amount import canonical_text, document_from_text
from tetraodon.noise.laws import LAPLACE
from tetraodon.policy.attackers import Contacts, DependentGroups, Independent, TableSecret
from tetraodon.policy.load import USUAL_DELTA, AnyPolicy, load_policy, stated_policy
from tetraodon.policy.policy import Item, Policy
from tetraodon.query.linear import Measurement
from tetraodon.releases.codec import certificate_document, measurement_from, plan_document
from tetraodon.releases.plan import Plan

if TYPE_CHECKING:
    from tetraodon.ledger import Ledger

Earlier: TypeAlias = Callable[[int | None], Sequence[Entry]]
"""The entries that an account was read with: so many of the newest, or all."""
MOST_TOGETHER = 100
"""Of more earlier releases than this the joint loss is not computed any more: what comes then is added up."""


def governing_policy(account: Account) -> Policy:
    """The governing policy of an account, read from its document once for every hash."""
    return _read(_Hashed(account.policy_hash, account.policy))


@dataclass(frozen=True, slots=True)
class _Hashed:
    """A policy's document, compared by its hash."""

    digest: str
    document: Mapping[str, Any] = field(compare=False)


@lru_cache(maxsize=16)
def _read(hashed: _Hashed) -> Policy:
    return stated_policy(document_from_text(canonical_text(hashed.document)))


def governing_certificate(plan: Plan, account: Account) -> Certificate:
    """The loss of a plan's measurements, recomputed under the governing policy. Refused where it is infinite.

    Pre   the plan's attributes mean the same in both policies; otherwise what was measured could not be compared.
    Why   it depends on the plan, the policy and the delta alone, and is computed once for all releases of a plan.
    """
    key = "governing", account.policy_hash, account.delta
    known: Certificate | None = plan._derived.get(key)
    if known is not None:
        return known
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
    plan._derived[key] = certificate
    return certificate


def charge_for(plan: Plan, certificate: Certificate, account: Account, entries: Earlier) -> Charge:
    """The charge of a release whose certificate under the governing policy is given.

    Post  with those of all earlier releases it sums to no less than the loss of all of them together, for whoever the
          governing policy calls an attacker.
    """
    governing = governing_policy(account)
    if adds_up(governing.attackers):
        beside = _beside(plan, certificate, account, entries)
        return Charge(Fraction(certificate.epsilon), ADDS_UP) if beside is None else beside
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


# -- reprice -----------------------------------------------------------------------------------------
# Past releases priced again under another policy about the same data.
#
# The measurements of every release are in the ledger. They are certified again, exactly, under the other policy;
# nothing is multiplied by distances in a graph. What was told exactly and moves there costs infinity.

# -- same data --------------------------------------------------------------------------------------
# Whether two policies mean the same data: what a record is, how it is read, who may attack.


def check_same_data(asked: Policy, governing: Policy) -> None:
    """Refuse policies under which a record is not the same thing.

    Why  the table is read as the governing policy says, and priced as it says; a file that says otherwise would be told
         of other records than it asked for. What it leaves out is looked at all the same where it decides what counts.
    """
    wrong = next(_differences(asked, governing), None)
    if wrong is not None:
        raise Refused(wrong[0], fix=wrong[1], where=asked.dataset)


def _differences(asked: Policy, governing: Policy) -> Iterator[tuple[str, str]]:
    """What two policies say otherwise about what a record is, each with what to do."""
    for attribute in asked.domain:
        if attribute.name not in governing.domain.names:
            yield (
                f"the governing policy does not know the attribute {attribute.name}",
                "declare the attributes that the governing policy declares",
            )
        elif replace(attribute, unit="", singular="") != replace(
            governing.domain[attribute.name], unit="", singular=""
        ):
            yield (
                f"{attribute.name} is declared otherwise in the governing policy",
                "declare it as the governing policy does",
            )
    open_there = {column.name: replace(column, secret=True) for column in governing.open}
    for column in asked.open:
        if open_there.get(column.name) != replace(column, secret=True):
            yield (
                f"{column.name} is not declared as open text in the same way in the governing policy",
                "declare it as the governing policy does",
            )
    if any(fact not in governing.known for fact in asked.known):
        yield (
            "`known` lists something that the governing policy does not know",
            "list the same facts; what one file calls known is known to every attacker",
        )
    if any(getattr(asked, name) != getattr(governing, name) for name in ("key", "rows_per_person", "every_row")):
        yield "`individuals` is not what the governing policy says", "write it as there"
    if asked.key and not asked.every_row and asked.cuts_rows and not governing.cuts_rows:  # to leave people out is safe
        yield (
            "of people with more rows than allowed this policy counts some, and the governing policy none, because any "
            "two records are a secret here and not there",
            "write `secrets` and `together` as there",
        )
    if asked.table_hints != governing.table_hints:
        yield (
            "`table` is not what the governing policy says, so that the same file would be read as other records",
            "write it as there; `tetraodon ledger show` prints it",
        )
    if asked.attackers != governing.attackers:
        if TableSecret in map(type, (asked.attackers, governing.attackers)):
            yield (
                "the secret of the whole table is not that of the governing policy",
                "write `secrets: {table: ...}` as there, or leave it out as there",
            )
        yield ("`attackers` are not those of the governing policy, which decide what is counted", "write them as there")


def check_same_size(asked: Policy, governing: Policy) -> None:
    """Refuse a view whose noise and manifest would tell a number of records that the governing policy keeps secret."""
    if asked.size_is_public and not governing.size_is_public:
        raise Refused(
            "the number of records is public here and a secret in the governing policy",
            fix="write `presence` as there",
            where=asked.dataset,
        )


# -- reprice ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Repriced:
    """One release and its loss under the other policy."""

    id: int
    when: str
    items: tuple[str, ...]
    charged: Fraction
    certificate: Certificate


@dataclass(frozen=True, slots=True)
class Repricing:
    """All releases of a data set under another policy.

    `together` is the loss of everything at once: never more than the sum, since no single pair of neighbours need be
    the worst for each release. `total` is that of the ledger, by which Gaussian losses are added up.
    """

    dataset: str
    releases: tuple[Repriced, ...]
    together: Certificate
    total: Fraction

    @property
    def charged(self) -> Fraction:
        """What the releases were charged when they were made, each by itself."""
        return sum((release.charged for release in self.releases), Fraction(0))

    @property
    def added_up(self) -> Fraction | float:
        """The losses of the releases, one after the other ([HMD14] Thm 4.1)."""
        found = [release.certificate for release in self.releases]
        if not all(certificate.finite for certificate in found):
            return math.inf
        delta = max((certificate.delta for certificate in found), default=Fraction(0))
        return composed([_loss(one) for one in found], delta, self.total)


def _loss(one: Certificate) -> ReleaseLoss:
    return ReleaseLoss(Fraction(one.epsilon), one.rho, Fraction(0) if one.rho is not None else one.delta)


def reprice(ledger: Ledger | str | os.PathLike[str], policy: AnyPolicy) -> Repricing:
    """What the releases of a policy's data set, as they stand in a ledger, lose under that policy instead.

    Nothing is changed. An exact answer that moves under the other policy costs infinity. Of a population, one wave is
    meant: what several tables lose together is no maximum over the records of one.
    """
    other = load_policy(policy)
    with opened(ledger) as book:
        mine = [entry for entry in book.entries(other.dataset) if entry.wave == other.dataset]
        return repriced(mine, other, book.account(other.dataset).total)


def repriced(entries: Sequence[Entry], policy: Policy, total: Fraction) -> Repricing:
    """What the releases behind some entries of the ledger lose under another policy.

    Pre   the attributes they measured mean the same in both policies. The noise of different releases is independent.
    Post  every certificate is what the kernel says of the stored measurements under `policy`. Releases with Gaussian
          noise are priced at the policy's delta, or at the usual one if it has none.
    """
    releases: list[Repriced] = []
    everything: list[Measurement] = []
    delta = policy.delta or USUAL_DELTA
    policy = replace(policy, once=policy.once and sum(entry.delta > 0 for entry in entries) <= 1)
    for entry in entries:
        if entry.wave != policy.dataset:
            raise Refused(
                f"the policy is for data set {policy.dataset!r}",
                fix="name the data set of the releases in it",
                where=entry.wave,
            )
        if entry.composition == ALONE:
            raise Refused(
                f"entry {entry.id} is about records that a query made, which cannot be priced together with others",
                fix="price the policy of each such release with `tetraodon plan`, and add up",
            )
        measured = entry_measurements(entry, policy)
        names = tuple(str(document["name"]) for document in entry.document["plan"]["queries"])
        releases.append(
            Repriced(entry.id, entry.when, names, entry.charged, certify_release(policy, measured, delta=delta))
        )
        everything += measured
    return Repricing(policy.dataset, tuple(releases), certify_release(policy, everything, delta=delta), total)


def merged(measurements: Sequence[Measurement]) -> list[Measurement]:
    """The same loss with fewer measurements: those that were made again and again with Laplace noise are one each.

    Why   k answers with noise of scale b lose what one with noise of scale b / k does, exactly, and of exact answers
          the second tells nothing. Releases of one plan share their measurements, so that a look at who they are is
          enough: a hundred of them are priced as fast as one.
    """
    times, found = Counter(map(id, measurements)), list[Measurement]()
    for one in {id(one): one for one in measurements}.values():
        if not one.scale:
            found.append(one)
        elif one.noise is LAPLACE and one.on_each:
            found.append(replace(one, scale=one.scale / times[id(one)]))
        else:
            found += [one] * times[id(one)]
    return found


@lru_cache(maxsize=256)
def entry_measurements(entry: Entry, policy: Policy) -> tuple[Measurement, ...]:
    """What was measured, as the entry's own policy says, on attributes that mean the same in both policies.

    Why   remembered, since every release that is priced together with earlier ones asks for all of them again.
    """
    if "view" in entry.document["plan"] or "perturbation" in entry.document["plan"]:
        raise Refused(
            f"entry {entry.id} is a published view or table, which cannot be priced together with released answers",
            fix="plan the view under the other policy with `tetraodon plan`, and add its epsilon",
        )
    if "names" in entry.document["plan"]:
        raise Refused(
            f"entry {entry.id} tells names that nobody listed, which cannot be priced together with other releases yet",
            fix="plan the same items under the other policy with `tetraodon plan`",
        )
    try:
        texts = (json.dumps(entry.document[part], sort_keys=True) for part in ("policy", "plan"))
        asked, measured = _stated(*texts)
        check_same_data(replace(asked, graph=replace(asked.graph, known=())), policy)  # it may know less, or more
        return measured
    except (KeyError, TypeError):
        raise LedgerError(
            f"entry {entry.id} does not say what was measured", fix="restore the ledger from a backup"
        ) from None


@lru_cache(maxsize=256)
def _stated(policy: str, plan: str) -> tuple[Policy, tuple[Measurement, ...]]:
    """The policy of an entry and what was measured, from their texts; releases of one plan share them."""
    asked = stated_policy(json.loads(policy))
    items = {item.name: item for item in asked.items}
    return asked, tuple(
        _measured(measured, items[document["name"]], asked.domain)
        for document in json.loads(plan)["queries"]
        for measured in document["measurements"]
    )


def _measured(document: dict[str, Any], item: Item, domain: Domain) -> Measurement:
    found = measurement_from(document, item.query, item.inside(domain))
    those = item.among(domain)
    return found if those is None else replace(found, query=those.lifted(found.query))
