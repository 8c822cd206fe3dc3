"""What one change of a policy costs: previews of two hundred random changes, one after the other."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import tetraodon as td
from benchmarks.edits import demo, edits, ten_attributes

ALLOWED = 0.2
"""Seconds of processor time for the slowest but one in twenty."""


def seconds(work: Callable[[], td.Plan]) -> tuple[float, td.Plan]:
    start = time.process_time()
    made = work()
    return time.process_time() - start, made


def run(quick: bool) -> list[dict[str, object]]:
    """Rows for the common report. A change is read from the file's form, and planned."""
    rows: list[dict[str, object]] = []
    for words, base in (("the demonstration", demo()), ("ten attributes", ten_attributes())):
        last = td.plan(base)
        taken = []
        for _, changed in edits(base, 40 if quick else 200, seed=2026):
            spent, last = seconds(lambda changed=changed, last=last: td.editor.preview(changed, previous=last))  # type: ignore[misc]
            taken.append(spent)
        slow = statistics.quantiles(taken, n=20)[-1]
        rows.append(
            {
                "name": f"preview after one change, {words}: 95% of {len(taken)} within, seconds over {ALLOWED}",
                "ratio": slow / ALLOWED,
                "target": 1.0,
                "reached": slow < ALLOWED,
                "detail": {"p95": slow, "median": statistics.median(taken)},
            }
        )
    return rows
