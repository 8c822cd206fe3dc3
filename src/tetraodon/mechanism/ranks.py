"""Quantiles as values that are chosen by their ranks ([GJK21]): no counts are told, and no noise is added to any."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from tetraodon.certificate.kernel import sensitivity_of
from tetraodon.exact.arrays import Ints
from tetraodon.inference.estimate import CONFIDENCE
from tetraodon.mechanism.strategy import Measured, Mechanism, Scaled, Strategy, contribution_of
from tetraodon.noise.sparse_sampling import MOST_VALUES, PLACES
from tetraodon.policy.policy import Policy
from tetraodon.query.contribution import One
from tetraodon.query.linear import LinearQuery, Measurement
from tetraodon.query.query import MeasuredSum, Query, RunningCounts
from tetraodon.query.ranks import MOST_SHARES, Ranks


@dataclass(frozen=True)
class ByRank(Mechanism):
    """A value's rank moves by one where a record moves past it, however many values there are."""

    name = "ranks"
    answers = (RunningCounts,)
    words = "values chosen by their ranks"
    tells_answers = True
    adds_noise = False

    def propose(self, query: Query, policy: Policy) -> Iterator[Strategy]:
        reading = query.reading(policy.domain)
        shares = reading.shares if isinstance(reading, RunningCounts) else ()
        *by_splits, split = query.table(policy.domain)
        attribute, by = policy.domain[split.name], tuple(by_splits)
        if not 1 <= len(shares) <= MOST_SHARES or attribute.size > MOST_VALUES or policy.known:
            return
        totals = LinearQuery(One(), by)
        known = policy.size_is_public and sensitivity_of(policy.graph, totals).value == 0
        yield Strategy(self, (LinearQuery(Ranks(attribute.name, attribute.size, shares), by),), (totals,) * known)

    def expected_error(self, query: Query, at: Scaled) -> float:
        """In records, where they lie evenly among the values near a quantile; `largest_error` holds for any data.

        Why   a cut lies between two records, so that one of the two is meant; that is off by half a record, squared.
        """
        return math.hypot(usual_error(len(at.contribution(Ranks).shares)) * float(at.scale), math.sqrt(1 / 2))

    def largest_error(self, query: Query, at: Scaled, confidence: Fraction) -> float:
        ranks = at.contribution(Ranks)
        return rank_reach(len(ranks.shares), ranks.size, at.scale, confidence)

    def measured_sum(self, measurement: Measurement, numbers: Ints, exact: Measured) -> MeasuredSum:
        """The values; how far their ranks are off is proved for as many records as `MOST_RECORDS`."""
        ranks, many = contribution_of(measurement.query, Ranks), any(int(array.sum()) > MOST_RECORDS for array in exact)
        off = math.inf if many else rank_reach(len(ranks.shares), ranks.size, measurement.scale, CONFIDENCE)
        return MeasuredSum(numbers, ranks.unit, False, lambda _: off)


RANKS = ByRank()


@lru_cache(maxsize=256)
def usual_error(cuts: int) -> float:
    """The root mean squared error of a cut's rank, in multiples of the scale, where records lie evenly.

    Why   every rank then is as wide as any other, so that gaps are off by independent two-sided exponentials that add
          up to nothing, and cut k by the sum of the first k of them: with f_k the density of such a sum, that of being
          off by s is proportional to f_k(s) f_(m+1-k)(s). One cut is off by sqrt(1/2), many by about sqrt((m + 2) / 3).

    >>> [round(usual_error(cuts), 2) for cuts in (1, 4, 9)]
    [0.71, 1.22, 1.78]
    """
    unit = 16
    half = 16 * unit * math.isqrt(4 * (cuts + 1))
    off = np.arange(-half, half)
    one = np.fft.rfft(np.fft.ifftshift(np.exp(-np.abs(off) / unit)) / (2 * unit))
    sums = [np.fft.fftshift(np.fft.irfft(one**k, 2 * half)) for k in range(1, cuts + 1)]
    squares = [float((off**2.0 * a * b).sum() / (a * b).sum()) for a, b in zip(sums, reversed(sums), strict=True)]
    return math.sqrt(sum(squares) / cuts) / unit


TIED = 11
"""In any table of up to 2^30 records no more of them lie at one place, but for a chance of 10^-6."""
MOST_RECORDS = 2**30


def rank_reach(cuts: int, size: int, scale: Fraction, confidence: Fraction) -> float:
    """How far the ranks of all cuts are from those wanted, at most, with a given confidence, whatever the data.

    Pre   there are `MOST_RECORDS` at most.
    Why   where some cut is off by e, U is 2e or more; and there are cuts that are off by as many records as lie at one
          place, at most, which is a U of (m + 1) times that. So all of the former together have the chance
          V e^(-(2e - (m + 1) t) / b), where V is the number of all cuts there are.
    """
    volume = math.comb(size * PLACES + cuts - 1, cuts)
    missed = float(1 - confidence) - 1e-6
    if missed <= 0:
        return math.inf
    return float(scale) / 2 * (math.log(volume) - math.log(missed)) + (cuts + 1) * TIED / 2
