"""Exact integer noise against NumPy's floating-point noise, interleaved in the same run.

    python -m benchmarks noise [--quick]

A ratio is NumPy's time over ours for the same number of values: above 1 we are faster. Our times
hold the coins (AES-256-CTR under a key of the operating system) and exclude the cached table, whose
time to build is shown.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from tetraodon.noise import discrete_gaussian, discrete_laplace
from tetraodon.noise.discrete import gaussian_sampler, laplace_sampler

COUNT = 1 << 20

LAPLACE_TARGETS = [
    *((scale, 2.0) for scale in ("0.1", "1", "7/3", "10", "30", "100")),
    *((scale, 1.0) for scale in ("101", "192", "193", "500", "1000")),
    *((scale, 0.3) for scale in ("1001", "12345.678", "1e6", "1e9", "1e12", str(2**50))),
]
GAUSSIAN_TARGETS = [
    *((sigma, 1.0) for sigma in ("0.1", "1", "7/3", "10", "30", "100")),
    *((sigma, None) for sigma in ("300", "1024", "1025", "1e6", "1e12")),  # no target: reported only
]


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def compare(
    name: str,
    ours: Callable[[], object],
    theirs: Callable[[], object],
    build: Callable[[], object],
    target: float | None,
    repeats: int,
) -> dict[str, Any]:
    """One row: medians over interleaved repeats, and the least and greatest ratio of a pair."""
    laplace_sampler.cache_clear()
    gaussian_sampler.cache_clear()
    building = seconds(build)
    ours()
    theirs()
    pairs = [(seconds(ours), seconds(theirs)) for _ in range(repeats)]
    our_rate = COUNT / statistics.median(pair[0] for pair in pairs)
    their_rate = COUNT / statistics.median(pair[1] for pair in pairs)
    ratios = [theirs_took / ours_took for ours_took, theirs_took in pairs]
    ratio = our_rate / their_rate
    return {
        "name": name,
        "ratio": ratio,
        "least": min(ratios),
        "most": max(ratios),
        "runs": repeats,
        "target": target,
        "better": "higher",
        "reached": target is None or ratio >= target,
        "detail": {
            "ours_per_second": our_rate,
            "numpy_per_second": their_rate,
            "build_seconds": building,
            "count": COUNT,
        },
    }


def run(quick: bool = False) -> list[dict[str, Any]]:
    """All rows; `quick` takes fewer repeats."""
    repeats = 5 if quick else 25
    generator = np.random.default_rng()
    rows = []
    for text, target in LAPLACE_TARGETS:
        scale = Fraction(text)
        rows.append(
            compare(
                f"discrete Laplace, scale {text}, to Generator.laplace",
                lambda scale=scale: discrete_laplace(scale, COUNT),
                lambda scale=float(scale): generator.laplace(0.0, scale, COUNT),
                lambda scale=scale: laplace_sampler(scale),
                target,
                repeats,
            )
        )
    for text, target in GAUSSIAN_TARGETS:
        sigma = Fraction(text)
        rows.append(
            compare(
                f"discrete Gaussian, sigma {text}, to Generator.normal",
                lambda sigma=sigma: discrete_gaussian(sigma, COUNT),
                lambda sigma=float(sigma): generator.normal(0.0, sigma, COUNT),
                lambda sigma=sigma: gaussian_sampler(sigma),
                target,
                repeats,
            )
        )
    return rows
