"""Whether a plan keeps the errors that are wanted, item by item, each in its own unit; before any data is seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TypeAlias

from tetraodon.errors import PolicyError, QueryError, Refused, did_you_mean
from tetraodon.policy.error_target import ErrorTarget, error_target
from tetraodon.policy.policy import Policy
from tetraodon.questions.derived import Derived
from tetraodon.rational import Number, confidence_level, decimal_text
from tetraodon.releasing.plan import Plan, PlannedItem
from tetraodon.wording import listing, shown_number

Wanted: TypeAlias = Sequence[ErrorTarget | None]
"""What is wanted of every item of a policy, None where nothing is."""
AnyTarget: TypeAlias = Number | ErrorTarget | Mapping[str, Number | ErrorTarget] | None
USUAL = Fraction(95, 100)


def wanted_of(
    policy: Policy, error: AnyTarget = None, *, confidence: Number | None = None, records: int | None = None
) -> Wanted:
    """The target of every item: one for all of them, or those of some by name beside those of the policy.

    Raises PolicyError where nothing is wanted, Refused where an error cannot be known beforehand.
    """
    sure = USUAL if confidence is None else confidence_level(confidence)
    names = [item.name for item in policy.items]
    if error is None or isinstance(error, Mapping):
        for name in error or ():
            if name not in names:
                raise QueryError(f"the policy has no item {name!r}", fix=did_you_mean(name, names))
        given = {item.name: item.error for item in policy.items}
        given |= {name: error_target(one) for name, one in (error or {}).items()}
    else:
        given = dict.fromkeys(names, error_target(error))
    if policy.items and not any(given.values()):
        raise PolicyError("no error is wanted of any item", fix="write `error:` in an item, or name an error")
    found = [target and target.filled(records, sure) for target in given.values()]
    for item, target in zip(policy.items, found, strict=True):
        several = len(item.query.sums(item.inside(policy.domain))) > 1
        if target is None or not several:
            continue
        if not isinstance(item.query, Derived):
            raise Refused(
                "how far off its answers can be is not known beforehand", fix="name errors of others", where=item.name
            )
        if target.records is None:
            raise Refused(
                "how far off it may be depends on how many records it is over",
                fix="say how many at least: --records 5000, records=5000, or `error: {within: 0.5, records: 5000}`",
                where=item.name,
            )
    return found


def error_bound(item: PlannedItem, policy: Policy, confidence: Fraction, records: int | None = None) -> float:
    """A distance that each answer keeps from the truth with the given confidence, before any data is seen.

    In the item's own unit where `records` says how many there are at least; else, of what is computed from several
    sums, that of the first sum.
    """
    at, query = item.scaled(policy.domain), item.item.query
    if records is None or not isinstance(query, Derived):
        return at.mechanism.largest_error(query, at, confidence)
    measured = dict(zip((*at.strategy.noisy, *at.strategy.exact), item.measurements, strict=True))
    found = [measured[one] for one in query.sums(at.domain)]
    failures = max(1, sum(bool(one.scale) for one in found))
    each = 1 - (1 - confidence) / failures
    reaches = [
        one.noise.sum_quantile(one.scale, 1, each) * float(one.query.contribution.unit) if one.scale else 0.0
        for one in found
    ]
    return query.error_of(reaches, records, at.domain)


def bounds(plan: Plan, wanted: Wanted) -> list[float]:
    """How far off every item can be, with the confidence that is wanted of it; nothing where nothing is wanted."""
    return [
        0.0 if one is None else error_bound(item, plan.policy, one.confidence or USUAL, one.records)
        for item, one in zip(plan, wanted, strict=True)
    ]


def ratios(plan: Plan, wanted: Wanted) -> list[float]:
    """The bound of every item, in multiples of what is wanted."""
    return [
        0.0 if one is None else bound / float(one.allowed)
        for bound, one in zip(bounds(plan, wanted), wanted, strict=True)
    ]


def in_unit(error: float | Fraction, item: PlannedItem, policy: Policy) -> str:
    """An error with the unit of the item."""
    query = item.item.query
    unit = query.own_unit(policy.domain) if isinstance(query, Derived) else query.unit(policy.domain)
    shown = decimal_text(error) if isinstance(error, Fraction) else shown_number(error)
    return f"±{shown} {unit}".rstrip()


def missed(plan: Plan, wanted: Wanted) -> list[str]:
    """What does not keep the error that is wanted of it, with both figures."""
    found = zip(plan, wanted, bounds(plan, wanted), strict=True)
    return [
        f"{item.name} can be off by {in_unit(bound, item, plan.policy)}, and "
        f"{in_unit(one.allowed, item, plan.policy)} is wanted"
        for item, one, bound in found
        if one is not None and bound > one.allowed
    ]


def require_targets(plan: Plan) -> None:
    """Refuse a plan that does not keep the errors that its policy wants, before anything is spent on it."""
    if not any(item.item.error for item in plan):
        return
    if told := missed(plan, wanted_of(plan.policy)):
        raise Refused(
            f"the budget does not keep the errors that the policy wants: {listing(told)}",
            fix="run `tetraodon plan`, which says what epsilon would; or write a larger `error:`, or none",
            where="release",
        )
