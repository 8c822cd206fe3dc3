"""Exact integer noise against NumPy's floating-point noise, interleaved in the same run.

    python benchmarks/bench_noise.py [--json FILE] [--quick]

A ratio is NumPy's time over ours for the same number of values: above 1 we are faster. Our times
hold the coins (AES-256-CTR under a key of the operating system) and exclude the cached table, whose
time to build is shown.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from tetraodon.noise import discrete_gaussian, discrete_laplace
from tetraodon.noise.gaussian import gaussian_sampler
from tetraodon.noise.laplace import laplace_sampler

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
        "target": target,
        "better": "higher",
        "reached": target is None or ratio >= target,
        "detail": {
            "ours_per_second": our_rate,
            "numpy_per_second": their_rate,
            "ratio_min": min(ratios),
            "ratio_max": max(ratios),
            "build_seconds": building,
            "count": COUNT,
            "repeats": repeats,
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


def shown(row: dict[str, Any]) -> str:
    detail = row["detail"]
    target = "-" if row["target"] is None else f"{row['target']:.1f}"
    reached = "-" if row["target"] is None else "yes" if row["reached"] else "NO"
    return (
        f"{row['name']:<62}{detail['ours_per_second'] / 1e6:>9.0f}"
        f"{detail['numpy_per_second'] / 1e6:>9.0f}{row['ratio']:>8.2f}"
        f"  {detail['ratio_min']:5.2f}-{detail['ratio_max']:5.2f}{target:>8}{reached:>9}"
        f"{detail['build_seconds'] * 1e3:>10.1f}"
    )


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args(arguments)
    rows = run(options.quick)
    print(
        f"{'rates in millions a second':<62}{'ours':>9}{'NumPy':>9}{'ratio':>8}"
        f"  {'spread':>11}{'target':>8}{'reached':>9}{'build ms':>10}"
    )
    for row in rows:
        print(shown(row))
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)
    return 0 if all(row["reached"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
