"""The worst edge of a secret graph: how far one step moves weighted answers at most, and which step does.

Each query looks at one part of the domain once it is known which splits a step crosses. So the kernel asks every part,
its axes, for the kinds of steps there are, and for the most that a step of each kind moves (`axis`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, TypeAlias

from tetraodon.certificate import corner_axis
from tetraodon.certificate.axis import UNCHANGED, Axis, Crossing, Pattern, Peak, Term, by_value, convex_from_each_end
from tetraodon.certificate.cell_axis import ClassAxis, GridAxis
from tetraodon.certificate.combinations import Step, Worst, worst_steps
from tetraodon.certificate.corner_axis import CornerAxis
from tetraodon.certificate.line_axis import LineAxis
from tetraodon.certificate.metric_axis import by_metric
from tetraodon.policy.attribute_graph import Everything, Public
from tetraodon.policy.joint_graph import JointGraph
from tetraodon.policy.joint_metric import JointMetric
from tetraodon.policy.secret_graph import ABSENT, MATRIX_LIMIT, Factor, SecretGraph, complete_graph
from tetraodon.workload.contribution import One
from tetraodon.workload.linear import LinearQuery
from tetraodon.workload.number import Number
from tetraodon.workload.squared import Measured, signed, squared

Weighted: TypeAlias = tuple[LinearQuery, Fraction]
"""A query, and what moving it by one of its units costs."""
STILL = Peak(0, 0, 0)
"""An axis along which nothing changes and nothing that is crossed is added up."""


@dataclass(frozen=True)
class Loss:
    """A maximum over steps, or a proven bound, before it is sealed; and what attains it, None for a bound."""

    value: Fraction
    witness: tuple[Any, Any] | None
    exact: bool
    how: str = "over edges"

    @property
    def method(self) -> str:
        """How the maximum was found, in words."""
        return f"maximum {self.how}" if self.exact else f"upper bound {self.how}"

    def bound_unless(self, attained: bool) -> Loss:
        """The same as a bound, unless what was maximised is attained."""
        return self if attained or not self.value else replace(self, exact=False)


def largest_over_edges(
    graph: SecretGraph, queries: Sequence[Weighted], given: Mapping[str, int], *, squares: bool = False
) -> Loss:
    """max over edges (x, y) of the sum of weight * (what the query moves by, in units, or the square of it).

    Pre   nothing is known, and secrets are the same for everybody; all records have the `given` codes, and no query
          looks at the attributes of these.
    """
    common = math.lcm(*(weight.denominator for _, weight in queries))
    heaviest = at_the_heaviest_weight(graph, [query for query, _ in queries])
    fixed = {**heaviest, **given}
    plain = [with_fixed_weight(query, int(weight * common), heaviest, squares) for query, weight in queries]
    axes = _axes(graph, plain, squares)
    ones = {n: w for n, (q, w) in enumerate(plain) if isinstance(q.contribution, One)}
    moves = _Moves(axes, ones)
    steps = worst_steps(axes, graph.at_most, moves.of, partial(_times_apart, axes, graph.at_most, squares))
    worst = max(steps, key=lambda one: (one.value, one.exact), default=Worst(0, True, None))
    pair = None if worst.steps is None or not worst.value else _pair(graph, axes, moves.peaks(worst.steps), fixed)
    best = Loss(Fraction(worst.value), pair, worst.exact or not worst.value)
    if worst.steps is None and worst.value and not graph.complete:  # a bound, as is what any change at all would move
        wider = largest_over_edges(replace(complete_graph(graph), absent=False), queries, given, squares=squares)
        best = replace(best, value=min(best.value, wider.value * common))
    if graph.absent:
        peaks = [axis.peak_alone() for axis in axes]
        total = sum(peak.value for peak in peaks) + sum(ones.values())
        exact = all(peak.exact for peak in peaks)
        if (total, exact) > (best.value, best.exact):
            best = Loss(Fraction(total), (_pair(graph, axes, peaks, fixed)[0], ABSENT), exact)
    return Loss(Fraction(best.value) / common, best.witness, best.exact)


@dataclass(frozen=True)
class _Moves:
    """What steps along some axes move. `ones` are the weights of queries in which every record counts one."""

    axes: Sequence[Axis]
    ones: Mapping[int, int]

    @cached_property
    def _home(self) -> dict[int, int]:
        """The axis on which what a query adds up is measured."""
        return {term.number: place for place, axis in enumerate(self.axes) for term in axis.terms}

    @cached_property
    def _numbers(self) -> list[frozenset[int]]:
        return [frozenset(term.number for term in axis.terms) for axis in self.axes]

    @cached_property
    def _seen(self) -> dict[tuple[int, Pattern, frozenset[int]], Peak]:
        return {}

    def _along(self, step: Step) -> tuple[dict[int, Peak], int]:
        """The peaks of the axes that a step changes, or on which a query that it crosses is measured."""
        crossed = frozenset[int]().union(*(pattern.crossed for _, pattern in step))
        patterns = {home: UNCHANGED for number in crossed if (home := self._home.get(number)) is not None}
        patterns.update(step)
        peaks = {place: self._peak(place, pattern, crossed) for place, pattern in patterns.items()}
        return peaks, 2 * sum(self.ones.get(number, 0) for number in crossed)

    def _peak(self, place: int, pattern: Pattern, crossed: frozenset[int]) -> Peak:
        key = place, pattern, self._numbers[place] & crossed
        if key not in self._seen:
            self._seen[key] = self.axes[place].peak(pattern, crossed)
        return self._seen[key]

    def of(self, step: Step) -> Worst:
        peaks, rest = self._along(step)
        total = sum(peak.value for peak in peaks.values()) + rest
        return Worst(total, all(peak.exact for peak in peaks.values()), (step,))

    def peaks(self, steps: Sequence[Step]) -> list[Peak]:
        """Those of all axes."""
        found = [STILL] * len(self.axes)
        for step in steps:
            for place, peak in self._along(step)[0].items():
                found[place] = peak
        return found


def _times_apart(axes: Sequence[Axis], at_most: int, squares: bool, places: Sequence[int]) -> int:
    """How many times what a step moves can exceed the sum of what it moves axis by axis.

    Why   once for distances, by the triangle inequality. Tables are crossed or not, so that their squares add up alike.
          Other squares of a sum of c lengths are at most c times the sum of their squares.
    """
    tables = all(not axes[place].terms for place in places)
    return 1 if tables or not squares else min(at_most, len(places))


def at_the_heaviest_weight(graph: SecretGraph, queries: Sequence[LinearQuery]) -> dict[str, int]:
    """Codes at which public weights are largest: a weighted sum moves most there ([HMD14] section 5: the
    factor is max |w|). Only weights that no step changes and that no query looks at otherwise.
    """
    heaviest = {}
    for query in queries:
        number = query.contribution
        if isinstance(number, Number) and number.times is not None:
            weight = number.times
            looked_at = any(weight.name in q.contribution.names and not _weighted_alike(q, number) for q in queries)
            if isinstance(graph.factor_of(weight.name).graph, Public) and not looked_at:
                ends = (0, weight.size - 1)
                heaviest[weight.name] = max(ends, key=lambda code: number.at(weight.name, code)[1])
    return heaviest


def with_fixed_weight(
    query: LinearQuery, weight: int, fixed: Mapping[str, int], squares: bool
) -> tuple[LinearQuery, int]:
    """A query whose public weight is fixed, without it."""
    number = query.contribution
    if not isinstance(number, Number) or number.times is None or number.times.name not in fixed:
        return query, weight
    rest, factor = number.at(number.times.name, fixed[number.times.name])
    return LinearQuery(rest, query.by), weight * factor ** (2 if squares else 1)


def _weighted_alike(query: LinearQuery, by: Number) -> bool:
    """Whether a query is weighted by the same attribute, counted from the same place."""
    number = query.contribution
    return isinstance(number, Number) and (number.times, number.centred) == (by.times, by.centred)


def _axes(graph: SecretGraph, queries: Sequence[tuple[LinearQuery, int]], squares: bool) -> list[Axis]:
    """The touched factors, grouped so that every contribution lives in one group."""
    asked = {name for query, _ in queries for name in query.names}
    groups = [[place] for place in sorted({graph.place_of[name] for name in asked if name in graph.place_of})]
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
    if len(factors) == 1 and not isinstance(first, JointGraph):
        return LineAxis(names[0], first, terms, crossings)
    part = _part(graph, factors, names)
    if isinstance(first, JointGraph) and len(factors) == 1:
        quick = by_metric(part, first, terms, crossings) if isinstance(first, JointMetric) else None
        return quick or GridAxis(part, terms, crossings)
    at_corners = by_value(crossings) and all(convex_from_each_end(term) for term in terms)
    if corner_axis.fits(factors) and at_corners:
        return CornerAxis(part, terms, crossings)
    if part.domain.size <= MATRIX_LIMIT:
        return GridAxis(part, terms, crossings)
    if at_corners and not any(isinstance(factor.graph, JointGraph) for factor in factors):
        return CornerAxis(corner_axis.widened(part), terms, crossings, exact=False)
    complete = graph.at_most >= len(graph.factors) and all(isinstance(f.graph, Everything) for f in factors)
    return ClassAxis(part, terms, crossings, exact=complete)


def _part(graph: SecretGraph, factors: tuple[Factor, ...], names: tuple[str, ...]) -> SecretGraph:
    """The graph on some factors; one for all certificates, since it remembers its steps."""
    key = "part", names
    found: SecretGraph | None = graph.remembered.get(key)
    if found is None:
        found = SecretGraph(graph.domain.project(names), factors, min(graph.at_most, len(factors)))
        graph.remembered[key] = found
    return found


def _pair(graph: SecretGraph, axes: Sequence[Axis], peaks: Sequence[Peak], fixed: Mapping[str, int]) -> tuple[Any, Any]:
    """The two records: the first value wherever nothing was asked."""
    x, y = list(graph.first_record), list(graph.first_record)
    domain = graph.domain
    for axis, peak in zip(axes, peaks, strict=True):
        for record, cell in ((x, peak.x), (y, peak.y)):
            if cell:
                for name, value in zip(axis.names, domain.project(axis.names).value(cell), strict=True):
                    record[domain.position(name)] = value
    for record in (x, y):
        for name, code in fixed.items():
            record[domain.position(name)] = domain[name].value(code)
    return tuple(x), tuple(y)
