"""What mechanisms propose for an item, priced by the kernel, and which of it errs least."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TypeAlias

from tetraodon.certificate.certificate import Certificate
from tetraodon.certificate.kernel import certify_measurements
from tetraodon.domain import Domain
from tetraodon.errors import Refused
from tetraodon.mechanism.exact import EXACT
from tetraodon.mechanism.registry import proposals
from tetraodon.mechanism.strategy import Scaled, Strategy
from tetraodon.policy.policy import Item, Policy
from tetraodon.questions import Query
from tetraodon.releasing.budget import Limit, limit_of
from tetraodon.workload.linear import ANSWER_LIMIT, Measurement


def _certify(policy: Policy, measurements: Sequence[Measurement]) -> Certificate:
    return certify_measurements(policy.graph, measurements, rows_per_person=policy.rows_per_person, delta=policy.delta)


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
        if any(query.size(inside) > ANSWER_LIMIT for query in (*strategy.noisy, *strategy.exact)):
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
        return self.found[key]

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
            self.names[key] = old or _looked_at(item.query, policy.domain)
        return self.names[key]


def _looked_at(query: Query, domain: Domain) -> tuple[str, ...]:
    asked = (query.linear(domain), *query.sums(domain))
    names = [name for one in asked for name in one.names]
    return tuple(dict.fromkeys([*names, *(split.name for split in query.table(domain))]))


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
        for strategy in proposals(item.query, promise, usual=usual, among=among):
            measured = strategy.mechanism, strategy.noisy, strategy.weights
            # at least as much is exact where less is secret, so that answers themselves are not measured better there
            if promise is policy or (measured not in seen and strategy.table):
                yield strategy, promise is policy
            seen.add(measured)


def choose(item: Item, policy: Policy, limit: Limit, known: Offered | None = None) -> tuple[Strategy, Fraction]:
    """The proposal with the least expected error at a given price, and its scale of noise."""
    best: tuple[float, Strategy, Fraction] | None = None
    found, too_long = known or offered(item, policy, limit)
    for strategy, loss in found:
        scale = limit.scale(Fraction(1), limit.amount / loss) if loss else loss
        error = expected(item, strategy, scale, policy) * strategy.mechanism.compared_as(strategy)
        if best is None or error < best[0]:
            best = (error, strategy, scale)
    if best is None and too_long:
        raise Refused(
            f"the answer would have more than {ANSWER_LIMIT:,} numbers",
            fix=item.query.if_too_long,
            where=item.name,
        )
    if best is None:
        raise Refused("no mechanism can answer this under the policy", fix="ask for something else", where=item.name)
    return best[1], best[2]


def expected(item: Item, strategy: Strategy, scale: Fraction, policy: Policy) -> float:
    """The error that an item is expected to have, answered by a strategy at a scale of noise."""
    return Scaled(strategy, scale, strategy.inside(policy.domain)).expected_error(item.query)
