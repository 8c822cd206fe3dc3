"""Running counts that never fall ([HMD14] section 7.1: constrained inference)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tetraodon.arrays import Floats


def monotone_counts(counts: Floats, starts: Sequence[int] = (0,)) -> Floats:
    """Counts along the last axis whose running sums are the nearest non-decreasing ones between 0 and the total.

    With `starts`, the axis falls into parts that begin there, and each keeps its own total.

    Post  each row keeps its total, and no count of it is negative. A row whose total is negative, which only noise on
          a small group can bring about, has no such running sums: it is left as it is.
    Why   least squares under order and bounds is the isotonic fit, clipped to the bounds.
    """
    from scipy.optimize import isotonic_regression

    if len(starts) > 1:
        parts = np.split(counts, list(starts)[1:], axis=-1)
        return np.concatenate([monotone_counts(part) for part in parts], axis=-1)
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
