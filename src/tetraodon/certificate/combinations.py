"""Which patterns of change on several axes make one step together, and which of those steps moves the most.

Axes that share no query move apart from each other: what a step moves is then the sum of what it moves on each of
them, and the worst step is found axis by axis, however many there are. Only axes that a query ties together have to be
gone through together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from tetraodon.certificate.axis import UNCHANGED, Axis, Pattern

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
