"""The least epsilon that keeps every answer within a wanted error.

More epsilon does not always mean a smaller bound: plans choose strategies and noise by their mean squared error, and
where the choice changes the bound may jump up. So epsilons that keep the error need not be all above the least one, and
halving an interval may end at a later one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, reduce
from typing import TypeAlias

from tetraodon.errors import PolicyError, QueryError, Refused, TetraodonError, TooMuchWork, did_you_mean
from tetraodon.exact.effort import bounded_effort
from tetraodon.exact.one_thread import on_one_thread
from tetraodon.exact.rational import Number, confidence_level, decimal_text
from tetraodon.mechanism.strategy import Strategy
from tetraodon.noise.laws import LAPLACE, NoiseLaw
from tetraodon.policy.load import AnyPolicy, load_policy
from tetraodon.policy.policy import Policy
from tetraodon.policy.publication import ErrorTarget, error_target
from tetraodon.query.moments import Derived
from tetraodon.releases.plan import Plan, PlannedItem, better, offers, original, read_together
from tetraodon.releases.proposals import KnownOffers, limit_of
from tetraodon.wording import listing, shown_number

# -- error targets ----------------------------------------------------------------------------------
# Whether a plan keeps the errors that are wanted, item by item, each in its own unit; before any data is seen.

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
        0.0 if one is None else error_bound(original(item, plan), plan.policy, one.confidence or USUAL, one.records)
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


# -- least epsilon ----------------------------------------------------------------------------------

DECADE = 900
LEAST, MOST = -9 * DECADE, 6 * DECADE
"""Places of the smallest and the largest epsilon that are looked at."""
BELOW = (1, 40, 120, 300)
"""How many places below an answer plans are made, to see whether they choose otherwise there."""
PREDICTIONS = 12
"""How often plans made so far say where to look next, before the rest is searched by halving."""
Shape: TypeAlias = tuple[Strategy, ...]


@bounded_effort
@on_one_thread
def plan_for_error(
    policy: AnyPolicy, error: AnyTarget = None, *, confidence: Number = 95, records: int | None = None
) -> Plan:
    """The plan with the least epsilon, to three digits, at which every answer is within `error` of the truth with
    `confidence`.

    `error` is one for all items, or a map of items to theirs; each is a number in the item's own unit, or a text such
    as `5% from 1000`. What it leaves open, and everything without it, is what `error:` says in the policy. A mean and
    the like need to know how many `records` they are over at least.

    Post  `td.plan` finds the same plan at that epsilon, and none that keeps the error at the next smaller one of three
          digits.
    Why   with the same strategies the bounds follow from the scales, so that one plan tells where its strategies will
          do, and two tell where the choice between them changes. Only there, and a few places below, are plans made.
    """
    asked = load_policy(policy)
    return least_plan(asked, wanted_of(asked, error, confidence=confidence, records=records))


@bounded_effort
@on_one_thread
def least_plan(policy: Policy, wanted: Wanted) -> Plan:
    """The plan with the least epsilon that keeps what is wanted of every item."""
    if policy.names:
        raise Refused(
            "an error is kept for numbers, and this policy asks for names too",
            fix="plan a copy of the policy without `names`",
            where="release",
        )
    return _Search(policy, wanted).least()


def _out_of_reach() -> Refused:
    return Refused("no reasonable epsilon reaches this error", fix="allow a larger error")


def driven_by(plan: Plan, wanted: Wanted) -> list[str]:
    """The items for whose sake epsilon is not smaller: those that would miss their target next.

    Pre  the plan is the least that keeps what is wanted.
    """
    below = ratios(_Curve(plan, wanted).at(max(LEAST, place_of(float(plan.policy.epsilon)) - 1)), wanted)
    return [item.name for item, ratio in zip(plan, below, strict=True) if ratio >= max(below) and ratio > 0]


def epsilon_at_place(place: int) -> Fraction:
    """The numbers of three digits in their order, 1 at place 0.

    >>> [str(epsilon_at_place(place)) for place in (-1, 0, 1, 899, 900)]
    ['999/1000', '1', '101/100', '999/100', '10']
    """
    power, digits = divmod(place, DECADE)
    return Fraction(100 + digits) * Fraction(10) ** (power - 2)


def place_of(epsilon: float) -> int:
    """The last place whose epsilon is not above a given one, but for rounding; never beyond those looked at.

    >>> place_of(1.0), place_of(1.015), place_of(0.0) == LEAST
    (0, 1, True)
    """
    if epsilon <= float(epsilon_at_place(LEAST)):
        return LEAST
    if epsilon >= float(epsilon_at_place(MOST)):
        return MOST
    power = math.floor(math.log10(epsilon))
    return DECADE * power + int(epsilon / 10.0**power * 100) - 100


@dataclass(frozen=True)
class _Curve:
    """What the strategies of one plan would do at other epsilons: their scales alone change."""

    plan: Plan
    wanted: Wanted
    _known: dict[int, Plan] = field(default_factory=dict)
    _ratios: dict[int, float] = field(default_factory=dict)

    @property
    def noise(self) -> NoiseLaw:
        return next((item.strategy.noise for item in self.plan if item.strategy.noisy), LAPLACE)

    def at(self, place: int) -> Plan:
        """The same strategies at another epsilon, with their errors there."""
        if place not in self._known:
            policy = self.plan.policy
            before = limit_of(policy, self.noise)
            times = limit_of(policy.with_budget(epsilon_at_place(place)), self.noise).amount / before.amount
            scales = [before.scale(item.scale, times) if item.scale else item.scale for item in self.plan]
            moved = []
            for item, scale in zip(self.plan, scales, strict=True):
                now, error = (
                    item.strategy.at(one, policy.domain).expected_error(item.item.query) for one in (item.scale, scale)
                )
                alone = item.alone_error * error / now if now else 0.0
                reach = item.strategy.at(scale, policy.domain).interval_reach(item.item.query)
                moved.append(
                    replace(
                        item,
                        scale=scale,
                        expected_error=error,
                        interval_reach=reach,
                        alone_error=alone,
                        _certificate=None,
                    )
                )
            self._known[place] = replace(self.plan, items=read_together(moved, policy.domain))
        return self._known[place]

    def ratio(self, place: int) -> float:
        """The largest bound of an answer, in multiples of the error that is wanted."""
        if place not in self._ratios:
            self._ratios[place] = max(ratios(self.at(place), self.wanted))
        return self._ratios[place]

    @cached_property
    def threshold(self) -> int:
        """The least place from which the bounds are kept, `MOST` + 1 if there is none.

        Why  bound times epsilon is nearly constant, so two secants come close and a few doubled steps find both sides.
        """
        place = place_of(float(self.plan.policy.epsilon))
        for _ in range(2):
            place = place_of(float(epsilon_at_place(place)) * self.ratio(place))
        step, good = 1, self.ratio(place) <= 1
        low = high = place
        if good:
            while low > LEAST and self.ratio(low) <= 1:
                low, high, step = max(LEAST, low - step), low, 2 * step
            if self.ratio(low) <= 1:
                return low
        else:
            while high <= MOST and self.ratio(high) > 1:
                low, high, step = high, min(MOST + 1, high + step), 2 * step
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.ratio(middle) <= 1 else (middle, high)
        return high


@dataclass
class _Search:
    """Plans made so far, and what they say about those not made."""

    policy: Policy
    wanted: Wanted
    tried: dict[int, Plan | None] = field(default_factory=dict)
    """The plan at each place, or None where it does not keep the error."""
    curves: dict[Shape, _Curve] = field(default_factory=dict)
    known: KnownOffers = field(default_factory=KnownOffers)

    def least(self) -> Plan:
        self.holds(place_of(float(self.policy.epsilon)))
        for _ in range(PREDICTIONS):
            place = self.expected()
            if place > MOST:
                raise _out_of_reach()
            if self.holds(place):
                for below in BELOW:
                    self.holds(max(LEAST, place - below))
                if self.expected() == place:
                    return self._kept(place)
        return self._halved()

    def _halved(self) -> Plan:
        """The plan at a place that keeps the error while the one before does not.

        Why   where the planner chooses otherwise than the curves predict, each prediction may be one place too low.
        """
        high = min((place for place, plan in self.tried.items() if plan is not None), default=MOST + 1)
        low = max((place for place in self.tried if place < high), default=LEAST - 1)
        step = 1
        while high > MOST:
            if low == MOST:
                raise _out_of_reach()
            place = min(MOST, low + step)
            low, high, step = (low, place, step) if self.holds(place) else (place, high, 2 * step)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.holds(middle) else (middle, high)
        return self._kept(high)

    def _kept(self, place: int) -> Plan:
        found = self.tried[place]
        assert found is not None
        return found

    def holds(self, place: int) -> bool:
        """Whether the plan at a place keeps the error. What cannot be planned there keeps nothing."""
        if place not in self.tried:
            try:
                offered = offers(self.policy.with_budget(epsilon_at_place(place)), self.known)
            except TooMuchWork:
                raise
            except TetraodonError:
                if not self.tried:
                    raise
                self.tried[place] = None
                return False
            for plan in offered:
                self._learn(place, plan)
            chosen = reduce(better, offered)
            self.tried[place] = chosen if max(ratios(chosen, self.wanted)) <= 1 else None
        return self.tried[place] is not None

    def _learn(self, place: int, plan: Plan) -> None:
        """Know the curve of a plan, unless one that is known goes through it."""
        shape = tuple(item.strategy for item in plan)
        known = self.curves.get(shape)
        if known is None or [item.scale for item in known.at(place)] != [item.scale for item in plan]:
            self.curves[shape] = _Curve(plan, self.wanted)

    def expected(self) -> int:
        """The least place where the error should be kept, as far as plans made so far tell; above `MOST` if none."""
        known = min((place for place, plan in self.tried.items() if plan is not None), default=MOST + 1)
        place = min(curve.threshold for curve in self.curves.values())
        while place < known:
            curve = self.chosen(place)
            if place < curve.threshold:
                place = self.changes(curve, place, min(curve.threshold, known))
            elif place in self.tried:  # and it was not kept
                place += 1
            else:
                return place
        return known

    def chosen(self, place: int) -> _Curve:
        """The curve that a plan would choose at a place."""
        plans = {id(curve.at(place)): curve for curve in self.curves.values()}
        best: dict[NoiseLaw, Plan] = {}
        for curve in self.curves.values():
            plan = curve.at(place)
            best[curve.noise] = better(best[curve.noise], plan) if curve.noise in best else plan
        ordered = sorted(best, key=lambda law: law is not LAPLACE)  # as plans offer them
        return plans[id(reduce(better, (best[law] for law in ordered)))]

    def changes(self, curve: _Curve, low: int, high: int) -> int:
        """The first place above `low` and up to `high` where another curve is chosen, or `high`."""
        if self.chosen(min(high, MOST)) is curve:
            return high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.chosen(middle) is curve else (low, middle)
        return high
