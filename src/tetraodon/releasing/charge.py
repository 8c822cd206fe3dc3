"""What a release costs under the policy that governs its data set, whoever asked for it."""

from __future__ import annotations

from fractions import Fraction

from tetraodon.certificate.certificate import Certificate
from tetraodon.certificate.dependent import certify_release, require_independent
from tetraodon.errors import Refused
from tetraodon.ledger import Account
from tetraodon.policy.load import load_policy
from tetraodon.policy.policy import Policy
from tetraodon.releasing.plan import Plan
from tetraodon.workload.query import count, histogram


def governing_certificate(plan: Plan, account: Account) -> Certificate:
    """The loss of a plan's measurements, recomputed under the governing policy. Refused where it is infinite.

    Pre   the plan's attributes mean the same in both policies; otherwise what was measured could not be compared.
    """
    governing = load_policy(account.policy)
    check_same_data(plan.policy, governing)
    measurements = [m for item in plan for m in item.measurements]
    certificate = certify_release(governing, measurements, delta=account.delta)
    if certificate.rho is not None and not account.delta:
        raise Refused(
            "this release has Gaussian noise, and its data set was opened without a delta",
            fix="leave delta out of the policy's budget; another total needs a new data set",
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


def view_loss(policy: Policy, presence: Fraction, replace: Fraction) -> Fraction:
    """What a published view loses under a policy, from its losses for one record more or less, and for one replaced.

    Why  neighbours differ in what the histogram over all attributes moves by: 2 for every record replaced, 1 for one
         more or less, all rows of a person included. Each record's loss is bounded by itself, so losses add up. With
         known counts some records may be replaced and others come or go, as many as move the number of records;
         since a replacement is one that goes and one that comes, as many of these as there can be are the worst.
    """
    require_independent(policy, "a published view")
    moved = policy.sensitivity(histogram(*policy.domain.names)).value
    if policy.known:
        coming = policy.sensitivity(count()).value
        return (moved - coming) / 2 * replace + coming * max(presence, replace / 2)
    if moved <= policy.rows_per_person:  # nothing can be replaced
        return moved * presence
    hidden = policy.presence == "secret" or policy.graph.groups is not None
    return max(-(-moved // 2) * replace, policy.rows_per_person * presence if hidden else Fraction(0))


def check_same_data(asked: Policy, governing: Policy) -> None:
    """Refuse policies under which a record is not the same thing."""
    for attribute in asked.domain:
        if attribute.name not in governing.domain.names:
            raise Refused(
                f"the governing policy does not know the attribute {attribute.name}",
                fix="declare the attributes that the governing policy declares",
                where=asked.dataset,
            )
        theirs = governing.domain[attribute.name]
        if (attribute.values, attribute.missing, attribute.other) != (theirs.values, theirs.missing, theirs.other):
            raise Refused(
                f"{attribute.name} is declared otherwise in the governing policy",
                fix="declare it as the governing policy does",
                where=asked.dataset,
            )
    if any(fact not in governing.known for fact in asked.known):
        raise Refused(
            "`known` lists something that the governing policy does not know",
            fix="list the same facts; what one file calls known is known to every attacker",
            where=asked.dataset,
        )
    if (asked.key, asked.rows_per_person) != (governing.key, governing.rows_per_person):
        raise Refused(
            "`individuals` is not what the governing policy says", fix="write it as there", where=asked.dataset
        )
    if asked.attackers != governing.attackers:
        raise Refused(
            "`attackers` are not those of the governing policy, which decide what is counted",
            fix="write them as there",
            where=asked.dataset,
        )
