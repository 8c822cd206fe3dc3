"""The one place where a privacy loss is computed.

For independent discrete Laplace noise of scale b_i on linear queries a_i, two datasets that differ in one
record, x in one and y in the other, can be told apart by at most a factor e^loss, with

    loss(x, y) = sum_i |a_i(x) - a_i(y)| / b_i,

and by exactly that for some output ([HMD14] Thm 5.1 in the other direction: discrete noise attains it). The
certificate is the maximum over the edges of the secret graph. Where counts are known, neighbours differ in several
records at once, and the maximum is over them (docs/neighbours.md). Everything is in whole numbers.

Discrete Gaussian noise of width s_i has no such factor. It is zCDP ([CKS20] Thm 4, added up over the answers), with

    rho(x, y) = sum_i (a_i(x) - a_i(y))^2 / (2 s_i^2),

the same maximum over squares. Laplace noise beside it counts as if s_i were b_i: e-privacy is e^2/2-zCDP.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

from tetraodon.certificate import corner_axis
from tetraodon.certificate.at_value import at_the_heaviest_weight, at_value, with_fixed_weight
from tetraodon.certificate.axis import Axis, Crossing, Peak, Term
from tetraodon.certificate.certificate import Computed, Sensitivity, certifying
from tetraodon.certificate.class_axis import ClassAxis
from tetraodon.certificate.combinations import combinations
from tetraodon.certificate.constrained import Push, largest_push
from tetraodon.certificate.corner_axis import CornerAxis
from tetraodon.certificate.grid_axis import GridAxis
from tetraodon.certificate.line_axis import LineAxis
from tetraodon.certificate.linear_term import by_value, linear_in_each_code
from tetraodon.certificate.rate_axis import by_metric
from tetraodon.certificate.stand_in import largest_with_products, needs_stand_in
from tetraodon.certificate.wide import is_wide, secrets_change_known, wide_push
from tetraodon.errors import Refused
from tetraodon.noise.laws import Currency
from tetraodon.policy.attribute_graph import Everything
from tetraodon.policy.joint_metric import JointMetric
from tetraodon.policy.secret_graph import ABSENT, MATRIX_LIMIT, Factor, SecretGraph
from tetraodon.workload.contribution import One
from tetraodon.workload.linear import LinearQuery, Measurement
from tetraodon.workload.squared import Measured, signed, squared

STILL = Peak(0, 0, 0)
"""An axis along which nothing changes and nothing that is crossed is added up."""


@dataclass(frozen=True)
class Loss:
    """A maximum over edges, before it is sealed."""

    value: Fraction | float
    witness: tuple[Any, Any] | None
    exact: bool
    how: str = "over edges"

    @property
    def method(self) -> str:
        """How the maximum was found, in words."""
        return f"maximum {self.how}" if self.exact else f"upper bound {self.how}"


@certifying
def certify_measurements(
    graph: SecretGraph,
    measurements: Sequence[Measurement],
    *,
    rows_per_person: int = 1,
    delta: Fraction = Fraction(0),
) -> Computed:
    """The exact privacy loss of releasing all the measurements together, with the pair that attains it.

    Pre   the noise of different answers is independent.
    Post  equals the maximum over neighbouring datasets and outputs of the log-likelihood ratio, unless
          `exact` is False, in which case it is not below it. With Gaussian noise: the maximum of rho over neighbouring
          datasets, and the epsilon that follows at `delta`.
    Why   one person's step changes at most `rows_per_person` rows, each along an edge, and all of them may take
          the worst edge at once.
    """
    currency = currency_of(measurements)
    noisy = [(m.query, m.noise.rate(m.scale)) for m in measurements if m.scale > 0]
    _check_rows(graph, rows_per_person)
    for measurement in measurements:
        if measurement.scale == 0:
            moved = _largest(graph, [(measurement.query, Fraction(1))])
            if moved.value:
                told = "neighbours" if graph.known else "edge"
                return Computed(math.inf, moved.witness, f"{told} that an exact answer tells apart", moved.exact)
    if currency is Currency.ZCDP:
        loss = _largest_square(graph, noisy)
        rho = Fraction(loss.value) / 2 * rows_per_person**2
        return Computed(rho, loss.witness, loss.method, loss.exact, delta)
    loss = _largest(graph, noisy)
    return Computed(loss.value * rows_per_person, loss.witness, loss.method, loss.exact)


def currency_of(measurements: Sequence[Measurement]) -> Currency:
    """In what the loss of all of them together is counted. Refuses a law whose loss nobody has worked out.

    Why   e-privacy is e^2/2-zCDP, so that whatever is pure may be counted in zCDP too; not the other way round.
    """
    found = {measurement.noise.currency for measurement in measurements if measurement.scale > 0}
    return Currency.ZCDP if Currency.ZCDP in found else Currency.PURE


def sensitivity_of(graph: SecretGraph, query: LinearQuery, *, rows_per_person: int = 1) -> Sensitivity:
    """S(f, P) of [HMD14] Def. 5.1, the certificate at unit scales."""
    _check_rows(graph, rows_per_person)
    loss = _largest(graph, [(query, query.contribution.unit)])
    return Sensitivity(Fraction(loss.value) * rows_per_person, loss.witness, loss.exact, loss.method)


def _check_rows(graph: SecretGraph, rows_per_person: int) -> None:
    if (graph.known or graph.groups) and rows_per_person > 1:
        what = "known counts are" if graph.known else "people with secrets of their own are"
        raise Refused(
            f"{what} priced for people with one row each only",
            fix="use a table with one row for each person",
            where="known" if graph.known else "groups",
        )


def _largest_square(graph: SecretGraph, queries: Sequence[tuple[LinearQuery, Fraction]]) -> Loss:
    """max over edges (x, y) of the sum of the squares of weight * (what an answer moves by, in units).

    Why   with known counts neighbours are sums of many moves, and only their L1 distance is worked out exactly. The
          sum of squares of a query's answers is at most the square of their sum; half of it, if as much goes up as
          goes down.
    """
    if graph.known and queries and graph.has_edges and secrets_change_known(graph):
        pushes = [_largest(graph, [(query, Fraction(1))]) for query, _ in queries]
        halves = [2 if isinstance(query.contribution, One) and not graph.absent else 1 for query, _ in queries]
        squares = [(w * push.value) ** 2 / part for (_, w), push, part in zip(queries, pushes, halves, strict=True)]
        longest = max(pushes, key=lambda push: push.value)
        return Loss(sum(squares, Fraction(0)), None, not any(squares), f"{longest.how}, from L1 distances")
    unknown = replace(graph, known=())
    return _largest(unknown, [(query, weight**2) for query, weight in queries], squares=True)


def _largest(graph: SecretGraph, queries: Sequence[tuple[LinearQuery, Fraction]], *, squares: bool = False) -> Loss:
    """max over edges (x, y) of the sum of weight * (what the query moves by, in units, or the square of it)."""
    if not queries or not graph.has_edges:
        return Loss(Fraction(0), None, True)
    if graph.known:
        if is_wide(graph, queries):
            return _loss(wide_push(graph, queries, _unknowing))
        return _loss(largest_push(graph, graph.known, queries))
    if graph.groups is not None:
        return _worst_group(graph, graph.groups.by, queries, squares)
    return _over_edges(graph, queries, {}, squares)


def _unknowing(graph: SecretGraph, queries: Sequence[tuple[LinearQuery, Fraction]]) -> Push:
    loss = _largest(graph, queries)
    return Push(Fraction(loss.value), loss.witness, loss.exact, loss.how)


def _loss(push: Push) -> Loss:
    return Loss(push.value, push.witness, push.exact, push.method)


def _worst_group(graph: SecretGraph, by: str, queries: Sequence[tuple[LinearQuery, Fraction]], squares: bool) -> Loss:
    """The worst of the groups, each under its own graph and with what the queries say about it alone.

    Why  no edge joins two groups. A group that a query does not look at loses nothing to it, so that queries about
         different groups need not be added up ([HMD14] Thm 4.2).
    """
    worst = Loss(Fraction(0), None, True)
    for own, codes in graph.by_graph:
        tried = set[tuple[tuple[LinearQuery, Fraction], ...]]()
        for code in codes:
            here = at_value(queries, graph.domain, by, code, squares=squares)
            if here and here not in tried and own.has_edges:
                tried.add(here)
                found = _over_edges(own, here, {by: code}, squares)
                if found.value > worst.value or (found.value == worst.value and found.exact > worst.exact):
                    worst = found
    return worst


def _over_edges(
    graph: SecretGraph, queries: Sequence[tuple[LinearQuery, Fraction]], given: Mapping[str, int], squares: bool
) -> Loss:
    """The worst edge, among records that have the given codes. Pre: no query looks at the attributes of these."""
    if needs_stand_in(graph, queries):
        found = partial(_over_edges, given=given, squares=squares)
        return Loss(*largest_with_products(graph, queries, found, given, squares=squares))
    common = math.lcm(*(weight.denominator for _, weight in queries))
    heaviest = at_the_heaviest_weight(graph, [query for query, _ in queries])
    fixed = {**heaviest, **given}
    plain = [with_fixed_weight(query, int(weight * common), heaviest, squares) for query, weight in queries]
    axes = _axes(graph, plain, squares)
    ones = [Term(n, q.contribution, w) for n, (q, w) in enumerate(plain) if isinstance(q.contribution, One)]
    numbers = [frozenset(term.number for term in axis.terms) for axis in axes]
    best = Loss(Fraction(0), None, True)
    for combination in combinations(axes, graph.at_most):
        crossed = frozenset[int]().union(*(pattern.crossed for pattern in combination if pattern.cost))
        peaks = [
            STILL if not pattern.cost and crossed.isdisjoint(mine) else axis.peak(pattern, crossed)
            for axis, pattern, mine in zip(axes, combination, numbers, strict=True)
        ]
        total = sum(peak.value for peak in peaks) + 2 * sum(one.weight for one in ones if one.number in crossed)
        if total > best.value or (best.witness is None and total == best.value):
            exact = all(peak.exact for peak in peaks)
            best = Loss(Fraction(total), _pair(graph, axes, peaks, fixed), exact)
        elif total == best.value and not best.exact and all(peak.exact for peak in peaks):
            best = Loss(best.value, _pair(graph, axes, peaks, fixed), True)
    if graph.absent:
        peaks = [axis.peak_alone() for axis in axes]
        total = sum(peak.value for peak in peaks) + sum(one.weight for one in ones)
        if total > best.value or best.witness is None:
            exact = all(peak.exact for peak in peaks)
            best = Loss(Fraction(total), (_pair(graph, axes, peaks, fixed)[0], ABSENT), exact)
    if best.value == 0:
        return Loss(Fraction(0), None, True)
    return Loss(Fraction(best.value) / common, best.witness, best.exact)


def _axes(graph: SecretGraph, queries: Sequence[tuple[LinearQuery, int]], squares: bool) -> list[Axis]:
    """The touched factors, grouped so that every contribution lives in one group."""
    asked = {name for query, _ in queries for name in query.names}
    groups = [[place] for place, factor in enumerate(graph.factors) if not asked.isdisjoint(factor.names)]
    for looked_at in dict.fromkeys(query.contribution.names for query, _ in queries):
        if len(looked_at) < 2:
            continue
        joined = [g for g in groups if any(not set(looked_at).isdisjoint(graph.factors[place].names) for place in g)]
        if len(joined) > 1:
            together = sorted(place for group in joined for place in group)
            groups = [*(group for group in groups if group not in joined), together]
    of_name = {name: n for n, group in enumerate(groups) for place in group for name in graph.factors[place].names}
    terms: list[list[Term]] = [[] for _ in groups]
    crossings: list[list[Crossing]] = [[] for _ in groups]
    for n, (query, weight) in enumerate(queries):
        home = next((of_name[name] for name in query.contribution.names if name in of_name), None)
        if home is not None:
            terms[home].append(Term(n, _seen(query, squares), weight))
        for split in query.by:
            if split.name in of_name:
                crossings[of_name[split.name]].append(Crossing(n, split, squares and signed(query.contribution)))
    axes: list[Axis] = []
    for n, group in enumerate(groups):
        factors = tuple(graph.factors[place] for place in group)
        names = tuple(sorted((name for f in factors for name in f.names), key=graph.domain.position))
        axes.append(_axis(graph, factors, names, tuple(terms[n]), tuple(crossings[n])))
    return axes


def _seen(query: LinearQuery, squares: bool) -> Measured:
    return squared(query.contribution) if squares else query.contribution


def _axis(
    graph: SecretGraph,
    factors: tuple[Factor, ...],
    names: tuple[str, ...],
    terms: tuple[Term, ...],
    crossings: tuple[Crossing, ...],
) -> Axis:
    """The fastest way to look at a group of factors that is right for it."""
    first = factors[0].graph
    if len(factors) == 1 and not isinstance(first, JointMetric):
        return LineAxis(names[0], first, terms, crossings)
    part = SecretGraph(graph.domain.project(names), factors, min(graph.at_most, len(factors)))
    if isinstance(first, JointMetric) and len(factors) == 1:
        return by_metric(part, first, terms, crossings) or GridAxis(part, terms, crossings)
    if corner_axis.fits(factors) and by_value(crossings) and all(linear_in_each_code(t) for t in terms):
        return CornerAxis(part, terms, crossings)
    if part.domain.size <= MATRIX_LIMIT:
        return GridAxis(part, terms, crossings)
    complete = graph.at_most >= len(graph.factors) and all(isinstance(f.graph, Everything) for f in factors)
    return ClassAxis(part, terms, crossings, exact=complete)


def _pair(graph: SecretGraph, axes: Sequence[Axis], peaks: Sequence[Peak], fixed: Mapping[str, int]) -> tuple[Any, Any]:
    """The two records: the first value wherever nothing was asked."""
    x = dict.fromkeys(graph.domain.names, 0)
    y = dict(x)
    for axis, peak in zip(axes, peaks, strict=True):
        local = graph.domain.project(axis.names)
        x.update(zip(axis.names, local.codes_of(peak.x), strict=True))
        y.update(zip(axis.names, local.codes_of(peak.y), strict=True))
    x.update(fixed)
    y.update(fixed)
    return graph.domain.value_of(tuple(x.values())), graph.domain.value_of(tuple(y.values()))
