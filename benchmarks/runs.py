"""Running a benchmark several times: the figure is the middle one, and the spread is from the least to the most.

A row says its own `least`, `most` and `runs` where its benchmark repeats what it measures. The others get them here,
from whole runs, of which there are as many as patience allows. Every run has a process of its own: plans that an
earlier one has kept would make a later one look fast.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

Row = dict[str, Any]
RUNS, PATIENCE = 3, 150.0
"""At most so many runs, and no further one that would make them take longer than so many seconds together."""


def row(name: str, ratio: float, target: float | None, ratios: Sequence[float] = (), /, **detail: object) -> Row:
    """A figure, which should not be above its target; where it is of several `ratios`, with their spread."""
    spread = {"least": min(ratios), "most": max(ratios), "runs": len(ratios)} if ratios else {}
    reached = target is None or ratio <= target
    return {"name": name, "ratio": ratio, **spread, "target": target, "reached": reached, "detail": detail}


def fresh(name: str, quick: bool) -> list[Row]:
    """The rows of a benchmark, from a new process."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(_run, name, quick).result()


def _run(name: str, quick: bool) -> list[Row]:
    return list(importlib.import_module(f"benchmarks.bench_{name}").run(quick))


def several(run: Callable[[], Sequence[Row]], runs: int = RUNS, patience: float = PATIENCE) -> list[Row]:
    """The rows of up to `runs` runs, put together."""
    found: list[Sequence[Row]] = []
    spent = 0.0
    while not found or (len(found) < runs and not _told(found[0]) and spent * (1 + 1 / len(found)) <= patience):
        start = time.perf_counter()
        found.append(run())
        spent += time.perf_counter() - start
    names = [row["name"] for row in found[0]]
    if len(set(names)) < len(names):
        raise SystemExit("two figures of a benchmark have one name")
    return [_middle([row for rows in found for row in rows if row["name"] == name]) for name in names]


def _told(rows: Sequence[Row]) -> bool:
    return all("least" in row for row in rows)


def _middle(rows: Sequence[Row]) -> Row:
    """The row in the middle; of two, the worse."""
    ordered = sorted(rows, key=lambda row: row["ratio"], reverse=rows[0].get("better") == "higher")
    middle = ordered[len(ordered) // 2]
    ratios = [row["ratio"] for row in rows]
    return {"least": min(ratios), "most": max(ratios), "runs": len(rows), **middle}
