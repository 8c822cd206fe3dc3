"""What every worker does: read a task and its parameters, do it, print one line of JSON.

A worker is started with the Python of its own environment, so it may import nothing but the standard library, its
library and NumPy. `python with_NAME.py TASK` reads the parameters from standard input.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import Any

MARK = "answer: "


def serve(distribution: str, tasks: Mapping[str, Callable[..., dict[str, Any]]]) -> None:
    """Do the task that the command line names."""
    given = json.loads(sys.stdin.read() or "{}")
    answer = tasks[sys.argv[1]](**given)
    print(MARK + json.dumps({"version": version(distribution), **answer}), flush=True)


def rates(draw: Callable[[], object], count: int, repeats: int) -> dict[str, Any]:
    """Values a second, once for each repeat, after one draw that is not counted."""
    draw()
    found = []
    for _ in range(repeats):
        start = time.perf_counter()
        draw()
        found.append(count / (time.perf_counter() - start))
    return {"rates": found, "count": count}


def timed(work: Callable[[], Any], repeats: int) -> tuple[list[Any], list[float]]:
    """What each repeat gives, and the seconds it took."""
    made, seconds = [], []
    for _ in range(repeats):
        start = time.perf_counter()
        made.append(work())
        seconds.append(time.perf_counter() - start)
    return made, seconds
