"""The methods of the literature that ours is compared with do what they are said to do."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from benchmarks.peers.rank_methods import all_at_once, one_by_one

DECILES = [n / 10 for n in range(1, 10)]


@pytest.mark.parametrize(
    ("method", "at", "expected"),
    [
        (one_by_one, [0.5], 2 * math.sqrt(2)),
        (all_at_once, [0.5], 2 * math.sqrt(2)),
        (one_by_one, DECILES, 18 * math.sqrt(2)),
        (all_at_once, DECILES, 4 * 1.78),
    ],
)
def test_errors_on_evenly_spread_values_are_known(
    method: Callable[..., list[float]], at: list[float], expected: float
) -> None:
    """Two-sided exponential noise of scale 2 m / epsilon; or such noise on all gaps, which adds up to nothing."""
    values = np.arange(0.0, 100_000, 10)
    found = np.array([method(values, at, 1.0, (0.0, 100_000.0), seed) for seed in range(60)])
    off = np.searchsorted(values, found) - np.array(at) * len(values)
    assert math.sqrt((off**2).mean()) == pytest.approx(expected, rel=0.3)
