"""How far one step moves weighted answers at most, over combinations of axes.

Each query looks at one part of the domain once it is known which splits a step crosses. So the kernel asks every part,
its axes, for the kinds of steps there are, and for the most that a step of each kind moves (`axis`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeAlias

from tetraodon.certificate import corner_axis
from tetraodon.certificate.axis import (
    UNCHANGED,
    Axis,
    ClassAxis,
    Crossing,
    GridAxis,
    Pattern,
    Peak,
    Term,
    by_value,
    has,
    power_of,
)
from tetraodon.certificate.corner_axis import CornerAxis
from tetraodon.certificate.line_axis import LineAxis
from tetraodon.certificate.metric_axis import by_metric
from tetraodon.policy.attribute_graph import Everything, Public
from tetraodon.policy.joint_graph import JointGraph, JointMetric
from tetraodon.policy.secret_graph import ABSENT, MATRIX_LIMIT, Factor, SecretGraph, complete_graph
from tetraodon.query.contribution import One, Traits
from tetraodon.query.linear import LinearQuery
from tetraodon.query.number import Number

# -- combinations -----------------------------------------------------------------------------------
# Which patterns of change on several axes make one step together, and which of those steps moves the most.
#
# Axes that share no query move apart from each other: what a step moves is then the sum of what it moves on each of
# them, and the worst step is found axis by axis, however many there are. Only axes that a query ties together have to
# be gone through together.

COMBINATION_LIMIT = 200_000
"""Steps of axes that are tied together that may be looked at one by one; beyond, each axis is bounded by itself."""
Step: TypeAlias = tuple[tuple[int, Pattern], ...]
"""The axes that change, by their places, with their patterns."""


@dataclass(frozen=True, slots=True)
class Worst:
    """What the worst step of some cost moves, and the step, in pieces; `steps` is None where it is but a bound."""

    value: int | Fraction
    exact: bool
    steps: tuple[Step, ...] | None

    def beside(self, other: Worst) -> Worst:
        """Both at once, on axes that have no query in common."""
        steps = None if self.steps is None or other.steps is None else self.steps + other.steps
        return Worst(self.value + other.value, self.exact and other.exact, steps)


def worst_steps(
    axes: Sequence[Axis], at_most: int, moved: Callable[[Step], Worst], apart: Callable[[Sequence[int]], int]
) -> Iterator[Worst]:
    """The worst steps that change one factor, two, and so on up to `at_most`.

    `moved` says what a step moves. Where axes tied together have too many steps, the bound is what they move one after
    the other, times `apart` of these axes: one for distances, by the triangle inequality, and more for their squares.
    """
    most = [max(pattern.cost for pattern in axis.patterns()) for axis in axes]
    choices = [_worth_trying(axis, at_most, sum(most) - own) for axis, own in zip(axes, most, strict=True)]
    split = {crossing.number for axis in axes for crossing in axis.crossings}
    parts: list[dict[int, Worst]] = []
    for places in _tied(axes):
        ways = list(_bundles(places, axes, choices, split, moved))
        if count_steps(ways, at_most) <= COMBINATION_LIMIT:
            parts.append(_by_cost(ways, at_most, moved))
            continue
        times = apart(places)
        for place in places:
            alone = _by_cost([_ways_of(place, choices[place])], at_most, moved)
            bound = {cost: Worst(one.value * times, False, None) for cost, one in alone.items()}
            parts.append({0: Worst(0, True, ())} | bound)
    found = _largest_first([part for part in parts if part.keys() == {0, 1}], at_most)
    for part in parts:
        if part.keys() != {0, 1}:
            found = _together(found, part, at_most)
    return (worst for cost, worst in sorted(found.items()) if cost)


def _largest_first(parts: Sequence[dict[int, Worst]], at_most: int) -> dict[int, Worst]:
    """The worst step of each cost along parts that change one factor or none: those that move the most."""
    found = {0: Worst(0, True, ())}
    ranked = sorted((part[1] for part in reversed(parts)), key=lambda one: (one.value, one.exact), reverse=True)
    for cost, one in enumerate(ranked[:at_most], start=1):
        found[cost] = found[cost - 1].beside(one)
    return found


def _tied(axes: Sequence[Axis]) -> Iterator[list[int]]:
    """Places of axes that queries tie together, directly or through others."""
    first: dict[int, int] = {}
    root = list(range(len(axes)))

    def top(place: int) -> int:
        while root[place] != place:
            root[place] = root[root[place]]
            place = root[place]
        return place

    for place, axis in enumerate(axes):
        for number in {term.number for term in axis.terms} | {crossing.number for crossing in axis.crossings}:
            root[top(place)] = top(first.setdefault(number, place))
    tied: dict[int, list[int]] = {}
    for place in range(len(axes)):
        tied.setdefault(top(place), []).append(place)
    yield from tied.values()


def _ways_of(place: int, patterns: Sequence[Pattern]) -> list[Step]:
    """The ways in which one axis may change, or not."""
    return [((place, pattern),) if pattern.cost else () for pattern in patterns]


def _bundles(
    places: Sequence[int],
    axes: Sequence[Axis],
    choices: Sequence[Sequence[Pattern]],
    split: set[int],
    moved: Callable[[Step], Worst],
) -> Iterator[list[Step]]:
    """The ways in which axes that are alike may change together; those of every other axis by itself.

    Why   axes are alike which can change in one way, all in the same, and along which no query with splits is
          measured: what they move then depends on nothing else. Of so many that change, those that move the most are
          enough, and there are as many ways as axes, not as sets of them.
    """
    alike: dict[int | Pattern, list[int]] = {}
    for place in places:
        either = len(choices[place]) == 2 and choices[place][0] == UNCHANGED
        level = either and not any(term.number in split for term in axes[place].terms)
        alike.setdefault(choices[place][1] if level else place, []).append(place)
    for key, bundle in alike.items():
        if isinstance(key, int) or len(bundle) == 1:
            yield _ways_of(bundle[0], choices[bundle[0]])
            continue
        worst = {place: moved(((place, key),)) for place in bundle}
        first = sorted(bundle, key=lambda place: (-worst[place].value, not worst[place].exact, -place))
        yield [tuple((place, key) for place in first[:count]) for count in range(len(first) + 1)]


def cost_of(step: Step) -> int:
    """How many factors a step changes."""
    return sum(pattern.cost for _, pattern in step)


def count_steps(parts: Sequence[Sequence[Step]], at_most: int) -> int:
    """How many steps there are, without going through them."""
    ways = {0: 1}
    for part in parts:
        after: dict[int, int] = {}
        for way in part:
            for cost, count in ways.items():
                if (total := cost + cost_of(way)) <= at_most:
                    after[total] = after.get(total, 0) + count
        ways = after
    return sum(ways.values())


def steps(parts: Sequence[Sequence[Step]], at_most: int) -> Iterator[Step]:
    """Every way to take one of the ways of each part at a cost of `at_most`.

    Why   parts that may stay as they are need not be gone through while none of them changes.
    """
    forced = [part for part in parts if () not in part]
    free = [[way for way in part if way] for part in parts if () in part]
    waiting: list[tuple[int, int, Step]] = [(0, at_most, ())]
    while waiting:
        taken, left, begun = waiting.pop()
        if taken < len(forced):
            waiting += [(taken + 1, left - cost_of(way), begun + way) for way in forced[taken] if cost_of(way) <= left]
            continue
        yield begun
        for number in range(taken - len(forced), len(free) if left else 0):
            after = len(forced) + number + 1
            waiting += [(after, left - cost_of(way), begun + way) for way in free[number] if cost_of(way) <= left]


def _by_cost(parts: Sequence[Sequence[Step]], at_most: int, moved: Callable[[Step], Worst]) -> dict[int, Worst]:
    """The worst step of each cost."""
    found: dict[int, Worst] = {}
    for step in steps(parts, at_most):
        _keep(found, cost_of(step), moved(step) if step else Worst(0, True, ()))
    return found


def _together(first: dict[int, Worst], second: dict[int, Worst], at_most: int) -> dict[int, Worst]:
    found: dict[int, Worst] = {}
    for cost, one in first.items():
        for more, other in second.items():
            if cost + more <= at_most:
                _keep(found, cost + more, one.beside(other))
    return found


def _keep(found: dict[int, Worst], cost: int, one: Worst) -> None:
    """The worse of two; of two that are alike, one that is known to be attained."""
    before = found.get(cost)
    if before is None or (one.value, one.exact) > (before.value, before.exact):
        found[cost] = one


def _worth_trying(axis: Axis, at_most: int, sum_of_other_costs: int) -> list[Pattern]:
    """On an axis where nothing but splits is measured, a pattern that costs no more and crosses no less than another
    makes the other superfluous."""
    patterns = list(axis.patterns())
    if axis.terms:
        return patterns
    needed = {crossing.number for crossing in axis.crossings if crossing.signed}
    no_rivals = max(p.cost for p in patterns) + sum_of_other_costs <= at_most

    def beaten(p: Pattern) -> bool:
        return any(
            (q.crossed > p.crossed and not (q.crossed - p.crossed) & needed and (no_rivals or q.cost <= p.cost))
            or (q.crossed == p.crossed and q.cost < p.cost)
            for q in patterns
        )

    return [p for p in patterns if not beaten(p)]


# -- edge loss --------------------------------------------------------------------------------------

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

    def apart(places: Sequence[int]) -> int:
        """How many times what a step moves can exceed the sum of what it moves axis by axis.

        Why   once for distances, by the triangle inequality. Tables are crossed or not, so that their squares add up
              alike. Other squares of a sum of c lengths are at most c times the sum of their squares.
        """
        tables = all(not axes[place].terms for place in places)
        return 1 if tables or not squares else min(graph.at_most, len(places))

    steps = worst_steps(axes, graph.at_most, moves.of, apart)
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


def at_the_heaviest_weight(graph: SecretGraph, queries: Sequence[LinearQuery]) -> dict[str, int]:
    """Codes at which public weights are largest: a weighted sum moves most there ([HMD14] section 5: the
    factor is max |w|). Only weights that no step changes and that no query looks at otherwise.
    """
    heaviest = {}
    for query in queries:
        number = query.contribution
        if isinstance(number, Number) and number.times is not None:
            weight = number.times
            kinds = [q.contribution for q in queries if weight.name in q.contribution.names]
            alike = (number.times, number.centred)
            looked_at = any(not isinstance(kind, Number) or (kind.times, kind.centred) != alike for kind in kinds)
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
            terms[home].append(Term(n, query.contribution, weight, power_of(query.contribution, squares)))
        for split in query.by:
            if split.name in of_name:
                crossings[of_name[split.name]].append(Crossing(n, split, squares and query.contribution.signed))
    axes: list[Axis] = []
    for n, group in enumerate(groups):
        factors = tuple(graph.factors[place] for place in group)
        names = tuple(sorted((name for f in factors for name in f.names), key=graph.domain.position))
        axes.append(_axis(graph, factors, names, tuple(terms[n]), tuple(crossings[n])))
    return axes


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
    at_corners = by_value(crossings) and has(Traits.CONVEX, *terms)
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
