"""The error of noise if every part were divided: all that can be known before any data is seen."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from tetraodon.arrays import Floats
from tetraodon.mechanism.divided.rounds_fit import parts_of
from tetraodon.mechanism.strategy import Scaled
from tetraodon.questions.query import EveryRange, EveryRectangle, ListedRanges, Query, Reading, RunningCounts
from tetraodon.workload.contribution import One
from tetraodon.workload.linear import LinearQuery


@lru_cache(maxsize=64)
def mean_variance(query: Query, at: Scaled) -> float:
    """Mean over the answers of the variance of their noise, if all parts were divided.

    Why   parts of every round lie inside those of the round before. So tables that are even inside the parts of round
          l and add up to nothing in those of round l - 1 are common eigenvectors of all rounds: a part of w cells has
          w times their squares in its counts. What of an answer lies in each of these spaces is a difference of means
          over parts. It is exact where the parts of every round are equally wide.
    """
    parts, reading = parts_of(at), query.reading(at.domain)
    assert reading is not None
    noise = [at.strategy.noise.variance(parts.scale_of(at.scale, place)) for place in range(parts.rounds)]
    known = LinearQuery(One(), at.strategy.noisy[0].by) in at.strategy.exact
    total, before, cells = 0.0, _evenly(reading, parts.sizes, max(parts.sizes)) if known else 0.0, len(parts.sizes)
    for place, width in enumerate(parts.widths):
        even = _evenly(reading, parts.sizes, width)
        precision = sum(parts.widths[later] ** cells / noise[later] for later in range(place, parts.rounds))
        total += max(even - before, 0.0) / precision
        before = even
    return total


def _evenly(reading: Reading, sizes: tuple[int, ...], width: int) -> float:
    """The mean square of what is left of an answer's weights when they are made even inside parts of a width."""
    found = 1.0
    for size in sizes:
        found *= _along(EveryRange() if isinstance(reading, EveryRectangle) else reading, size, width)
    return found


def _along(reading: Reading, size: int, width: int) -> float:
    """The same along one side: the mean over answers of the sum over parts B of |answer and B|^2 / |B|."""
    codes, starts = np.arange(size), np.arange(0, size, width)
    if isinstance(reading, ListedRanges):
        rows = (np.add.reduceat((low <= codes) & (codes <= high), starts, dtype=np.int64) for low, high in reading.ends)
        whole = np.diff(np.append(starts, size))
        return float(np.mean([(row**2 / whole).sum() for row in rows]))
    # how many answers hold both i and j, of which i is not the larger: before[i] * after[j]
    after = (size - codes).astype(np.float64)
    before: Floats = np.ones(size) if isinstance(reading, RunningCounts) else codes.astype(np.float64) + 1
    every = size if isinstance(reading, RunningCounts) else size * (size + 1) / 2
    upto = np.append(0.0, np.cumsum(before))
    own = upto[:-1] - upto[codes // width * width]
    whole = np.minimum(width, size - codes // width * width)
    return float((after * (before + 2 * own) / whole).sum() / every)
