"""Which patterns of change on several axes make one step together."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from tetraodon.certificate.axis import Axis, Pattern
from tetraodon.errors import Refused

COMBINATION_LIMIT = 200_000


def combinations(axes: Sequence[Axis], at_most: int) -> Iterator[tuple[Pattern, ...]]:
    """Every way to give each axis a pattern so that between one and `at_most` factors change.

    On an axis where nothing but splits is measured, a pattern that costs no more and crosses no less than another
    makes the other superfluous.
    """
    choices = [_worth_trying(axis, at_most, sum_of_other_costs=_most(axes, axis)) for axis in axes]
    if math.prod(len(choice) for choice in choices) > COMBINATION_LIMIT and at_most > 2:
        raise Refused("too many attributes are asked about at once", fix="split the release into several")

    def extend(rest: Sequence[Sequence[Pattern]], left: int) -> Iterator[tuple[Pattern, ...]]:
        if not rest:
            yield ()
            return
        for pattern in rest[0]:
            if pattern.cost <= left:
                for more in extend(rest[1:], left - pattern.cost):
                    yield (pattern, *more)

    for combination in extend(choices, at_most):
        if any(pattern.cost for pattern in combination):
            yield combination


def _most(axes: Sequence[Axis], one: Axis) -> int:
    return sum(max(p.cost for p in axis.patterns()) for axis in axes if axis is not one)


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
