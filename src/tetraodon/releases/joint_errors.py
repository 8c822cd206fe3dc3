"""How far off answers are once everything that a release measures is estimated together: the plan alone says it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tetraodon.domain import Domain
from tetraodon.exact.arrays import Floats, on_one_thread
from tetraodon.mechanism.strategy_optimiser import AskedPairs
from tetraodon.query.query import Cells, EveryRange, EveryRectangle, ListedRanges, Reading, RunningCounts
from tetraodon.releases.estimates import Combined, CombinedGroup, combine
from tetraodon.releases.plan import Plan, PlannedItem

MOST_WORK = 2**18
"""Numbers that least squares for the answers of an item may hold at once; beyond that its error is not told."""
MOST_NUMBERS = 2**20
"""Numbers that all items measure together, beyond which none is told."""
CHANGED = 1e-6
"""An error that is smaller by less than this part of it is the same."""


@on_one_thread
def joint_errors(plan: Plan) -> dict[str, float]:
    """The root mean squared errors per answer of items that others make better, as `expected_error` is for each alone.

    Post  none is larger than the error alone. An item is left out where nothing else is told of what it asks, where
          it would be too much work, and where its answers are not read from counts or sums that are combined.
    """
    found: dict[str, float] = {}
    for those in dict.fromkeys(item.strategy.among for item in plan):
        items = [item for item in plan if item.strategy.among == those]
        domain = plan.policy.domain if those is None else those.inside
        shapes = {i.name: [m.query.shape(domain) for m in i.strategy.stated(i.scale)] for i in items}
        if len(items) < 2 or sum(math.prod(one) for each in shapes.values() for one in each) > MOST_NUMBERS:
            continue
        nobody = {name: tuple(np.zeros(one, np.int64) for one in each) for name, each in shapes.items()}
        combined = combine(items, nobody, domain)
        errors = {item.name: _error_together(item, combined, domain) for item in items}
        found |= {name: error for name, error in errors.items() if error is not None}
    return found


def _error_together(item: PlannedItem, combined: Combined, domain: Domain) -> float | None:
    """The error of an item's answers as all measurements together tell them; None where it is left out.

    Pre   `domain` is what the records can be like that the item is about.
    """
    group, place = combined.places.get((item.name, None if item.strategy.table else 0), (None, 0))
    if group is None or (group.alone and not any(one.kind == group.pieces[place].kind for one in group.exact)):
        return None
    variance = _variance(item, group, place, domain)
    if variance is None:
        return None
    error = math.sqrt(max(0.0, variance))
    return error if error < item.expected_error * (1 - CHANGED) else None


def _variance(item: PlannedItem, group: CombinedGroup, place: int, domain: Domain) -> float | None:
    """The mean variance of the answers; None where nobody knows it, or it is too much work."""
    size = group.pieces[place].table.values.size
    reading = item.item.query.reading(domain) if item.strategy.table else Cells()
    if isinstance(reading, Cells) and group.alike:
        return None if group.first_variances is None else float(group.first_variances[place])
    answers = size * max(1, len(reading.ends)) if isinstance(reading, ListedRanges) else size
    if reading is None or answers * group.numbers > MOST_WORK:
        return None
    rows = np.eye(size) if isinstance(reading, Cells) else _answers(reading, group.pieces[place].table.values.shape)
    return float(group.variances(place, rows).mean())


def _answers(reading: Reading, shape: Sequence[int]) -> Floats:
    """Sums of cells of a table, a row of weights each, whose mean variance is that of what is read.

    Why   the mean variance of very many sums is that of as many as there are cells, of which W'W is the same.
    """
    if isinstance(reading, EveryRectangle):
        first, second = (_along(EveryRange(), size) for size in shape)
        return np.asarray(np.kron(first, second), np.float64)
    return np.asarray(np.kron(np.eye(math.prod(shape[:-1])), _along(reading, shape[-1])), np.float64)


def _along(reading: Reading, size: int) -> Floats:
    """The sums that are read along an attribute of so many values."""
    codes = np.arange(size)
    match reading:
        case RunningCounts():
            return np.tri(size)
        case ListedRanges(ends):
            return np.array([(low <= codes) & (codes <= high) for low, high in ends], np.float64)
        case _:  # every range: W'W over the mean number of ranges that stand for one row
            pairs = AskedPairs(EveryRange(), size).times(np.eye(size))
            return np.asarray(np.linalg.cholesky(pairs * 2 / (size + 1)).T, np.float64)
