"""Goodness of fit with a stated false-alarm rate.

Every chi-square test here alarms with probability 1e-8 when the sampler is right; this room makes
fewer than 30 of them, so that they add up to less than 3e-7.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

ALARM = 1e-8


def fits(observed: NDArray[np.int64], expected: NDArray[np.float64]) -> bool:
    """Whether counts are what their expectations say; thin neighbours are pooled."""
    pooled_seen, pooled_due = [], []
    seen = due = 0.0
    for count, mean in zip(observed, expected, strict=True):
        seen, due = seen + count, due + mean
        if due >= 100:
            pooled_seen.append(seen)
            pooled_due.append(due)
            seen = due = 0.0
    if not pooled_due:
        return seen == 0
    pooled_seen[-1] += seen
    pooled_due[-1] += due
    if len(pooled_due) == 1:
        return pooled_seen[0] == round(pooled_due[0])
    gap = np.array(pooled_seen) - np.array(pooled_due)
    statistic = float((gap**2 / np.array(pooled_due)).sum())
    return bool(chi2.sf(statistic, len(pooled_due) - 1) > ALARM)


def bin_edges(spread: float, reach: float) -> NDArray[np.int64]:
    """About 120 places between which to count, one apart when the spread is small."""
    step = max(1, int(spread / 8))
    far = int(reach * spread / step) + 1
    return np.arange(-far, far + 1) * step


def counts(values: NDArray[np.int64], edges: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many values are at most edges[0], then up to each next edge, then above the last."""
    return np.bincount(np.searchsorted(edges, values, side="left"), minlength=len(edges) + 1)
