"""Which patterns of change on several axes make one step together."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from operator import itemgetter

from tetraodon.certificate.axis import UNCHANGED, Axis, Pattern
from tetraodon.errors import Refused

COMBINATION_LIMIT = 200_000


def combinations(axes: Sequence[Axis], at_most: int) -> Iterator[tuple[Pattern, ...]]:
    """Every way to give each axis a pattern so that between one and `at_most` factors change.

    On an axis where nothing but splits is measured, a pattern that costs no more and crosses no less than another
    makes the other superfluous. Of axes that are alike, those change first that move the most.
    """
    most = [max(pattern.cost for pattern in axis.patterns()) for axis in axes]
    all_ = sum(most)
    choices = [_worth_trying(axis, at_most, all_ - own) for axis, own in zip(axes, most, strict=True)]
    bundles = list(_bundles(axes, choices))
    if math.prod(len(ways) for _, ways in bundles) > COMBINATION_LIMIT and at_most > 2:
        raise Refused("too many attributes are asked about at once", fix="split the release into several")
    places = [place for bundle, _ in bundles for place in bundle]
    order = [number for number, _ in sorted(enumerate(places), key=itemgetter(1))]
    for combination in _within([ways for _, ways in bundles], at_most):
        if any(pattern.cost for pattern in combination):
            yield tuple(map(combination.__getitem__, order))


def _within(bundles: Sequence[Sequence[tuple[Pattern, ...]]], at_most: int) -> Iterator[list[Pattern]]:
    """Every way to take one of each bundle at a cost of `at_most`; the first bundle changes last.

    Why   where nothing is left to spend, and the rest can be free in one way only, the rest is known at once: with one
          factor changing at a time, hundreds of axes would otherwise be gone through for every one of them.
    """
    costs = [[sum(pattern.cost for pattern in way) for way in ways] for ways in bundles]
    free: list[list[Pattern] | None] = [[]]
    for ways, cost in zip(reversed(bundles), reversed(costs), strict=True):
        rest, idle = free[-1], [way for way, own in zip(ways, cost, strict=True) if own == 0]
        free.append([*idle[0], *rest] if rest is not None and len(idle) == 1 else None)
    free.reverse()
    waiting: list[tuple[int, int, list[Pattern]]] = [(0, at_most, [])]
    while waiting:
        place, left, begun = waiting.pop()
        rest = free[place]
        if place == len(bundles) or (left == 0 and rest is not None):
            yield begun + (rest or [])
            continue
        priced = zip(bundles[place], costs[place], strict=True)
        waiting += reversed([(place + 1, left - own, [*begun, *way]) for way, own in priced if own <= left])


def _bundles(
    axes: Sequence[Axis], choices: Sequence[Sequence[Pattern]]
) -> Iterator[tuple[list[int], list[tuple[Pattern, ...]]]]:
    """Places of axes that are alike, and the ways to give them patterns; every other axis by itself.

    Why   axes are alike which can change in one way, all in the same, and along which no query with splits is
          measured: what they move then depends on nothing else. Of so many that change, those that move the most are
          enough, and there are as many ways as axes, not as sets of them.
    """
    split = {crossing.number for axis in axes for crossing in axis.crossings}
    alike: dict[int | Pattern, list[int]] = {}
    for place, (axis, choice) in enumerate(zip(axes, choices, strict=True)):
        either = len(choice) == 2 and choice[0] == UNCHANGED
        level = either and not any(term.number in split for term in axis.terms)
        alike.setdefault(choice[1] if level else place, []).append(place)
    for key, bundle in alike.items():
        if len(bundle) == 1 or isinstance(key, int):
            yield bundle, [(pattern,) for pattern in choices[bundle[0]]]
            continue
        moved = {place: axes[place].peak(key, key.crossed) for place in bundle}
        first = sorted(bundle, key=lambda place: (-moved[place].value, not moved[place].exact, -place))
        yield first, [(key,) * count + (UNCHANGED,) * (len(first) - count) for count in range(len(first) + 1)]


def _worth_trying(axis: Axis, at_most: int, sum_of_other_costs: int) -> list[Pattern]:
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
