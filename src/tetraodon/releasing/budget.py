"""Sharing a budget between items so that none of it is left lying.

Items that no single step can move together do not compete: under "one attribute at a time" a table of ages
and a table of incomes may each use the whole budget. So budgets are filled like water: all items rise in
proportion to their shares until some step costs the whole budget; the items on that step stop, the others rise on.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from tetraodon.certificate.certificate import Certificate
from tetraodon.certificate.kernel import certify_measurements
from tetraodon.certificate.pair import loss_of_pair
from tetraodon.mechanism.strategy import Strategy
from tetraodon.policy.policy import Policy
from tetraodon.workload.linear import Measurement


def fill(policy: Policy, chosen: Sequence[tuple[Strategy, Fraction]]) -> list[Fraction]:
    """Scales of noise for the chosen strategies, given first scales whose losses stand as the shares do.

    Post  all measurements together lose the budget at most, and no item's scale could be smaller alone, unless a
          loss is only known by a bound, in which case all scales are stretched alike.
    """
    scales = [scale for _, scale in chosen]
    rising = {number for number, scale in enumerate(scales) if scale > 0}
    while rising:
        factor = _rise(policy, chosen, scales, rising)
        if factor is None:
            whole = certify(policy, chosen, scales).epsilon
            return [scale * Fraction(whole) / policy.epsilon for scale in scales]
        scales = [scale / factor if number in rising else scale for number, scale in enumerate(scales)]
        stuck = {number for number in rising if _rise(policy, chosen, scales, {number}) in (None, 1)}
        if not stuck:
            break
        rising -= stuck
    return scales


def certify(policy: Policy, chosen: Sequence[tuple[Strategy, Fraction]], scales: Sequence[Fraction]) -> Certificate:
    """The certificate of all items together at given scales."""
    return certify_measurements(
        policy.graph, _all(chosen, scales, range(len(scales))), rows_per_person=policy.rows_per_person
    )


def _all(
    chosen: Sequence[tuple[Strategy, Fraction]], scales: Sequence[Fraction], numbers: Sequence[int] | range | set[int]
) -> list[Measurement]:
    return [m for number in numbers for m in chosen[number][0].measurements(scales[number])]


def _rise(
    policy: Policy, chosen: Sequence[tuple[Strategy, Fraction]], scales: Sequence[Fraction], rising: set[int]
) -> Fraction | None:
    """The largest factor by which the losses of the rising items may grow; None where a loss is not exact.

    Why   the loss is a maximum of functions c + t d, one for every step. From a factor that is too large, the step
          that attains the maximum gives the next, smaller one, and after finitely many the maximum is the budget.
    """
    alone = certify_measurements(
        policy.graph, _all(chosen, scales, rising), rows_per_person=policy.rows_per_person
    ).epsilon
    factor = policy.epsilon / Fraction(alone)
    while True:
        raised = [scale / factor if number in rising else scale for number, scale in enumerate(scales)]
        found = certify(policy, chosen, raised)
        if not found.exact or found.witness is None:
            return None
        if found.epsilon <= policy.epsilon:
            return factor
        moving, still = (
            policy.rows_per_person * loss_of_pair(policy.domain, _noisy(chosen, scales, numbers), found.witness)
            for numbers in (rising, set(range(len(scales))) - rising)
        )
        factor = (policy.epsilon - still) / moving


def _noisy(
    chosen: Sequence[tuple[Strategy, Fraction]], scales: Sequence[Fraction], numbers: set[int]
) -> list[Measurement]:
    return [m for m in _all(chosen, scales, numbers) if m.scale > 0]
