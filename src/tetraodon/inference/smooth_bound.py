"""Variances of all running counts of a least-squares fit from above, for attributes too long for the exact ones."""

from __future__ import annotations

import numpy as np

from tetraodon.arrays import Floats
from tetraodon.inference.smooth_fit import SmoothFit


def running_variance_bounds(fit: SmoothFit) -> Floats:
    """For every running count a number that its variance does not exceed.

    Why   least squares has the least variance of all linear estimates without bias, so any such estimate gives a bound.
          This one takes the coarsest running sum around a position, and then descends: a running sum differs from the
          average over its parent by a weighted sum of the finer bins in between.
    """
    coarsest = fit.levels[-1]
    steps = fit.steps(coarsest.width)
    place = np.arange(steps)
    precision = np.zeros(steps)
    if coarsest.running is not None:
        precision += 1 / coarsest.running
    if coarsest.bins is not None:
        precision += 1 / (coarsest.bins * (place + 1))
        if fit.total == 0:
            precision += 1 / (coarsest.bins * (steps - place))
    variance, width = 1 / precision, coarsest.width
    finer = [(level.width, level.bins) for level in fit.levels[-2::-1] if level.bins is not None]
    for next_width, bins in [*finer, (1, fit.leaves)]:
        times = width // next_width
        apart = bins * _within_parent(times)
        child = np.arange(fit.steps(next_width))
        variance, width = variance[child // times] + apart[child % times], next_width
    return np.append(variance, 0.0 if fit.total == 0 else _total(fit))


def _within_parent(times: int) -> Floats:
    """For each of r neighbouring running sums, the variances of a bin that its distance from their average has.

    Why   the distance of number k is the sum of bins j <= k, weighted j / r, less those of j > k, weighted (r - j) / r.
    """
    squares = np.cumsum((np.arange(times) / times) ** 2)
    return squares + squares[::-1]


def _total(fit: SmoothFit) -> float:
    """The number of records: measured by itself, or added up over bins."""
    found = [level.bins * (fit.steps(level.width) + 1) for level in fit.levels if level.bins is not None]
    return min([*found, fit.leaves * fit.size, *([fit.total] if fit.total else [])])
