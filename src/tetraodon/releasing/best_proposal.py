"""What mechanisms propose for an item, priced by the kernel, and which of it errs least."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TypeAlias

from tetraodon.certificate.certificate import Certificate
from tetraodon.certificate.kernel import certify_measurements
from tetraodon.errors import Refused
from tetraodon.mechanism.exact import EXACT
from tetraodon.mechanism.registry import proposals
from tetraodon.mechanism.strategy import Scaled, Strategy
from tetraodon.policy.policy import Item, Policy
from tetraodon.releasing.budget import Limit, limit_of
from tetraodon.workload.linear import ANSWER_LIMIT, Measurement


def _certify(policy: Policy, measurements: Sequence[Measurement]) -> Certificate:
    return certify_measurements(policy.graph, measurements, rows_per_person=policy.rows_per_person, delta=policy.delta)


Offered: TypeAlias = tuple[list[tuple[Strategy, Fraction]], bool]
"""Proposals with what each loses at a scale of one, and whether others were left out as too long."""


def offered(item: Item, policy: Policy, limit: Limit, *, usual: bool = False) -> Offered:
    """What mechanisms propose for an item, priced; the price that it may have matters only if that shapes it."""
    priced = policy
    if item.query.shaped_by_budget:  # how fine its table is depends on its part of the budget
        priced = policy.with_epsilon(policy.epsilon * limit.amount / limit_of(policy, limit.noise).amount)
    found, too_long = [], False
    refused: Refused | None = None
    for strategy in proposals(item.query, priced, usual=usual, among=item.among(policy.domain)):
        strategy, inside = replace(strategy, noise=limit.noise), strategy.inside(policy.domain)
        if any(query.size(inside) > ANSWER_LIMIT for query in (*strategy.noisy, *strategy.exact)):
            too_long = True
            continue
        try:
            unit = _certify(policy, strategy.measurements(Fraction(1)))
        except Refused as error:
            if strategy.among is None:
                raise
            refused = error  # another may be simpler to certify for a part of the records
            continue
        if unit.finite:
            loss = limit.loss(unit)
            found.append((strategy if loss else EXACT.of(strategy), loss))
    if refused is not None and not found:
        raise refused
    return found, too_long


def choose(item: Item, policy: Policy, limit: Limit, known: Offered | None = None) -> tuple[Strategy, Fraction]:
    """The proposal with the least expected error at a given price, and its scale of noise."""
    best: tuple[float, Strategy, Fraction] | None = None
    found, too_long = known or offered(item, policy, limit)
    for strategy, loss in found:
        scale = limit.scale(Fraction(1), limit.amount / loss) if loss else loss
        error = expected(item, strategy, scale, policy)
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
