"""When an answer is told: at the end of a slot that plan and declared size fix before any data is read.

How long a release takes depends a little on the records. So nobody is told when it is done, only that the slot ended.
"""

from __future__ import annotations

from typing import Final

from tetraodon.releases.plan import Plan

SLOTS: Final = (10, 60, 600)
"""Seconds. An answer that is late waits for the end of the next slot; after the last, for further whole ones of it."""
MARGIN = 3
"""How many times longer than expected a release may take before it is late."""
ROWS_A_SECOND, CELLS_A_SECOND, AT_LEAST = 2_000_000, 50_000, 2.0
"""Careful figures for one core: rows that are counted for one measurement, numbers that are estimated and written."""


def slot_of(plan: Plan, rows: int) -> int:
    """The slot of a release, by what it measures and by how many rows its data set is declared to have."""
    measured = [measurement for item in plan for measurement in item.measurements]
    cells = sum(measurement.query.size(plan.policy.domain) for measurement in measured)
    passes = len(measured) + len(plan.names)
    seconds = AT_LEAST + passes * rows / ROWS_A_SECOND + cells / CELLS_A_SECOND
    return next((slot for slot in SLOTS if slot >= MARGIN * seconds), SLOTS[-1])


def told_at(begun: float, slot: int, finished: float) -> tuple[float, int]:
    """When it is told that a request is finished, and how many slots late that is.

    >>> told_at(0.0, 10, 4.0), told_at(0.0, 10, 10.5), told_at(0.0, 60, 601.0)
    ((10.0, 0), (60.0, 1), (1200.0, 2))
    """
    late = 0
    for end in (one for one in SLOTS if one >= slot):
        if finished <= begun + end:
            return begun + end, late
        late += 1
    whole = SLOTS[-1]
    more = max(int(-(-(finished - begun - whole) // whole)), 1)
    return begun + whole * (1 + more), late + more - 1
