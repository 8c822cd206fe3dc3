"""Certificates on attributes with a million values, beside one sort of as many numbers by NumPy."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy as np

import tetraodon as td

SIZE = 1_000_000
LIMIT = 5.0
"""Sorts of as many numbers: less than a second."""


def seconds(call: Callable[[], object], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def run(quick: bool) -> list[dict[str, object]]:
    """Rows for the common report."""
    repeats = 3 if quick else 7
    rows: list[dict[str, object]] = []
    numbers = np.arange(SIZE, dtype=np.int64)
    reference = seconds(lambda: np.sort(numbers[::-1] ^ 0x5555), repeats)
    secrets: dict[str, object] = {f"theta {theta}": {"within": theta} for theta in (1, 100, 10_000, 999_999)}
    secrets |= {"everything": "everything", "blocks": {"blocks": [[i, i + 999] for i in range(0, SIZE, 1000)]}}
    for words, secret in secrets.items():
        policy = td.load_policy(
            {
                "tetraodon": 1,
                "dataset": "million",
                "presence": "public",
                "attributes": {"x": {"integer": [0, SIZE - 1]}},
                "secrets": {"x": secret},
                "budget": {"epsilon": 1},
            }
        )
        for kind, query in (
            ("cdf", td.queries.cdf("x")),
            ("histogram", td.queries.histogram("x")),
            ("ranges", td.queries.ranges("x")),
        ):
            if kind == "ranges" and words == "blocks":
                continue
            taken = seconds(lambda query=query, policy=policy: td.sensitivity(policy, query), repeats)  # type: ignore[misc]
            rows.append(
                {
                    "name": f"certificate, {kind} of a million values, {words}: seconds over a NumPy sort",
                    "ratio": taken / reference,
                    "target": LIMIT,
                    "reached": taken <= LIMIT * reference,
                    "detail": {"seconds": taken, "numpy_sort_seconds": reference},
                }
            )
    return rows
