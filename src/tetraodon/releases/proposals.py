"""The least-error proposal for every item, how items share the budget, and histograms that are planned as one."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, TypeAlias

from tetraodon.certificate.certificate import Certificate
from tetraodon.certificate.correlated_records import certify_release, noises_of, priced_by_law, squares_lost
from tetraodon.certificate.kernel import certify_measurements
from tetraodon.certificate.pair_loss import loss_of_pair, rho_of_pair, standing_in
from tetraodon.domain import Domain
from tetraodon.errors import Refused
from tetraodon.exact.zcdp import finest, rho_at, sqrt_above
from tetraodon.mechanism.marginals import MARGINS, TableParts, TableSearch, steps_together, table_errors, table_parts
from tetraodon.mechanism.one_scale import EXACT, IDENTITY
from tetraodon.mechanism.registry import proposals
from tetraodon.mechanism.strategy import Scaled, Strategy
from tetraodon.noise.laws import LAPLACE, Currency, NoiseLaw
from tetraodon.policy.attackers import Contacts
from tetraodon.policy.policy import Item, Policy
from tetraodon.policy.secret_graph import ABSENT
from tetraodon.query.contribution import One
from tetraodon.query.linear import ANSWER_LIMIT, LinearQuery, Measurement, splits
from tetraodon.query.query import Cells
from tetraodon.query.weighted_margins import WeighedMargins, multiples

Chosen: TypeAlias = Sequence[tuple[Strategy, Fraction]]
"""A strategy for every item, and its scale of noise."""

# -- budget -----------------------------------------------------------------------------------------
# Sharing a budget between items so that none of it is left lying.
#
# Items that no single step can move together do not compete: under "one attribute at a time" a table of ages
# and a table of incomes may each use the whole budget. So budgets are filled like water: all items rise in
# proportion to their shares until some step costs the whole budget; the items on that step stop, the others rise on.


@dataclass(frozen=True)
class Limit:
    """What may be lost, in the currency of one kind of noise: epsilon for Laplace, rho for Gaussian noise.

    Why   both losses are a maximum over steps of sums over answers: of |moved| / scale, or of (moved / sigma)^2 / 2. So
          one falls as 1 / scale and the other as 1 / sigma^2.
    """

    noise: NoiseLaw
    amount: Fraction

    @property
    def pure(self) -> bool:
        return self.noise.currency is Currency.PURE

    def loss(self, certificate: Certificate) -> Fraction:
        return Fraction(certificate.epsilon) if self.pure else certificate.rho or Fraction(0)

    def lost(self, policy: Policy, chosen: Chosen) -> Fraction:
        """What strategies lose together."""
        return self.loss(_certify(policy, _measured(chosen)))

    def of_pair(self, policy: Policy, measurements: Sequence[Measurement], pair: tuple[Any, Any]) -> Fraction:
        """What one step loses; all rows of a person may take it."""
        if self.pure:
            return policy.rows_per_person * loss_of_pair(policy.domain, measurements, pair)
        return policy.rows_per_person**2 * rho_of_pair(policy.domain, measurements, pair)

    def scale(self, scale: Fraction, factor: Fraction) -> Fraction:
        """The scale at which `factor` times as much is lost, or a little less."""
        return scale / factor if self.pure else sqrt_above(scale**2 / factor)

    def factor(self, before: Fraction, after: Fraction) -> Fraction:
        """How many times as much is lost at another scale."""
        return before / after if self.pure else (before / after) ** 2


def limit_of(policy: Policy, noise: NoiseLaw) -> Limit:
    """A policy's budget. For Gaussian noise, the rho that gives (epsilon, delta); Laplace noise needs no delta."""
    if noise.currency is Currency.PURE:
        return Limit(noise, policy.epsilon)
    if noise.currency is not Currency.ZCDP:
        raise noise.unknown("privacy loss")
    return Limit(noise, policy.rho or rho_at(policy.epsilon, policy.delta))


def _measured(chosen: Chosen) -> list[Measurement]:
    return [m for strategy, scale in chosen for m in strategy.measurements(scale)]


def _certify(policy: Policy, measurements: Sequence[Measurement]) -> Certificate:
    return certify_measurements(policy.graph, measurements, rows_per_person=policy.rows_per_person, delta=policy.delta)


def fill(policy: Policy, chosen: Chosen, limit: Limit | None = None) -> list[Fraction]:
    """Scales of noise for the chosen strategies, given first scales whose losses stand as the shares do.

    Post  all measurements together lose the budget at most, and no item's scale could be smaller alone, unless a
          loss is only known by a bound, in which case all scales are stretched alike.
    """
    return _Filling(policy, [strategy for strategy, _ in chosen], limit or limit_of(policy, LAPLACE)).fill(
        [scale for _, scale in chosen]
    )


@dataclass(frozen=True)
class _Filling:
    """Items that share a limit. Scales are those of all of them, `numbers` say which items are looked at."""

    policy: Policy
    strategies: Sequence[Strategy]
    limit: Limit

    def fill(self, scales: list[Fraction]) -> list[Fraction]:
        limit, every = self.limit, set(range(len(scales)))
        rising, lone = {number for number in every if scales[number] > 0}, self._lone()
        while rising:
            found = self._rise(scales, rising)
            if found is None:
                times = limit.amount / limit.loss(self._certified(scales, every))
                return [limit.scale(scale, times) if scale else scale for scale in scales]
            factor, step = found
            scales = self._raised(scales, rising, factor)
            lost = {n: self._of_pair(scales, {n}, step) for n in rising}
            rising -= {n for n, loss in lost.items() if loss}
            least = min((loss for n, loss in lost.items() if loss and n in lone), default=None)
            if least is not None and ABSENT not in step:
                rising -= {n for n in rising & lone if limit.loss(self._certified(scales, {n})) >= least}
        return scales

    def _rise(self, scales: Sequence[Fraction], rising: set[int]) -> tuple[Fraction, tuple[Any, Any]] | None:
        """The largest factor by which the losses of the rising items may grow, and the step that then costs the budget.

        None where a loss is not exact.

        Why   the loss is a maximum of functions c + t d, one for every step. From a factor that is too large, the step
              that attains the maximum gives the next, smaller one, and after finitely many the maximum is the budget.
              The last such step costs all of it: whatever item it moves can rise no more, and it moves at least one
              that rose.
        """
        limit, alone = self.limit, self._certified(scales, rising)
        if not alone.exact or alone.witness is None:
            return None
        factor, step = limit.amount / limit.loss(alone), alone.witness
        every = set(range(len(scales)))
        while True:
            found = self._certified(self._raised(scales, rising, factor), every)
            if not found.exact or found.witness is None:
                return None
            if limit.loss(found) <= limit.amount:
                return factor, step
            step = found.witness
            factor = (limit.amount - self._of_pair(scales, every - rising, step)) / self._of_pair(scales, rising, step)

    def _raised(self, scales: Sequence[Fraction], rising: set[int], factor: Fraction) -> list[Fraction]:
        return [self.limit.scale(scale, factor) if number in rising else scale for number, scale in enumerate(scales)]

    def _measured(self, scales: Sequence[Fraction], numbers: set[int]) -> list[Measurement]:
        """What is measured, or stands in for it: of that the worst step is known, where the loss itself is a bound."""
        looked_at = [(self.strategies[number], scales[number]) for number in sorted(numbers)]
        return standing_in(_measured(looked_at), self.policy.graph)

    def _certified(self, scales: Sequence[Fraction], numbers: set[int]) -> Certificate:
        return _certify(self.policy, self._measured(scales, numbers))

    def _of_pair(self, scales: Sequence[Fraction], numbers: set[int], step: tuple[Any, Any]) -> Fraction:
        """What noisy measurements lose on a step."""
        return self.limit.of_pair(self.policy, [m for m in self._measured(scales, numbers) if m.scale > 0], step)

    def _lone(self) -> set[int]:
        """Items that look at one factor each, which no other item looks at.

        Why   a step that costs the whole budget costs no less if it changes the factor of such an item that loses as
              much in place of another's. So where one of them stops, all stop that lose as much: of a thousand alike,
              of which ten change at a time, not ten in each round.
        """
        graph = self.policy.graph
        if graph.known or graph.groups is not None:
            return set()
        looked_at = [{graph.place_of[n] for q in (*s.noisy, *s.exact) for n in q.names} for s in self.strategies]
        times = Counter(place for places in looked_at for place in places)
        return {n for n, places in enumerate(looked_at) if len(places) == 1 and all(times[p] == 1 for p in places)}


def for_one_release(policy: Policy, chosen: Chosen) -> Chosen:
    """The same strategies with all noise shrunk alike, by as much as one release may where the budget is spent `once`,
    and as the secrets of people with contacts allow.

    Pre   they keep the budget as zCDP counts it, and if any change of anybody's row is a secret.
    """
    if policy.once:
        measured = _measured(chosen)
        lost = squares_lost(policy, measured, policy.delta)
        if lost.rho and priced_by_law(measured):
            noises = noises_of(measured, policy.domain)
            chosen = _times(chosen, finest(lost.rho, noises, policy.epsilon - lost.beside, policy.delta))
    if isinstance(policy.attackers, Contacts) and policy.graph.has_edges:
        factor = Fraction(certify_release(policy, _measured(chosen)).epsilon) / policy.epsilon
        chosen = _times(chosen, factor) if factor else chosen
    return chosen


def _times(chosen: Chosen, factor: Fraction) -> Chosen:
    return [(strategy, scale * factor) for strategy, scale in chosen]


# -- best proposal ----------------------------------------------------------------------------------


PLANNED_LIMIT = 10**9
"""Cells of a table that are planned: nothing lists them. A release holds no more than `ANSWER_LIMIT`."""
Offered: TypeAlias = tuple[list[tuple[Strategy, Fraction]], bool]
"""Proposals with what each loses at a scale of one, and whether others were left out as too long."""


def offered(item: Item, policy: Policy, limit: Limit, *, usual: bool = False) -> Offered:
    """What mechanisms propose for an item, priced; the price that it may have matters only if that shapes it.

    Post  what is proposed where any two records are a secret is there as well, priced under the policy: who promises
          less than plain differential privacy never errs more.
    """
    priced = policy
    if item.query.shaped_by_budget:  # how fine its table is depends on its part of the budget
        priced = policy.with_epsilon(policy.epsilon * limit.amount / limit_of(policy, limit.noise).amount)
    found, too_long = [], False
    refused: Refused | None = None
    for strategy, own in _proposed(item, priced, usual):
        if item.error and not strategy.mechanism.adds_noise:
            continue  # what is wanted is a bound that holds
        if strategy.made_for not in (None, limit.noise):
            continue
        strategy, inside = replace(strategy, noise=limit.noise), strategy.inside(policy.domain)
        most = PLANNED_LIMIT if strategy.mechanism.each_cell else ANSWER_LIMIT
        longest = max(split.size(inside) for split in strategy.table) if strategy.table else 0
        sizes = [query.size(inside) for query in (*strategy.noisy, *strategy.exact)]
        if max(sizes, default=0) > most or longest > ANSWER_LIMIT:
            too_long = True
            continue
        try:
            unit = _certify(policy, strategy.measurements(Fraction(1)))
        except Refused as error:
            if own and strategy.among is None:
                raise
            refused = error if own else refused  # another may be simpler to certify for a part of the records
            continue
        if unit.finite:
            loss = limit.loss(unit)
            if loss or strategy.mechanism.adds_noise:
                found.append((strategy if loss else EXACT.of(strategy), loss))
    if refused is not None and not found:
        raise refused
    return found, too_long


@dataclass(eq=False)
class KnownOffers:
    """What was offered for the items of a plan: whoever plans a policy like it need not look for it again.

    Why   an offer depends on what is asked and on the secrets of the attributes that it is asked of. Shares and budgets
          only say how much noise there is, which `choose` looks at.
    """

    found: dict[Hashable, Offered] = field(default_factory=dict)
    names: dict[Hashable, tuple[str, ...]] = field(default_factory=dict)
    before: KnownOffers | None = None
    """What an earlier plan found; what it knew from plans before that is forgotten."""

    def next(self) -> KnownOffers:
        """For the plan after this one."""
        return KnownOffers(before=KnownOffers(self.found, self.names))

    def of(self, item: Item, policy: Policy, limit: Limit, *, usual: bool = False) -> Offered:
        """`offered`, or what was offered before for the same question under the same secrets."""
        if item.query.shaped_by_budget:
            return offered(item, policy, limit, usual=usual)
        part = self._part(item, policy)
        key = item.query, item.where, item.error is None, part, limit.noise, usual
        if key not in self.found:
            old = self.before and self.before.found.get(key)
            self.found[key] = old or offered(item, part, limit, usual=usual)
        exact = [strategy for strategy, _ in self.found[key][0] if not strategy.noisy]
        if all(_certify(policy, strategy.measurements(Fraction(0))).finite for strategy in exact):
            return self.found[key]
        return offered(item, policy, limit, usual=usual)  # the kernel has a bound alone for the whole policy

    def _part(self, item: Item, policy: Policy) -> Policy:
        """All that an offer depends on: the promise about what an item looks at, at no particular price.

        Why   a step of a policy moves an item as a step of that part does, unless figures are known or secrets depend
              on a group. Where the item is about some records only, conditions look at more.
        """
        graph = policy.graph
        if not (graph.known or graph.groups or item.among(policy.domain)) and (names := self._names(item, policy)):
            graph = graph.part(names)
        return Policy(
            policy.dataset,
            graph.domain,
            graph,
            Fraction(1),
            (),
            presence=policy.presence,
            key=policy.key,
            rows_per_person=policy.rows_per_person,
            every_row=policy.every_row,
            attackers=policy.attackers,
            delta=policy.delta,
            rho=None if policy.rho is None else Fraction(1),
        )

    def _names(self, item: Item, policy: Policy) -> tuple[str, ...]:
        """The attributes that a question looks at."""
        key = item.query, policy.domain
        if key not in self.names:
            old = self.before and self.before.names.get(key)
            asked = (item.query.linear(policy.domain), *item.query.sums(policy.domain))
            names = [name for one in asked for name in one.names]
            table = [split.name for split in item.query.table(policy.domain)]
            self.names[key] = old or tuple(dict.fromkeys([*names, *table]))
        return self.names[key]


def _proposed(item: Item, policy: Policy, usual: bool) -> Iterator[tuple[Strategy, bool]]:
    """Strategies for a policy, and then others that plain differential privacy would have; whether each is the first.

    Why   what is known already makes neighbours of data sets that differ in several records: then the policy does not
          promise less than plain differential privacy does. And a question that is shaped by the budget is not the same
          for both, so that errors tell nothing.
    """
    plain, among = policy.plain(), item.among(policy.domain)
    same = policy.known or item.query.shaped_by_budget or policy.graph == plain.graph
    promises = (policy,) if same else (policy, plain)
    seen = set()
    for promise in promises:
        # what is searched for presence alone is no worse than what is searched for more
        few = usual or (promise is not policy and policy.graph.presence_alone)
        for strategy in proposals(item.query, promise, usual=few, among=among):
            measured = strategy.mechanism, strategy.noisy, strategy.weights
            # at least as much is exact where less is secret, so that answers themselves are not measured better there
            if promise is policy or (measured not in seen and strategy.table):
                yield strategy, promise is policy
            seen.add(measured)


def choose(item: Item, policy: Policy, limit: Limit, known: Offered | None = None) -> tuple[Strategy, Fraction]:
    """The proposal with the least expected error at a given price, or the shortest intervals; its scale of noise."""
    best: tuple[float, Strategy, Fraction] | None = None
    found, too_long = known or offered(item, policy, limit)
    for strategy, loss in found:
        scale = limit.scale(Fraction(1), limit.amount / loss) if loss else loss
        error = strategy.at(scale, policy.domain).compared_error(item.query)
        if best is None or error < best[0]:
            best = (error, strategy, scale)
    if best is None and too_long:
        raise Refused(
            f"the answer would have more than {ANSWER_LIMIT:,} numbers", fix=item.query.if_too_long, where=item.name
        )
    if best is None:
        raise Refused("no mechanism can answer this under the policy", fix="ask for something else", where=item.name)
    return best[1], best[2]


# -- objective --------------------------------------------------------------------------------------
# What a plan is to be good at: the squared errors of its items, each relative to the item alone with its share of the
# budget, and weighed by that share. No item may err more than alone.


@dataclass(frozen=True)
class Objective:
    """The items of a plan, and the error of each alone with its share. The least `of` the errors is the best plan."""

    items: Sequence[Item]
    alone: Sequence[float]
    smooth: Sequence[float] = ()
    """The same with continuous noise, which falls with the budget by one factor for all."""

    def of(self, errors: Sequence[float]) -> float:
        """The sum of squared errors relative to each item alone, weighed by the shares. Exact items have no part."""
        return sum(
            float(item.share) * (error / alone) ** 2
            for item, error, alone in zip(self.items, errors, self.alone, strict=True)
            if alone
        )

    def worst(self, errors: Sequence[float]) -> float:
        """The largest error relative to an item alone."""
        return max((error / alone for error, alone in zip(errors, self.alone, strict=True) if alone), default=0.0)

    def allows(self, errors: Sequence[float]) -> bool:
        """Whether no item errs more than alone."""
        return self.worst(errors) <= 1 + ROUNDED


ROUNDED = 1e-6
"""What floats may add to an error."""


def compared_error(item: Item, strategy: Strategy, scale: Fraction, policy: Policy) -> float:
    """What plans are compared by, of an item."""
    return strategy.at(scale, policy.domain).compared_error(item.query)


def settle(policy: Policy, limit: Limit, offers: Sequence[Offered | None]) -> tuple[Chosen, Objective]:
    """Strategies and scales of items, each planned by itself, and the objective of all of them.

    Post  no item errs more than alone with its share.
    Why   a share of the budget leaves every item its price at least, and filling only adds to it. At the price that an
          item has then another strategy may be better: all are chosen again as long as that lowers the objective.
    """
    items, shares = policy.items, sum(item.share for item in policy.items)
    own = [limit.amount * item.share / shares for item in items]
    prices, best, objective = own, list[tuple[Strategy, Fraction]](), Objective(items, [0.0] * len(items))
    for _ in range(ROUNDS):
        chosen = [
            choose(item, policy, Limit(limit.noise, price), known)
            for item, price, known in zip(items, prices, offers, strict=True)
        ]
        if [strategy for strategy, _ in chosen] == [strategy for strategy, _ in best]:
            break
        # the shares, not the last prices, say how the items rise
        first = [
            (strategy, limit.scale(scale, to / price) if scale else scale)
            for (strategy, scale), price, to in zip(chosen, prices, own, strict=True)
        ]
        scales = fill(policy, first, limit)
        filled = [(strategy, scale) for (strategy, _), scale in zip(chosen, scales, strict=True)]
        if not best:
            alone = [compared_error(i, *one, policy) for i, one in zip(items, first, strict=True)]
            more = [strategy.at(scale, policy.domain).above_discrete if scale else 1.0 for strategy, scale in first]
            objective = Objective(items, alone, [e * math.sqrt(m) for e, m in zip(alone, more, strict=True)])
        else:
            before, after = (
                [compared_error(i, *one, policy) for i, one in zip(items, some, strict=True)] for some in (best, filled)
            )
            if not objective.allows(after) or objective.of(after) >= objective.of(before):
                break
        best = filled
        prices = [
            price * limit.factor(at_price, scale) if scale else price
            for price, (_, at_price), scale in zip(prices, chosen, scales, strict=True)
        ]
    return best, objective


ROUNDS = 4


# -- copies -----------------------------------------------------------------------------------------
# An item that is asked twice is measured once: the first gets the shares of all, and the others so much noise that
# they cost nearly nothing. Whatever is measured in the same way is averaged by precision, so that all are answered
# alike.

COPY = 2**12
"""How much more noise a copy gets."""


@dataclass(frozen=True)
class Distinct:
    """The different questions of a policy, with the shares of all items that ask them."""

    items: tuple[Item, ...]
    first: tuple[int, ...]
    """For every item of the policy, which of them it is."""

    @classmethod
    def of(cls, items: Sequence[Item], apart: Collection[Hashable] = ()) -> Distinct:
        """Items that ask the same of the same records; those `apart` stay as they are."""
        found: dict[Hashable, Item] = {}
        first = []
        for place, item in enumerate(items):
            key = question(item)
            key = (key, place) if key in apart else key
            found[key] = replace(found[key], share=found[key].share + item.share) if key in found else item
            first.append(list(found).index(key))
        return cls(tuple(found.values()), tuple(first))

    def spread(self, chosen: Chosen, limit: Limit) -> Chosen:
        """Strategies and scales of all items, which lose together what those of the questions do."""
        times, found, seen = Counter(self.first), [], set()
        for place in self.first:
            strategy, scale = chosen[place]
            # what the copies cost is taken from the first
            more = 1 + Fraction(times[place] - 1, COPY if limit.pure else COPY**2)
            scale = limit.scale(scale, 1 / more) if scale and times[place] > 1 else scale
            found.append((strategy, scale * COPY if place in seen else scale))
            seen.add(place)
        return found


def question(item: Item) -> Hashable:
    """What two items have in common where one is a copy of the other."""
    return item.query, item.where, item.error


# -- joint tables -----------------------------------------------------------------------------------
# Histograms of one release planned jointly: tables that share attributes tell of each other.
#
# So which of them is measured how well is a question about all of them: the plan with the least objective is looked
# for, and taken where it is better than each by itself.

MOST_WAYS = 8
"""The most attributes of a table that is planned with others."""
GAIN = 0.995
"""What a plan of all tables must be better by."""
FINE, FINEST = 0.01, 2**40
"""How near multiples of margins are to those that were looked for, and the finest parts that they are told in."""
STEPS = 200
"""The least precise table has noise of one over so many parts; that of all others is a whole number of them, too."""
TIGHTER = 3
"""How often bounds are made tighter where rounding leaves an item worse than alone."""


def planned_together(chosen: Chosen, objective: Objective, policy: Policy, limit: Limit) -> Chosen:
    """Strategies and scales, given those of every item by itself; these where nothing is better.

    Post  the same loss, at most, and a smaller objective; no item errs more than alone.
    """
    group = [place for place in _group(objective.items, chosen, policy) if objective.alone[place]]
    if not group:
        return chosen
    best, least = chosen, GAIN * objective.of(_errors(chosen, objective.items, policy))
    try:
        for found in _joint(group, chosen, objective, policy, limit):
            errors = _errors(found, objective.items, policy)
            if objective.allows(errors) and objective.of(errors) <= least:
                best, least = found, objective.of(errors)
    except Refused:  # what has no certificate is not offered
        pass
    return best


def _errors(chosen: Chosen, items: Sequence[Item], policy: Policy) -> list[float]:
    """Errors as plans are compared, those of tables that are read together as they are then."""
    errors = [compared_error(item, *one, policy) for item, one in zip(items, chosen, strict=True)]
    joined = [place for place, (strategy, _) in enumerate(chosen) if strategy.mechanism.read_together]
    if joined:
        together = table_errors([chosen[place][0].at(chosen[place][1], policy.domain) for place in joined])
        for place, error in zip(joined, together, strict=True):
            errors[place] = error
    return errors


def _joint(
    group: Sequence[int], chosen: Chosen, objective: Objective, policy: Policy, limit: Limit
) -> Iterator[Chosen]:
    """Plans in which the tables of a group are read together: as they are, and with noise that serves all of them."""
    items = objective.items
    before = [_each_cell(items[place], *chosen[place], policy, limit) for place in group]
    others = any(s.noisy for place, (s, _) in enumerate(chosen) if place not in group)

    def with_tables(found: Chosen, *, times: Fraction) -> Chosen:
        after = list(chosen)
        for place, (strategy, scale) in zip(group, found, strict=True):
            after[place] = strategy, scale * (times if limit.pure else sqrt_above(times))
        if others:  # these rise beside the tables
            after = list(zip([strategy for strategy, _ in after], fill(policy, after, limit), strict=True))
        return after

    yield with_tables([(replace(at.strategy, mechanism=MARGINS), at.scale) for at in before], times=Fraction(1))
    steps = [_steps(one, [at.strategy for at in before]) for one in (policy, policy.plain())]
    allowed = limit.lost(policy, [chosen[place] for place in group]) if others else limit.amount
    parts = [table_parts(at) for at in before]
    alone, smooth = ([errors[place] for place in group] for errors in (objective.alone, objective.smooth))
    weights = [float(items[place].share) / (p.cells * e**2) for place, p, e in zip(group, parts, smooth, strict=True)]
    # squared errors of all cells that each table may have, where one is lost and noise has a variance of one
    rows = policy.rows_per_person
    unit = float(limit.amount / rows) ** 2 / 2 if limit.pure else 2 * float(limit.amount / rows**2)
    bounds = [p.cells * e**2 * unit for p, e in zip(parts, smooth, strict=True)]
    start = [-math.log(at.scale) if limit.pure else -2 * math.log(at.scale) for at in before]
    # what is found for plain differential privacy is a candidate, too
    for those in steps if steps[0] != steps[1] else steps[:1]:
        tight = bounds
        for _ in range(TIGHTER if those else 0):
            found = _searched(
                TableSearch(parts, weights, those or (), tight), before, start, policy, limit, weighed=not others
            )
            after = with_tables(found, times=limit.lost(policy, found) / allowed)
            errors = _errors(after, items, policy)
            yield after
            if objective.allows(errors):
                break
            missed = [errors[place] / e for place, e in zip(group, alone, strict=True)]
            tight = [one / (by * TIGHTEN) ** 2 if by > 1 else one for one, by in zip(tight, missed, strict=True)]


TIGHTEN = 1.002
"""By how much more than it was missed by a bound is made tighter."""


def _group(items: Sequence[Item], planned: Chosen, policy: Policy) -> list[int]:
    """The histograms by value that share an attribute with another."""
    if policy.graph.known or policy.graph.groups is not None:
        return []
    able = [
        place
        for place, (item, (strategy, scale)) in enumerate(zip(items, planned, strict=True))
        if strategy.among is None
        and set(strategy.table) == set(item.query.table(policy.domain))
        and scale > 0
        and item.error is None
        and isinstance(item.query.reading(policy.domain), Cells)
        and len(strategy.table) <= MOST_WAYS
        and all(split.bins is None and split.ends is None for split in strategy.table)
    ]
    names = {place: {split.name for split in planned[place][0].table} for place in able}
    return [a for a in able if any(a != b and names[a] & names[b] for b in able)]


def _steps(policy: Policy, strategies: Sequence[Strategy]) -> list[frozenset[str] | None] | None:
    names = {split.name for strategy in strategies for split in strategy.table}
    factors = [factor for factor in policy.graph.factors if names & set(factor.names)]
    moving = [f for f in factors if f.graph.has_edges]
    able = [name for factor in moving for name in factor.names if name in names]
    most = policy.graph.at_most if len(able) == len(moving) else len(able)
    return steps_together(able, most, absent=policy.graph.absent)


def _each_cell(item: Item, strategy: Strategy, scale: Fraction, policy: Policy, limit: Limit) -> Scaled:
    """Noise on each cell of a table, at the price that it has."""
    if not strategy.mechanism.each_cell:
        price = limit.lost(policy, [(strategy, scale)])
        (strategy,) = (replace(one, noise=limit.noise) for one in IDENTITY.propose(item.query, policy))
        scale = limit.scale(Fraction(1), price / limit.lost(policy, [(strategy, Fraction(1))]))
    return Scaled(strategy, scale, policy.domain)


def _searched(
    search: TableSearch,
    before: Sequence[Scaled],
    start: Sequence[float],
    policy: Policy,
    limit: Limit,
    *,
    weighed: bool,
) -> list[tuple[Strategy, Fraction]]:
    """Strategies for the tables with scales in whole parts of each other; what they lose is not looked at yet."""
    if limit.pure:
        rates, joined = search.laplace(start, joined=weighed)
        strategies = [replace(at.strategy, mechanism=MARGINS) for at in before]
        return _beside(strategies, rates.tolist(), joined, policy.domain)
    alone = all(len(policy.graph.factor_of(split.name).names) == 1 for at in before for split in at.strategy.table)
    precise, factors = search.gaussian(start, weighed=weighed and alone)
    strategies = [_weighed(at, parts, factors) for at, parts in zip(before, search.tables, strict=True)]
    units = [float(strategy.noisy[0].contribution.unit) for strategy in strategies]
    steps = [float(rate) * unit for rate, unit in zip(precise**0.5, units, strict=True)]
    return [(strategy, _step(step / min(steps))) for strategy, step in zip(strategies, steps, strict=True)]


def _beside(
    strategies: Sequence[Strategy], rates: Sequence[float], joined: dict[frozenset[str], float], domain: Domain
) -> list[tuple[Strategy, Fraction]]:
    """The tables with their noise, and each that joins two of them measured beside the first that it holds."""
    least, found = min(rates), []
    for strategy, rate in zip(strategies, rates, strict=True):
        scale, names = _step(rate / least), {split.name for split in strategy.table}
        mine = [one for one in joined if names <= one]
        more = [LinearQuery(One(), splits([name for name in domain.names if name in one])) for one in mine]
        weights = (Fraction(1), *(_step(joined.pop(one) / least) / scale for one in mine))
        found.append((replace(strategy, noisy=(*strategy.noisy, *more), weights=weights) if mine else strategy, scale))
    return found


def _step(rate: float) -> Fraction:
    return Fraction(1, max(1, round(STEPS * rate)))


def _weighed(at: Scaled, parts: TableParts, factors: dict[frozenset[str], float]) -> Strategy:
    """A table in which every part of fewer attributes counts by its factor."""
    *smaller, _ = wanted = [
        math.sqrt(factors[part]) if unknown and part != parts.of[-1] else 1.0
        for part, unknown in zip(parts.of, parts.unknown, strict=True)
    ]
    plain = replace(at.strategy, mechanism=MARGINS)
    if all(abs(strength - 1) <= FINE for strength in smaller):
        return plain
    exact, fine = multiples(wanted, parts.sizes), 1
    while fine <= FINEST:
        times = tuple(round(many * fine) for many in exact)
        sets = range(len(times))
        told = [sum(times[s] * parts.spread[s] for s in sets if t & ~s == 0) / fine for t in sets]
        if all(abs(a - b) <= FINE * b for a, b in zip(told, wanted, strict=True)):
            names = tuple(split.name for split in at.strategy.table)
            query = LinearQuery(WeighedMargins(names, parts.sizes, times, Fraction(1, fine)))
            return replace(plain, noisy=(query,))
        fine *= 2
    return plain  # parts beyond exact arithmetic: this table alone is measured as it is
