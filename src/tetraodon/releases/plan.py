"""A plan: how every item of a policy will be answered, at what scale of noise, with what error, and the proof.

A plan is a function of policy, workload and budget alone. It never sees the data.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, reduce
from typing import Any

import numpy as np

from tetraodon.certificate.certificate import Certificate
from tetraodon.certificate.correlated_records import adds_up, certify_release, priced_for_each
from tetraodon.certificate.known.unlisted import secrets_change_known
from tetraodon.certificate.partition_selection import NamesAbove, certify_names, least_threshold, names_moved, open_text
from tetraodon.display import Displayed
from tetraodon.domain import Domain
from tetraodon.errors import PolicyError, QueryError, Refused
from tetraodon.exact.arrays import Bools, Floats, Ints
from tetraodon.exact.effort import bounded_effort
from tetraodon.exact.one_thread import on_one_thread
from tetraodon.exact.rational import Exact, Number, decimal_text
from tetraodon.inference.least_squares import Remembered
from tetraodon.mechanism.marginals import table_errors
from tetraodon.mechanism.strategy import Mechanism, Scaled, Strategy
from tetraodon.noise.discrete import drawable
from tetraodon.noise.laws import GAUSSIAN, LAPLACE, Currency, NoiseLaw, law_named
from tetraodon.policy.load import AnyPolicy, load_policy
from tetraodon.policy.policy import Item, NamesItem, Policy
from tetraodon.query.linear import ANSWER_LIMIT, Measurement
from tetraodon.releases.proposals import (
    COPY,
    Chosen,
    Distinct,
    KnownOffers,
    Limit,
    Objective,
    choose,
    for_one_release,
    limit_of,
    planned_together,
    question,
    settle,
)
from tetraodon.wording import number_of


@dataclass(frozen=True)
class PlannedItem:
    """One item of a plan. Errors are root mean squared errors per answer."""

    item: Item
    strategy: Strategy
    scale: Fraction
    policy: Policy = field(repr=False)
    expected_error: float
    baseline_error: float
    baseline: Mechanism
    """What plain differential privacy would use."""
    interval_reach: float | None = field(default=None, repr=False, compare=False)
    """How far intervals of quantiles are expected to reach either way, in records; None for other questions."""
    alone_error: float = field(default=0.0, repr=False, compare=False)
    """What it would err alone with its share of the budget, where it was planned and not read."""
    _certificate: Certificate | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", Exact(self.scale))

    @property
    def name(self) -> str:
        return self.item.name

    @property
    def asked(self) -> str:
        """What is asked for, in a few words."""
        return self.item.asked

    @property
    def mechanism(self) -> str:
        """The word for how it is answered, as documents have it."""
        return self.strategy.mechanism.name

    @property
    def too_long(self) -> bool:
        """Whether it can be planned, but not released: a release would hold too many numbers."""
        inside = self.strategy.inside(self.policy.domain)
        return any(one.query.size(inside) > ANSWER_LIMIT for one in self.strategy.stated(self.scale))

    @property
    def compared_error(self) -> float:
        """What plans are compared by: how far intervals of quantiles reach, or else its error, as far as it counts."""
        error = self.expected_error * self.strategy.mechanism.compared_as(self.strategy)
        return error if self.interval_reach is None else self.interval_reach

    def scaled(self, domain: Domain) -> Scaled:
        """Its strategy at its scale of noise."""
        return self.strategy.at(self.scale, domain)

    @cached_property
    def certificate(self) -> Certificate:
        """What this item would lose if it were released alone."""
        return self._certificate or certify_release(self.policy, self.measurements)

    @property
    def epsilon(self) -> Fraction:
        """The same, as epsilon."""
        return Exact(self.certificate.epsilon)

    @cached_property
    def measurements(self) -> tuple[Measurement, ...]:
        return self.strategy.measurements(self.scale)

    def __repr__(self) -> str:
        return f"<PlannedItem {self.name}: {self.mechanism}, expected error {self.expected_error:.3g}>"


@dataclass(frozen=True)
class Plan(Displayed):
    """What will be measured for every item, and the certificate of all of it together."""

    policy: Policy
    items: tuple[PlannedItem, ...]
    names: tuple[PlannedNames, ...] = ()
    """Names above a threshold, of columns of open text. Iterating over a plan gives the other items."""
    _offers: KnownOffers = field(default_factory=KnownOffers, compare=False, repr=False)
    """What mechanisms offered for its items: `preview` reuses it for plans that differ a little."""

    @cached_property
    def certificate(self) -> Certificate:
        """What the whole release loses, by the kernel."""
        measured = [m for item in self.items for m in item.measurements]
        return certify_release(self.policy, measured, names=[item.above for item in self.names])

    @cached_property
    def _estimators(self) -> Remembered:
        """How its sums are estimated, and how well: computed once for all its releases."""
        return Remembered()

    @cached_property
    def _derived(self) -> dict[Hashable, Any]:
        """Its document, hash and prices, computed once for all its releases."""
        return {}

    def __iter__(self) -> Iterator[PlannedItem]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, name: str) -> PlannedItem:
        for item in self.items:
            if item.name == name:
                return item
        raise QueryError(f"the plan has no item {name!r}", fix=f"use one of: {', '.join(i.name for i in self.items)}")

    @property
    def epsilon(self) -> Fraction:
        """What the whole release loses. Never more than the items' losses added up, and often less."""
        return Exact(self.certificate.epsilon)

    def __repr__(self) -> str:
        return f"<Plan {self.policy.dataset}: {number_of(len(self), 'item')}, epsilon {decimal_text(self.epsilon)}>"


@bounded_effort
@on_one_thread
def plan(
    policy: AnyPolicy,
    *,
    epsilon: Number | None = None,
    delta: Number | None = None,
    noise: str | NoiseLaw | None = None,
) -> Plan:
    """The best strategies we have for a policy's items, certified together at the policy's budget.

    Post  the certificate of the whole release is the budget (0 when every answer is exact by policy). Items on the
          same worst step share it as their `share` says; items that no single step moves together need not share.
          Where the budget has a delta, Laplace and Gaussian noise are both planned, unless `noise` says which, and the
          one with the smaller errors is taken; Laplace noise leaves the delta unused.
    """
    policy = load_policy(policy)
    if epsilon is not None or delta is not None:
        policy = policy.with_budget(epsilon, delta)
    law = None if noise is None else law_named(noise)
    if law is not None and law.currency is not Currency.PURE and not policy.delta:
        raise PolicyError(f"{law.words} noise needs a delta", fix="write `budget: {epsilon: 1, delta: 1e-6}`")
    return reduce(better, offers(policy)) if law is None else _plan_with(policy, law)


@bounded_effort
@on_one_thread
def preview(policy: AnyPolicy, *, previous: Plan | None = None) -> Plan:
    """The plan of a policy after a change: `plan` with what did not change taken from an earlier plan or preview.

    Post  equal to `plan(policy)`, every figure and certificate: what is reused is what mechanisms offered for the same
          question under the same secrets. Scales, errors and certificates are computed for this policy.
    """
    policy = load_policy(policy)
    if previous is None:
        return reduce(better, offers(policy))
    if policy.graph == previous.policy.graph:  # with all that it remembers
        policy = replace(policy, graph=previous.policy.graph)
    return reduce(better, offers(policy, previous._offers.next()))


def offers(policy: Policy, known: KnownOffers | None = None) -> tuple[Plan, ...]:
    """The plans with each kind of noise that a policy's budget allows; the `better` one is its plan."""
    known = known or KnownOffers()
    if policy.rho is not None:
        return (_plan_with(policy, GAUSSIAN, known),)
    pure = _plan_with(policy, LAPLACE, known)
    if not policy.delta or policy.names:  # names need all of it
        return (pure,)
    try:
        return pure, _plan_with(policy, GAUSSIAN, known)
    except Refused:  # squares are harder to certify; what has no certificate is not offered
        return (pure,)


def better(one: Plan, other: Plan) -> Plan:
    """The plan with the smaller objective, errors being relative to the smaller ones alone; the first if they tie."""
    alone = [min(a.alone_error, b.alone_error) for a, b in zip(one, other, strict=True)]
    objective = Objective([item.item for item in one], alone)
    ours, theirs = ([item.compared_error for item in plan] for plan in (one, other))
    return other if objective.of(theirs) < objective.of(ours) else one


def keeps_budget(certificate: Certificate, policy: Policy) -> bool:
    """Whether a release loses no more than a policy allows."""
    if not certificate.finite or certificate.delta > policy.delta:
        return False
    if certificate.rho is not None and policy.rho is not None:
        return certificate.rho <= policy.rho
    return certificate.epsilon <= policy.epsilon


def _plan_with(policy: Policy, noise: NoiseLaw, known: KnownOffers | None = None) -> Plan:
    if not policy.items and not policy.names:
        raise PolicyError("there is nothing to release", fix="list at least one item under `release`", where="release")
    known = known or KnownOffers()
    names, rest = plan_names(policy)
    priced = _without_idle_facts(priced_for_each(rest, noise))
    limit = limit_of(priced, noise)
    chosen, alone = _chosen(priced, limit, known) if policy.items else ([], [])
    both = zip(policy.items, for_one_release(policy, chosen), strict=True)
    planned = read_together([planned_item(item, *one, policy, known=known) for item, one in both], policy.domain)
    errors = zip(planned, alone, strict=True)
    found = Plan(policy, tuple(replace(item, alone_error=error) for item, error in errors), names, known)
    if not keeps_budget(found.certificate, policy):
        raise Refused("the plan does not keep its budget", fix="report this: the kernel and the planner disagree")
    for item in planned:  # before anything is paid for
        for measurement in item.measurements:
            drawable(measurement.scale or 1, name=f"the scale of the noise on {item.name}")
    return found


def _chosen(policy: Policy, limit: Limit, known: KnownOffers) -> tuple[Chosen, list[float]]:
    """Strategies and scales for the items of a policy, and the error of each alone with its share.

    Why   what is not the truth and noise cannot be averaged, so that copies of such items are drawn by themselves.
    """
    distinct = Distinct.of(policy.items)
    while True:
        asked = replace(policy, items=distinct.items)
        offered = [None if item.query.shaped_by_budget else known.of(item, asked, limit) for item in asked.items]
        chosen, objective = settle(asked, limit, offered)
        apart = [n for n, (strategy, _) in enumerate(chosen) if not strategy.mechanism.adds_noise]
        again = Distinct.of(policy.items, apart=[question(distinct.items[number]) for number in apart])
        if len(again.items) == len(distinct.items):
            break
        distinct = again
    together = planned_together(chosen, objective, asked, limit)
    return distinct.spread(together, limit), [objective.alone[place] for place in distinct.first]


def _without_idle_facts(policy: Policy) -> Policy:
    """A policy without its known counts, if no secret changes any of them: neighbours are the same then."""
    if not policy.known:
        return policy
    try:
        idle = not secrets_change_known(policy.graph)
    except Refused:
        return policy
    return replace(policy, graph=replace(policy.graph, known=())) if idle else policy


def read_together(items: Sequence[PlannedItem], domain: Domain) -> tuple[PlannedItem, ...]:
    """Items of a plan, with the errors of what is read together as they are then: tables, and copies of an item."""
    joined = [item for item in items if item.strategy.mechanism.read_together]
    errors = table_errors([item.scaled(domain) for item in joined]) if joined else []
    told = {item.name: error for item, error in zip(joined, errors, strict=True)}
    found = [replace(item, expected_error=told.get(item.name, item.expected_error)) for item in items]
    first = [original(item, found) for item in found]
    return tuple(
        replace(
            item,
            expected_error=one.expected_error,
            interval_reach=one.interval_reach,
            baseline_error=one.baseline_error,
            baseline=one.baseline,
        )
        for item, one in zip(found, first, strict=True)
    )


def original(item: PlannedItem, items: Iterable[PlannedItem]) -> PlannedItem:
    """The item, or the one whose copy it is, from which it is read.

    Why   what is measured in the same way is averaged by precision, and a copy has so much noise that it adds nothing.
    """
    if not item.strategy.noisy or not item.strategy.mechanism.adds_noise:
        return item
    return next((one for one in items if one.strategy == item.strategy and one.scale * COPY <= item.scale), item)


ENDLESS = Fraction(2**50)
"""A scale of noise at which nothing is told."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """What plain differential privacy would do at the same price: its error, and how it would answer."""

    error: float
    mechanism: Mechanism


def planned_item(
    item: Item,
    strategy: Strategy,
    scale: Fraction,
    policy: Policy,
    baseline: Baseline | None = None,
    known: KnownOffers | None = None,
) -> PlannedItem:
    """An item at a given scale of noise: its error, and the baseline, planned unless it is known."""
    error, certificate = strategy.at(scale, policy.domain).expected_error(item.query), None
    if baseline is None:
        measured = strategy.measurements(scale)
        certificate, add = certify_release(policy, measured), policy.once and adds_up(policy.attackers)
        counted = certify_release(replace(policy, once=False), measured) if add else certificate
        baseline = _baseline(item, strategy, scale, counted, policy, known or KnownOffers())
    reach, usual = strategy.at(scale, policy.domain).interval_reach(item.query), baseline.mechanism
    return PlannedItem(
        item, strategy, scale, policy, error, baseline.error, usual, interval_reach=reach, _certificate=certificate
    )


def _baseline(
    item: Item, strategy: Strategy, own_scale: Fraction, certificate: Certificate, policy: Policy, known: KnownOffers
) -> Baseline:
    noise = strategy.noise if policy.rho is None else GAUSSIAN
    limit = limit_of(policy, noise)
    price = limit.loss(certificate) or limit.amount * item.share / sum(i.share for i in policy.items)
    plain = policy.plain()
    at_price = Limit(noise, price)
    try:
        usual, scale = choose(item, plain, at_price, known.of(item, plain, at_price, usual=True))
    except Refused:
        if strategy.mechanism.adds_noise:
            raise
        usual, scale = strategy, ENDLESS  # where nothing is told exactly, nobody can show records with noise on each
    error = usual.at(scale, policy.domain).expected_error(item.query)
    if policy.graph == plain.graph:  # nothing else was promised
        own = strategy.at(own_scale, policy.domain).expected_error(item.query)
        return Baseline(own, strategy.mechanism) if own < error else Baseline(error, usual.mechanism)
    return Baseline(error, usual.mechanism)


# -- names ------------------------------------------------------------------------------------------
# What is told of columns of open text: a scale of noise and a threshold for each item.

MISSED = 0.025
"""The chance with which the truth may lie beyond either end of an interval."""


@dataclass(frozen=True)
class PlannedNames:
    """An item that tells names, with its scale of noise and its threshold."""

    item: NamesItem
    above: NamesAbove
    certificate: Certificate

    @property
    def name(self) -> str:
        return self.item.name

    @property
    def epsilon(self) -> Fraction:
        """What this item would lose if it were released alone."""
        return Fraction(self.certificate.epsilon)

    @property
    def asked(self) -> str:
        """What is asked for, in a few words."""
        return f"names in {self.above.column}"

    @property
    def sentence(self) -> str:
        """What is told and what is not."""
        few, sure = self.above.threshold + 1, 2 * self.above.threshold + 1
        return (
            f"The values of {self.above.column} that enough people share, and about how many do. Names that fewer than "
            f"about {few:,} people share do not appear; those that {sure:,} or more share all do."
        )

    @cached_property
    def expected_error(self) -> float:
        """The root mean squared error of the count of a name that very many people have."""
        places = np.arange(-self.above.threshold, self.above.threshold + 1, dtype=np.float64)
        return math.sqrt(float((self._chances * places**2).sum()))

    def intervals(self, told: Ints) -> tuple[Ints, Ints]:
        """Ends for the count of each name that was told; given that it was, they hold the truth with 95% probability.

        Why   a name near the threshold is told only where noise pushed it up. So chances are those of a count that is
              above the threshold. They rise with the truth, and halving finds where they are large enough.
        """
        most = self.above.threshold

        def reached(truth: Ints) -> Bools:
            return self._at_least(told - truth) >= MISSED * self._at_least(most + 1 - truth)

        def kept(truth: Ints) -> Bools:
            passing = self._at_least(most + 1 - truth)
            return passing - self._at_least(told - truth + 1) >= MISSED * passing

        lower = _first(reached, np.maximum(told - most, 1), told)
        upper = _first(lambda truth: ~kept(truth), told, told + most + 1) - 1
        return lower, np.maximum(upper, told)

    @cached_property
    def _chances(self) -> Floats:
        """The chance of each noise from -threshold to threshold."""
        places = np.abs(np.arange(-self.above.threshold, self.above.threshold + 1, dtype=np.float64))
        weights = np.exp(-places / float(self.above.scale))
        return np.asarray(weights / weights.sum())

    @cached_property
    def _tails(self) -> Floats:
        return np.append(np.cumsum(self._chances[::-1])[::-1], 0.0)

    def _at_least(self, noise: Ints) -> Floats:
        """The chance that noise is at least so large."""
        return np.asarray(self._tails[np.clip(noise + self.above.threshold, 0, len(self._chances))])


def _first(holds: Callable[[Ints], Bools], low: Ints, high: Ints) -> Ints:
    """The first number from `low` on from which something holds; `high` where it does not hold before."""
    while (low < high).any():
        middle = (low + high) // 2
        found = holds(middle)
        low, high = np.where(found | (low >= high), low, middle + 1), np.where(found & (low < high), middle, high)
    return high


def plan_names(policy: Policy) -> tuple[tuple[PlannedNames, ...], Policy]:
    """The items that tell names, and the policy with the budget that they leave for the others.

    Post  every item has its share of epsilon; those that tell names divide delta among them as their shares say.
    """
    if not policy.names:
        return (), policy
    if not policy.delta or policy.rho is not None:
        raise PolicyError(
            "names that nobody listed cannot be told without a delta",
            fix="write `budget: {epsilon: 1, delta: 1e-6}`",
            where="budget",
        )
    naming = sum(item.share for item in policy.names)
    shares = naming + sum(item.share for item in policy.items)
    found = tuple(
        _planned_names(item, policy, policy.epsilon * item.share / shares, policy.delta * item.share / naming)
        for item in policy.names
    )
    left = policy.epsilon * (shares - naming) / shares
    return found, policy.with_epsilon(left) if policy.items else policy


def _planned_names(item: NamesItem, policy: Policy, epsilon: Fraction, delta: Fraction) -> PlannedNames:
    moved = names_moved(policy, open_text(policy, item.column))
    scale = moved / epsilon
    drawable(scale, name=f"the scale of the noise on {item.name}")
    above = NamesAbove(item.column, scale, least_threshold(scale, moved, delta))
    return PlannedNames(item, above, certify_names(policy, [above]))
