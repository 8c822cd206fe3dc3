"""Histograms of one release planned jointly, and the errors of joint estimates.

Tables that share attributes tell of each other. So which of them is measured how well is a question about all of them:
the answer with the least squared error over all cells is looked for, and taken where it is better than each by itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from tetraodon.certificate.kernel import certify_measurements
from tetraodon.domain import Domain
from tetraodon.errors import Refused
from tetraodon.exact.zcdp import sqrt_above
from tetraodon.mechanism.marginals import MARGINS, TableParts, TableSearch, steps_together, table_errors, table_parts
from tetraodon.mechanism.one_scale import IDENTITY
from tetraodon.mechanism.strategy import Scaled, Strategy
from tetraodon.policy.policy import Item, Policy
from tetraodon.query.contribution import One
from tetraodon.query.linear import LinearQuery, splits
from tetraodon.query.query import Cells
from tetraodon.query.weighted_margins import WeighedMargins, multiples
from tetraodon.releases.proposals import Limit, expected, fill

FEWEST, MOST_WAYS = 3, 8
"""Tables that are worth planning as one, and the most attributes that such a table has."""
GAIN = 0.995
"""What a plan of all tables must be better by."""
FINE, FINEST = 0.01, 2**22
"""How near multiples of margins are to those that were looked for, and the finest parts that they are told in."""
STEPS = 200
"""The least precise table has noise of one over so many parts; that of all others is a whole number of them, too."""

Planned = tuple[Strategy, Fraction]


def planned_together(items: Sequence[Item], planned: Sequence[Planned], policy: Policy, limit: Limit) -> list[Planned]:
    """Strategies and scales, given those of every item by itself; these where nothing is better.

    Post  the same loss, at most. With equal shares the squared errors of all cells of the tables add up to less than
          before; where shares differ, no table is worse than before.
    """
    group = _group(items, planned, policy)
    steps = _steps(policy, [planned[place][0] for place in group])
    if not group or steps is None:
        return list(planned)
    before = [_each_cell(items[place], *planned[place], policy, limit) for place in group]
    parts, errors = [table_parts(at) for at in before], table_errors(before)
    own = [expected(items[place], *planned[place], policy) for place in group]
    errors = [min(both) for both in zip(errors, own, strict=True)]
    equal = len({items[place].share for place in group}) == 1
    weights = [1.0 if equal else 1 / (p.cells * e**2) for p, e in zip(parts, errors, strict=True)]
    others = any(s.noisy for place, (s, _) in enumerate(planned) if place not in group)
    try:
        found = _searched(TableSearch(parts, weights, steps), before, policy, limit, weighed=not others)
        after = _filled(group, found, planned, policy, limit, others=others)
    except Refused:  # what has no certificate is not offered
        return list(planned)
    now = table_errors([Scaled(*after[place], policy.domain) for place in group])
    ratios = [b / a for a, b in zip(errors, now, strict=True)]
    if equal:
        better = _total(parts, now) <= GAIN * _total(parts, errors)
    else:
        better = max(ratios) <= 1 and min(ratios) <= GAIN
    return after if better else list(planned)


def _group(items: Sequence[Item], planned: Sequence[Planned], policy: Policy) -> list[int]:
    """The histograms by value that share an attribute with another, if they are so many that it matters."""
    if policy.graph.known or policy.graph.groups is not None:
        return []
    able = [place for place, item in enumerate(items) if _is_table(item, *planned[place], policy.domain)]
    names = {place: {split.name for split in planned[place][0].table} for place in able}
    met = [a for a in able if any(a != b and names[a] & names[b] for b in able)]
    return met if len(met) >= FEWEST else []


def _is_table(item: Item, strategy: Strategy, scale: Fraction, domain: Domain) -> bool:
    return (
        strategy.among is None
        and strategy.table == item.query.table(domain)
        and scale > 0
        and item.error is None
        and isinstance(item.query.reading(domain), Cells)
        and len(strategy.table) <= MOST_WAYS
        and all(split.bins is None and split.ends is None for split in strategy.table)
    )


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
        price = _loss([(strategy, scale)], policy, limit)
        (strategy,) = (replace(one, noise=limit.noise) for one in IDENTITY.propose(item.query, policy))
        scale = limit.scale(Fraction(1), price / _loss([(strategy, Fraction(1))], policy, limit))
    return Scaled(strategy, scale, policy.domain)


def _loss(planned: Sequence[Planned], policy: Policy, limit: Limit) -> Fraction:
    measured = [m for strategy, scale in planned for m in strategy.measurements(scale)]
    return limit.loss(certify_measurements(policy.graph, measured, rows_per_person=policy.rows_per_person))


def _total(parts: Sequence[TableParts], errors: Sequence[float]) -> float:
    return sum(part.cells * error**2 for part, error in zip(parts, errors, strict=True))


def _searched(
    search: TableSearch, before: Sequence[Scaled], policy: Policy, limit: Limit, *, weighed: bool
) -> list[Planned]:
    """Strategies for the tables with scales in whole parts of each other; what they lose is not looked at yet."""
    if limit.pure:
        rates, joined = search.laplace(joined=weighed)
        strategies = [replace(at.strategy, mechanism=MARGINS) for at in before]
        return _beside(strategies, rates.tolist(), joined, policy.domain)
    alone = all(len(policy.graph.factor_of(split.name).names) == 1 for at in before for split in at.strategy.table)
    precise, factors = search.gaussian(weighed=weighed and alone)
    rates = precise**0.5
    strategies = [_weighed(at, parts, factors) for at, parts in zip(before, search.tables, strict=True)]
    units = [float(strategy.noisy[0].contribution.unit) for strategy in strategies]
    steps = [float(rate) * unit for rate, unit in zip(rates, units, strict=True)]
    return [
        (strategy, Fraction(1, max(1, round(STEPS * step / min(steps)))))
        for strategy, step in zip(strategies, steps, strict=True)
    ]


def _beside(
    strategies: Sequence[Strategy], rates: Sequence[float], joined: dict[frozenset[str], float], domain: Domain
) -> list[Planned]:
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
        told = _strengths(times, parts, fine)
        if all(abs(a - b) <= FINE * b for a, b in zip(told, wanted, strict=True)):
            names = tuple(split.name for split in at.strategy.table)
            query = LinearQuery(WeighedMargins(names, parts.sizes, times, Fraction(1, fine)))
            return replace(plain, noisy=(query,))
        fine *= 2
    raise Refused("margins cannot be weighed in whole numbers", fix="ask for smaller tables")


def _strengths(times: Sequence[int], parts: TableParts, fine: int) -> list[float]:
    sets = range(len(times))
    return [sum(times[s] * parts.spread[s] for s in sets if t & ~s == 0) / fine for t in sets]


def _filled(
    group: Sequence[int],
    found: Sequence[Planned],
    planned: Sequence[Planned],
    policy: Policy,
    limit: Limit,
    *,
    others: bool,
) -> list[Planned]:
    """All items, with the scales of the tables stretched to what may be lost; other items rise beside them."""
    allowed = _loss([planned[place] for place in group], policy, limit) if others else limit.amount
    times = _loss(found, policy, limit) / allowed
    stretch = times if limit.pure else sqrt_above(times)
    after = list(planned)
    for place, (strategy, scale) in zip(group, found, strict=True):
        after[place] = strategy, scale * stretch
    if not others:
        return after
    return list(zip([strategy for strategy, _ in after], fill(policy, after, limit), strict=True))
