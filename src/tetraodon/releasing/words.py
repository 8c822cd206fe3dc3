"""A planned item in words: what was asked, how it was answered, how far off that is, and what proves the promise."""

from __future__ import annotations

from fractions import Fraction

from tetraodon.certificate.certificate import Certificate, Dataset, TableChance, TableShare
from tetraodon.domain import Domain
from tetraodon.ledger import shown_above
from tetraodon.policy.attackers import Independent
from tetraodon.policy.attackers_in_words import less_than_it_says
from tetraodon.policy.policy import Policy
from tetraodon.policy.secret_graph import ABSENT
from tetraodon.policy.words import listing
from tetraodon.rational import decimal_text
from tetraodon.releasing.plan import PlannedItem
from tetraodon.report.rounding import about, decimal_above
from tetraodon.wording import of_one
from tetraodon.workload.contribution import One
from tetraodon.workload.linear import Split


def mechanism(item: PlannedItem, domain: Domain) -> str:
    """How it was answered, as a sentence or two."""
    strategy, law = item.strategy, item.strategy.noise
    noise = f"Random noise ({law.words}, {law.width} {about(_scale(item))})"
    size = strategy.noisy[0].size(domain) if strategy.noisy else 0
    cells = f", {size:,} numbers in all" if size > 1 else ""
    told = strategy.mechanism.sentence(item.scaled(domain), noise, cells)
    if not strategy.noisy:
        return told
    totals = [query.by for query in strategy.exact if isinstance(query.contribution, One)]
    return " ".join([told, *(_exact_total(by, domain) for by in totals)])


def _scale(item: PlannedItem) -> float:
    return float(item.scale * item.strategy.noisy[0].contribution.unit) if item.strategy.noisy else 0.0


def _exact_total(by: tuple[Split, ...], domain: Domain) -> str:
    if not by or all(split.size(domain) == 1 for split in by):
        return "The number of records is exact: no secret changes it."
    names = listing(f"groups of {split.name}" if split.bins is not None else split.name for split in by)
    return f"The totals by {names} are exact: no secret changes them."


def error(item: PlannedItem, domain: Domain, together: float | None = None) -> str:
    """How far off it is expected to be, in plain words; `together` where other items make it better."""
    if not item.strategy.noisy:
        return "None: these are the true numbers."
    off = about(item.expected_error)
    each = "The number" if not item.strategy.table and item.strategy.noisy[0].size(domain) == 1 else "Each number"
    told = item.item.query.off_by(off, each, domain)
    told = told if off != "1" else _of_one(told, domain)
    if item.strategy.mechanism.remark:
        return f"{told} {item.strategy.mechanism.remark}"
    if together is None:
        return told
    less = about(together)
    more = f"by {less}" if less != off else f"by a little less, {together / item.expected_error:.1%} of that"
    return f"{told} That is by its own noise; estimated together with the other answers, as it is here, {more}."


def _of_one(told: str, domain: Domain) -> str:
    """A sentence about one of something, which its question wrote as if there were several."""
    units = {"records": of_one("records")} | {a.unit: a.unit_of(Fraction(1)) for a in domain if a.unit}
    for several, one in units.items():
        told = told.replace(f" 1 {several}", f" 1 {one}")
    return told


def baseline(item: PlannedItem, policy: Policy) -> str:
    """What plain differential privacy at the same epsilon would have cost, and what it would have bought."""
    independent = isinstance(policy.attackers, Independent)
    if independent and policy.graph == policy.plain().graph:
        return "The same: the promise of this policy is that of plain differential privacy."
    if item.strategy.mechanism.in_shares:
        return (
            "It would have to hide any value behind any other: noise on each record would tell nothing, and noise on "
            "the sum would be as large as the largest value there may be."
        )
    price = epsilon_text(_price(item, policy))
    off = about(item.baseline_error)
    head = f"At the same epsilon, {price} for this answer alone, plain differential privacy"
    if not item.expected_error:
        told = f"{head} would be off by {off}; here the answer is exact."
    elif not independent:
        return f"{head} would be off by {off}. {less_than_it_says(policy.attackers)}"
    elif 1.005 * item.baseline_error < item.expected_error:
        told = f"{head} would be off by {off} only."
    elif item.baseline_error < 1.005 * item.expected_error:
        told = f"{head} would be off by {off}: about the same."
    else:
        told = f"{head} would be off by {off}: {about(item.baseline_error / item.expected_error)} times as much."
    if policy.known:
        return f"{told} But it takes nothing for known: with what is known here it would promise less than it says."
    return (
        f"{told} Its promise is stronger: it hides any change of a person's record, "
        f"not only what this policy calls a secret."
    )


def _price(item: PlannedItem, policy: Policy) -> Fraction:
    shares = sum((other.share for other in policy.items), Fraction(0))
    return item.epsilon or policy.epsilon * item.item.share / shares


def proof(certificate: Certificate) -> str:
    """What a certificate says: the loss, and whether it is the loss itself or a bound."""
    if not certificate.epsilon:
        return "Epsilon 0: no secret changes what was measured, so nothing about a secret can be learnt from it."
    if certificate.rho is not None:
        kind = "exact" if certificate.exact else "a proven upper bound"
        return (
            f"Epsilon {epsilon_text(Fraction(certificate.epsilon))} at delta {float(certificate.delta):g}. The noise "
            f"is Gaussian: the loss of the worst pair is rho {float(certificate.rho):.4g} in zCDP, {kind} (method: "
            f"{certificate.method}), and the epsilon is a proven bound that follows from it."
        )
    kind = "This is the exact loss, not a bound" if certificate.exact else "This is a proven upper bound"
    at = f" at delta {float(certificate.delta):.3g}" if certificate.delta else ""
    return f"Epsilon {epsilon_text(Fraction(certificate.epsilon))}{at}. {kind} (method: {certificate.method})."


def witness(certificate: Certificate, domain: Domain) -> str:
    """The worst step in words."""
    if certificate.witness is None:
        return ""
    x, y = certificate.witness
    if isinstance(x, Dataset):
        return (
            f"The worst neighbours differ in the records of {len(x.records)} people at once: the known counts allow "
            "no fewer of them to change."
        )
    if isinstance(x, TableShare):
        return (
            f"The worst pair: {x.having:,} rather than {y.having:,} of all {x.records:,} records have {x.condition}; "
            "any other two such shares as far apart are as bad."
        )
    if isinstance(x, TableChance):
        chances = " rather than ".join(f"{decimal_text(100 * one.chance)}%" for one in (x, y))
        return f"The worst pair: each of the {x.records:,} records has {x.condition} with a chance of {chances}."
    if x is ABSENT or y is ABSENT:
        present = y if x is ABSENT else x
        parts = [f"{a.name} {a.measured(a.code(value))}" for a, value in zip(domain, present, strict=True)]
        return f"The worst step: somebody with {listing(parts, most=4)} is in the data, or is not."
    both = [(a, a.code(p), a.code(q)) for a, p, q in zip(domain, x, y, strict=True)]
    moved = [f"{a.name} from {a.text(p)} to {a.measured(q)}" for a, p, q in both if p != q]
    kept = [f"{a.name} {a.measured(p)}" for a, p, q in both if p == q]
    where = f" (with {listing(kept, most=4)})" if kept else ""
    return f"The worst step changes one person's {listing(moved)}{where}, and nothing else."


def epsilon_text(epsilon: Fraction) -> str:
    """An epsilon in decimals: exact where that is short, and rounded up where it is not.

    >>> epsilon_text(Fraction(1, 4)), epsilon_text(Fraction(1, 3))
    ('0.25', '0.3334')
    """
    text = shown_above(epsilon)
    return text if "/" not in text and len(text) < 10 else decimal_above(epsilon)
