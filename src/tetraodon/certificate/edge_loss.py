"""How far one step moves weighted answers at most, over combinations of axes.

Each query looks at one part of the domain once it is known which splits a step crosses. So the kernel asks every part,
its axes, for the kinds of steps there are, and for the most that a step of each kind moves (`axis`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, TypeAlias

import numpy as np

from tetraodon.certificate import corner_axis
from tetraodon.certificate.axis import (
    UNCHANGED,
    Axis,
    ClassAxis,
    Condition,
    Crossing,
    GridAxis,
    MergedAxis,
    Pattern,
    Peak,
    Term,
    by_value,
    convex_from_each_end,
    out_after,
    out_before,
    query_of,
    terms_by_side,
)
from tetraodon.certificate.corner_axis import CornerAxis
from tetraodon.certificate.line_axis import LineAxis
from tetraodon.certificate.metric_axis import by_metric
from tetraodon.errors import Refused
from tetraodon.policy.attribute_graph import Everything, Public
from tetraodon.policy.joint_graph import JointGraph, JointMetric
from tetraodon.policy.secret_graph import ABSENT, MATRIX_LIMIT, Factor, SecretGraph, complete_graph
from tetraodon.query.contribution import Among, One
from tetraodon.query.linear import LinearQuery
from tetraodon.query.number import Number
from tetraodon.query.squared import signed, squared

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
    split = {number for axis in axes for number in _numbers_of(axis, terms=False)}
    parts: list[dict[int, Worst]] = []
    for places in _tied(axes):
        ways = list(_bundles(places, axes, choices, split, moved))
        if count_steps(ways, at_most) <= COMBINATION_LIMIT:
            parts.append(_by_cost(ways, at_most, moved))
            continue
        times = apart(places)
        for place in places:
            alone = _by_cost([_ways_of(place, axes[place], choices[place])], at_most, moved)
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


def _numbers_of(axis: Axis, *, terms: bool = True) -> set[int]:
    """The queries that look at an axis, or at more of it than what they add up."""
    looking: list[Crossing | Condition | Term] = [*axis.crossings, *axis.conditions, *(axis.terms if terms else ())]
    return {one.number for one in looking}


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
        for number in _numbers_of(axis):
            root[top(place)] = top(first.setdefault(number, place))
    tied: dict[int, list[int]] = {}
    for place in range(len(axes)):
        tied.setdefault(top(place), []).append(place)
    yield from tied.values()


def _ways_of(place: int, axis: Axis, patterns: Sequence[Pattern]) -> list[Step]:
    """The ways in which one axis may change, or not; without conditions it matters only that it does not."""
    return [((place, pattern),) if pattern.cost or axis.conditions else () for pattern in patterns]


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
        level = either and not axes[place].conditions and not any(term.number in split for term in axes[place].terms)
        alike.setdefault(choices[place][1] if level else place, []).append(place)
    for key, bundle in alike.items():
        if isinstance(key, int) or len(bundle) == 1:
            yield _ways_of(bundle[0], axes[bundle[0]], choices[bundle[0]])
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
            if cost + more <= at_most and _worse(
                found.get(cost + more), one.value + other.value, one.exact, other.exact
            ):
                found[cost + more] = one.beside(other)
    return found


def _keep(found: dict[int, Worst], cost: int, one: Worst) -> None:
    """The worse of two; of two that are alike, one that is known to be attained."""
    if _worse(found.get(cost), one.value, one.exact):
        found[cost] = one


def _worse(before: Worst | None, value: int | Fraction, *exact: bool) -> bool:
    return before is None or (value, all(exact)) > (before.value, before.exact)


def _worth_trying(axis: Axis, at_most: int, sum_of_other_costs: int) -> list[Pattern]:
    """On an axis along which nothing is added up, a pattern that costs no more and moves no query less than another
    makes the other superfluous."""
    patterns = list(axis.patterns())
    if axis.terms:
        return patterns
    needed = {crossing.number for crossing in axis.crossings if crossing.signed}
    no_rivals = max(p.cost for p in patterns) + sum_of_other_costs <= at_most

    def beats(q: Pattern, p: Pattern) -> bool:
        if q.crossed == p.crossed:
            return q.cost < p.cost
        return (no_rivals or q.cost <= p.cost) and _moves_more(q, p, needed)

    return [p for p in patterns if not any(beats(q, p) for q in patterns)]


def _moves_more(one: Pattern, other: Pattern, needed: set[int]) -> bool:
    """Whether a pattern moves no query less than another: one that it crosses while its condition holds on both sides,
    and that is not `needed` uncrossed, it moves by the most there is; one for which it never holds, not at all.
    """
    for number in {query_of(mark) for mark in one.crossed ^ other.crossed}:
        outs = {out_before(number), out_after(number)}
        never = outs <= other.crossed
        most = number in one.crossed and number not in needed and not outs & one.crossed
        if not (never or most):
            return False
    return True


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


def worse(one: Loss, other: Loss) -> Loss:
    """The larger loss; of two that are alike, one that is known to be attained."""
    if other.value != one.value:
        return max(one, other, key=lambda loss: loss.value)
    return other if other.exact > one.exact or one.witness is None else one


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
    if not all(axis.able for axis in axes):
        return _added_up(graph, queries, given, squares)
    homes = {term.number for axis in axes for term in axis.terms}
    moves = _Moves(axes, {n: weight for n, (_, weight) in enumerate(plain) if n not in homes})
    steps = worst_steps(axes, graph.at_most, moves.of, partial(_times_apart, axes, graph.at_most, squares))
    worst = max(steps, key=lambda one: (one.value, one.exact), default=Worst(0, True, None))
    pair = None if worst.steps is None or not worst.value else _pair(graph, axes, moves.peaks(worst.steps), fixed)
    best = Loss(Fraction(worst.value), pair, worst.exact or not worst.value)
    if worst.steps is None and worst.value and not graph.complete:  # a bound, as is what any change at all would move
        wider = largest_over_edges(replace(complete_graph(graph), absent=False), queries, given, squares=squares)
        best = replace(best, value=min(best.value, wider.value * common))
    if graph.absent:
        alone, peaks = moves.presence()
        if (alone.value, alone.exact) > (best.value, best.exact):
            best = Loss(Fraction(alone.value), (_pair(graph, axes, peaks, fixed)[0], ABSENT), alone.exact)
    return Loss(Fraction(best.value) / common, best.witness, best.exact)


def _added_up(graph: SecretGraph, queries: Sequence[Weighted], given: Mapping[str, int], squares: bool) -> Loss:
    """A bound where conditions on an attribute cannot be looked at beside what else is asked about it: the most that
    some queries move, and the most that others move, whatever step it is.
    """
    parts: list[list[Weighted]] = [[], []]
    for one in queries:
        parts[bool(_elsewhere(one[0]))].append(one)
    if not all(parts):
        parts = [[one] for one in queries]
    if len(parts) == 1:
        raise Refused(
            "a condition ties attributes that are asked about to others that are a secret, and has too many values",
            fix="write a condition on one attribute, or join such conditions by `and`; or use coarser attributes",
        )
    found = [largest_over_edges(graph, part, given, squares=squares) for part in parts]
    return Loss(sum((one.value for one in found), Fraction(0)), None, False, "over edges, for each part by itself")


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
    def _seen(self) -> dict[tuple[int, Pattern | None, frozenset[int]], Peak]:
        return {}

    def _along(self, step: Step, marks: frozenset[int] = frozenset()) -> tuple[dict[int, Peak], int]:
        """The peaks of the axes that a step changes, or on which a query is measured that it moves; and what queries
        move that are measured on none.
        """
        marks = marks.union(*(pattern.crossed for _, pattern in step))
        numbers = {query_of(mark) for mark in marks}
        patterns: dict[int, Pattern | None] = {self._home[number]: None for number in numbers & self._home.keys()}
        patterns.update(step)
        peaks = {place: self._peak(place, pattern, marks) for place, pattern in patterns.items()}
        rest = 0
        for number in numbers & self.ones.keys():
            sides = (out_before(number) not in marks) + (out_after(number) not in marks)
            rest += self.ones[number] * (sides if sides < 2 or number in marks else 0)
        return peaks, rest

    def _peak(self, place: int, pattern: Pattern | None, marks: frozenset[int]) -> Peak:
        """The most that what is added up along an axis moves: on a step of a pattern; None is one of other axes."""
        here = frozenset(mark for mark in marks if query_of(mark) in self._numbers[place])
        key = place, pattern, here
        if key not in self._seen:
            self._seen[key] = _on(self.axes[place], pattern, here)
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

    def presence(self) -> tuple[Worst, list[Peak]]:
        """The most that one record adds, and where it lies on each axis: a step after which no condition holds."""
        total, peaks = Worst(0, True, ()), [STILL] * len(self.axes)
        left = set(self.ones)
        for places in _tied(self.axes):
            some = [self.axes[place] for place in places]
            numbers = {number for axis in some for number in _numbers_of(axis)}
            left -= numbers
            gone = frozenset(map(out_after, numbers))
            ways = [
                _ways_of(place, axis, [pattern for pattern in axis.patterns() if not pattern.cost])
                for place, axis in zip(places, some, strict=True)
                if axis.conditions
            ]
            listed = count_steps(ways, 0) <= COMBINATION_LIMIT
            best, at = Worst(-1, False, ()), dict[int, Peak]()
            for step in steps(ways, 0) if listed else [()]:
                along, rest = self._along(step, gone)
                value = sum(peak.value for peak in along.values()) + rest
                exact = listed and all(peak.exact for peak in along.values())
                if _worse(best, value, exact):
                    best, at = Worst(value, exact, ()), along
            total = total.beside(best)
            for place, peak in at.items():
                peaks[place] = peak
        return replace(total, value=total.value + sum(self.ones[number] for number in left)), peaks


def _on(axis: Axis, pattern: Pattern | None, marks: frozenset[int]) -> Peak:
    """The most that the terms of an axis move on a step of a pattern, all of whose marks are given."""
    same, before, after = terms_by_side(axis.terms, marks)
    if pattern is None or pattern.cost == 0:
        return axis.top([*before, *after], pattern) if before or after or axis.conditions else STILL
    sides = [{term.number for term in side} for side in (before, after)]
    there = tuple(term for term in axis.terms if not {out_before(term.number), out_after(term.number)} <= marks)
    if len(there) < len(axis.terms) and not axis.conditions:  # the others add nothing, whatever the step
        axis = replace(axis, terms=there)  # type: ignore[type-var]
    if axis.lists or sides[0] == sides[1]:
        return axis.peak(pattern, marks)
    both = [term for term in before if term.number in sides[1]]
    single = [[term for term in side if term not in both] for side in (before, after)]
    found = [axis.top(side, None) for side in single if side]
    if same or both:
        found.append(replace(axis, terms=(*same, *both)).peak(pattern, marks))  # type: ignore[type-var]
    return Peak(
        sum(peak.value for peak in found), found[-1].x if found else 0, found[-1].y if found else 0, exact=False
    )


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
    """The touched factors, grouped so that every contribution lives in one group, and every condition is one on each of
    them.
    """
    asked = {name for query, _ in queries for name in query.names}
    groups = [[place] for place in sorted({graph.place_of[name] for name in asked if name in graph.place_of})]
    for tied in dict.fromkeys(names for query, _ in queries for names in _tied_by(query, graph)):
        joined = [g for g in groups if any(not tied.isdisjoint(graph.factors[place].names) for place in g)]
        if len(joined) > 1:
            together = sorted(place for group in joined for place in group)
            groups = [*(group for group in groups if group not in joined), together]
    of_name = {name: n for n, group in enumerate(groups) for place in group for name in graph.factors[place].names}
    terms: list[list[Term]] = [[] for _ in groups]
    crossings: list[list[Crossing]] = [[] for _ in groups]
    conditions: list[list[Condition]] = [[] for _ in groups]
    homes = [next((of_name[name] for name in inner_of(q).names if name in of_name), None) for q, _ in queries]
    listed = {*homes} - {None}
    for n, (query, weight) in enumerate(queries):
        part, inner, home = query.contribution, inner_of(query), homes[n]
        if isinstance(part, Among) and home is None and len(places := {of_name[name] for name in part.held}) == 1:
            home = next(iter(places & listed), None)  # it is counted along with what else is added up there
        if home is not None:
            own = [name for name in part.names if of_name.get(name) == home]
            there = part.about(inner, own) if isinstance(part, Among) else part
            assert there is not None
            terms[home].append(Term(n, squared(there) if squares else there, weight))
        if isinstance(part, Among):
            for place in dict.fromkeys(of_name[name] for name in part.held):
                held = _held(part, [name for name in part.held if of_name[name] == place])
                if place != home and not held.table.all():
                    conditions[place].append(Condition(n, held))
        for split in query.by:
            if split.name in of_name:
                crossings[of_name[split.name]].append(Crossing(n, split, squares and signed(query.contribution)))
    axes: list[Axis] = []
    for n, group in enumerate(groups):
        factors = tuple(graph.factors[place] for place in group)
        names = tuple(sorted((name for f in factors for name in f.names), key=graph.domain.position))
        axes.append(_axis(graph, factors, names, tuple(terms[n]), tuple(crossings[n]), tuple(conditions[n])))
    return axes


def _tied_by(query: LinearQuery, graph: SecretGraph) -> Iterator[frozenset[str]]:
    """Sets of attributes that a query ties together: by what it adds up, or says of several at once."""
    part = query.contribution
    yield frozenset(inner_of(query).names)
    if isinstance(part, Among):
        factors = dict.fromkeys(graph.place_of[name] for name in part.held)
        sets = [[name for name in part.held if graph.place_of[name] == place] for place in factors]
        yield frozenset(name for names in sets if not _is_product(part, names) for name in names)


def inner_of(query: LinearQuery) -> Any:
    """What a query adds up, whoever it is about."""
    return query.contribution.inner if isinstance(query.contribution, Among) else query.contribution


def _elsewhere(query: LinearQuery) -> list[str]:
    """The attributes of its condition that a query does not look at otherwise."""
    part, own = query.contribution, {*inner_of(query).names, *(split.name for split in query.by)}
    return [name for name in part.held if name not in own] if isinstance(part, Among) else []


def _is_product(part: Among, names: Sequence[str]) -> bool:
    """Whether a condition is one on some attributes, and one on the rest."""
    mine = tuple(axis for axis, name in enumerate(part.held) if name in names)
    rest = tuple(axis for axis in range(len(part.held)) if axis not in mine)
    apart = part.table.any(axis=mine, keepdims=True) & part.table.any(axis=rest, keepdims=True)
    return bool(np.array_equal(apart, part.table))


def _held(part: Among, names: Sequence[str]) -> Among:
    """What a condition that is a product says of some of its attributes."""
    table = np.asarray(part.table.any(axis=tuple(axis for axis, name in enumerate(part.held) if name not in names)))
    held = tuple(name for name in part.held if name in names)
    return Among(One(), held, table.shape, held, np.ascontiguousarray(table).tobytes(), (), ())


def _axis(
    graph: SecretGraph,
    factors: tuple[Factor, ...],
    names: tuple[str, ...],
    terms: tuple[Term, ...],
    crossings: tuple[Crossing, ...],
    conditions: tuple[Condition, ...],
) -> Axis:
    """The fastest way to look at a group of factors that is right for it."""
    first = factors[0].graph
    if len(factors) == 1 and not isinstance(first, JointGraph):
        return LineAxis(names[0], first, terms, crossings, conditions)
    part = _part(graph, factors, names)
    if isinstance(first, JointGraph) and len(factors) == 1:
        metric = first if isinstance(first, JointMetric) and not conditions else None
        quick = by_metric(part, metric, terms, crossings) if metric else None
        return quick or GridAxis(part, terms, crossings, conditions=conditions)
    at_corners = not conditions and by_value(crossings) and all(convex_from_each_end(term) for term in terms)
    if corner_axis.fits(factors) and at_corners:
        return CornerAxis(part, terms, crossings)
    if part.domain.size <= MATRIX_LIMIT:
        return GridAxis(part, terms, crossings, conditions=conditions)
    if conditions or any(isinstance(term.contribution, Among) for term in terms):
        merged = MergedAxis(part, terms, crossings, conditions=conditions)
        if merged.able:
            return merged
    if at_corners and not any(isinstance(factor.graph, JointGraph) for factor in factors):
        return CornerAxis(corner_axis.widened(part), terms, crossings, exact=False)
    complete = graph.at_most >= len(graph.factors) and all(isinstance(f.graph, Everything) for f in factors)
    return ClassAxis(part, terms, crossings, exact=complete, conditions=conditions)


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
