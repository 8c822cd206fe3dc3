"""Running counts that never fall ([HMD14] section 7.1: constrained inference)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def monotone_counts(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Counts along the last axis whose running sums are the nearest non-decreasing ones between 0 and the total.

    Post  each row keeps its total, and no count of it is negative. A row whose total is negative, which only noise on
          a small group can bring about, has no such running sums: it is left as it is.
    Why   least squares under order and bounds is the isotonic fit, clipped to the bounds.
    """
    from scipy.optimize import isotonic_regression

    rows = counts.reshape(-1, counts.shape[-1])
    out = np.empty_like(rows)
    for row, running in enumerate(np.cumsum(rows, axis=1)):
        total = running[-1]
        if total < 0:
            out[row] = rows[row]
            continue
        fitted = isotonic_regression(running[:-1]).x if len(running) > 1 else running[:-1]
        clipped = np.clip(np.append(fitted, total), 0.0, total)
        out[row] = np.diff(clipped, prepend=0.0)
    return out.reshape(counts.shape)


def whole_numbers(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Non-negative whole numbers near the counts, with the same total, rounded.

    Negative counts become 0, the surplus is taken from the others in proportion, and the largest remainders are
    rounded up. Small counts are biased upwards by this, large ones downwards.
    """
    total = max(round(float(counts.sum())), 0)
    positive = np.maximum(counts, 0.0)
    mass = float(positive.sum())
    if mass == 0:
        return np.zeros_like(counts)
    scaled = (positive * (total / mass)).ravel()
    floor = np.floor(scaled)
    short = total - int(floor.sum())
    if short > 0:
        floor[np.argsort(scaled - floor, kind="stable")[::-1][:short]] += 1
    return floor.reshape(counts.shape)
