"""Quantiles as values that are chosen by their ranks ([GJK21]): no counts are told, and no noise is added to any."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from tetraodon.certificate.kernel import sensitivity_of
from tetraodon.exact.arrays import Floats, Ints
from tetraodon.inference.estimate import CONFIDENCE
from tetraodon.mechanism.strategy import Measured, Mechanism, Scaled, Strategy, contribution_of
from tetraodon.noise.laws import LAPLACE
from tetraodon.noise.sparse_sampling import MOST_VALUES, PLACES
from tetraodon.noise.weighted_sums import weighted_reach
from tetraodon.policy.policy import Policy
from tetraodon.query.contribution import One
from tetraodon.query.linear import LinearQuery, Measurement
from tetraodon.query.query import MeasuredSum, Query, RunningCounts
from tetraodon.query.ranks import MOST_SHARES, RankEnds, Ranks

FEW = 5
"""More shares than this take long to draw with ends, and counts then have the shorter intervals anyway."""
NOISE = Fraction(1, 2)
"""The scale of the noise on counts between ends, over that of drawing."""
SURE = 3
"""An end is so many deviations, of its rank and of the noise on it, farther than noise alone may hide."""


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
        assert isinstance(reading, RunningCounts)
        *by_splits, split = query.table(policy.domain)
        attribute, by, shares = policy.domain[split.name], tuple(by_splits), reading.shares
        most = FEW if reading.bounds else MOST_SHARES
        if not 1 <= len(shares) <= most or attribute.size > MOST_VALUES or policy.known:
            return
        totals = LinearQuery(One(), by)
        known = policy.size_is_public and sensitivity_of(policy.graph, totals).value == 0
        ends = ends_around(shares, known=known) if reading.bounds else None
        drawn = Ranks(attribute.name, attribute.size, shares, ends=ends)
        yield Strategy(self, (LinearQuery(drawn, by),), (totals,) * known)

    def expected_error(self, query: Query, at: Scaled) -> float:
        """In records, where they lie evenly among the values near a quantile; `largest_error` holds for any data.

        Why   a cut lies between two records, so that one of the two is meant; that is off by half a record, squared.
        """
        ranks = at.contribution(Ranks)
        errors = np.array(cut_errors(len(ranks.cuts)))[1::3] if ranks.ends else np.array(cut_errors(len(ranks.cuts)))
        return math.hypot(math.sqrt(float((errors**2).mean())) * float(at.scale), math.sqrt(1 / 2))

    def largest_error(self, query: Query, at: Scaled, confidence: Fraction) -> float:
        ranks = at.contribution(Ranks)
        return rank_reach(len(ranks.cuts), ranks.size, at.scale, confidence)

    def interval_reach(self, query: Query, at: Scaled) -> float:
        """Where records lie evenly: how far the ranks of ends are from those of their quantiles."""
        ends = at.contribution(Ranks).ends
        return float(ends.away * at.scale) if ends else math.inf

    def measured_sum(self, measurement: Measurement, numbers: Ints, exact: Measured) -> MeasuredSum:
        """The values, with the ends of their intervals: as counts make them certain, or others that surely lie beyond.

        The latter is proved for as many records as `MOST_RECORDS`.
        """
        ranks, totals = contribution_of(measurement.query, Ranks), exact[0] if exact else None
        if ranks.ends is not None:
            codes, lower, upper = certain_ends(ranks, measurement.scale, numbers, totals)
            return MeasuredSum(codes, ranks.unit, False, lambda _: math.inf, ends=(lower, upper))
        many = totals is not None and int(totals.sum()) > MOST_RECORDS
        off = math.inf if many else rank_reach(len(ranks.shares), ranks.size, measurement.scale, CONFIDENCE)
        records = np.zeros(numbers.shape[:-1]) if totals is None else totals.reshape(numbers.shape[:-1])
        ends = ends_beyond(ranks, numbers, records[..., None], off)
        return MeasuredSum(numbers, ranks.unit, False, lambda _: off, ends=ends)


RANKS = ByRank()


# -- typical errors and what holds for any data -----------------------------------------------------


@lru_cache(maxsize=256)
def cut_errors(cuts: int) -> tuple[float, ...]:
    """The root mean squared errors of cuts' ranks, in multiples of the scale, where records lie evenly.

    Why   every rank then is as wide as any other, so that gaps are off by independent two-sided exponentials that add
          up to nothing, and cut k by the sum of the first k of them: with f_k the density of such a sum, that of being
          off by s is proportional to f_k(s) f_(m+1-k)(s). One cut is off by sqrt(1/2), many by about sqrt((m + 2) / 3)
          on average.

    >>> [[round(error, 2) for error in cut_errors(cuts)] for cuts in (1, 3)]
    [[0.71], [1.02, 1.18, 1.02]]
    """
    unit = 16
    half = 16 * unit * math.isqrt(4 * (cuts + 1))
    off = np.arange(-half, half)
    one = np.fft.rfft(np.fft.ifftshift(np.exp(-np.abs(off) / unit)) / (2 * unit))
    sums = [np.fft.fftshift(np.fft.irfft(one**k, 2 * half)) for k in range(1, cuts + 1)]
    squares = [float((off**2.0 * a * b).sum() / (a * b).sum()) for a, b in zip(sums, reversed(sums), strict=True)]
    return tuple(math.sqrt(square) / unit for square in squares)


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


def ends_beyond(ranks: Ranks, codes: Ints, records: Floats | Ints, off: float) -> tuple[Ints, Ints]:
    """Ends of intervals around quantiles: other codes that were drawn, where they surely lie beyond.

    Pre   the rank of every code is within `off` of its share of the records, all at once with 95% probability; 0
          records where their number is not released.
    Post  with that probability every interval holds its quantile.
    Why   a code whose rank is below that of a quantile, even if it is off by so much, lies at it or below; one above.

    >>> ranks = Ranks("x", 101, (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)))
    >>> ends_beyond(ranks, np.array([10, 50, 90]), np.array([1000]), 100.0)
    (array([ 0, 10, 50]), array([ 50,  90, 100]))
    """
    shares = np.array([float(share) for share in ranks.shares])
    rank = shares * records
    below = (rank + off)[..., None, :] < rank[..., :, None]
    above = (rank - off)[..., None, :] >= np.maximum(rank, 1.0)[..., :, None]
    lower = np.where(below, codes[..., None, :], 0).max(axis=-1)
    return lower, np.where(above, codes[..., None, :], ranks.size - 1).min(axis=-1)


# -- intervals --------------------------------------------------------------------------------------
# Ends of intervals that noisy counts make certain, whatever the data and whichever codes were drawn.
#
# Codes are drawn first; then the records between borders are counted. Let x be the quantile of a share q, the least
# code that max(1, q n) records do not exceed, and P the number of records below a border. The border is at x or below
# if P is below max(1, q n), and above x otherwise. So what is tested for a border is P - q n, a weighted sum of the
# counts. Its noise is as likely to be large on either side: it exceeds its 95% reach on one side with a chance of 2.5%,
# given any codes that were drawn. As P rises, borders are tested from the outermost inwards, up to the first that is
# uncertain. So the lower end is wrong only if the first border above x passes for one below, and the upper end only if
# the last one that is not above x passes for one that is: the interval fails with a chance of 5% at most.

EXACT_ENOUGH = 1e-6
"""What floats may have added to a sum of counts."""


def ends_around(shares: tuple[Fraction, ...], *, known: bool) -> RankEnds:
    """Ends that are certain but for about one in a hundred, where records lie evenly among the values."""
    errors, unit, away = cut_errors(3 * len(shares)), 1000, 0.0
    for place, share in enumerate(shares):
        for side in (0, 1):
            weights = border_weights(2 * len(shares) + 2, 2 * place + 1 + side, share, known=known)
            reach = weighted_reach(LAPLACE, [(weights, unit * NOISE)], CONFIDENCE) / unit
            deviation = math.hypot(errors[3 * place + 2 * side], math.sqrt(2 * float(weights @ weights)) * float(NOISE))
            away = max(away, reach + SURE * deviation)
    return RankEnds(Fraction(f"{away:.3g}"), NOISE)


def border_weights(borders: int, border: int, share: Fraction, *, known: bool) -> Floats:
    """The weights of counts in the records below a border, less a share of all.

    Why   where the number of records is known, it is the best estimate: least squares shares what is missing to it
          among all counts alike, so that the part of the counts that lie below stands for the share.
    """
    part = (border + 1) / (borders + 1) if known else float(share)
    return np.where(np.arange(borders + 1) <= border, 1 - part, -part)


def certain_ends(ranks: Ranks, scale: Fraction, numbers: Ints, totals: Ints | None) -> tuple[Ints, Ints, Ints]:
    """The codes that were drawn for the shares, and the ends of 95% intervals around the quantiles, by cell."""
    assert ranks.ends is not None, "there are counts"
    cuts, borders = len(ranks.cuts), 2 * len(ranks.shares) + 2
    places = ranks.ends.borders(numbers[..., :cuts], ranks.size)
    codes, lower, upper = (np.empty((*numbers.shape[:-1], len(ranks.shares)), np.int64) for _ in range(3))
    for number, share in enumerate(ranks.shares):
        weights = np.array([border_weights(borders, b, share, known=totals is not None) for b in range(borders)])
        noise = scale * ranks.ends.noise
        reach = np.array([weighted_reach(LAPLACE, [(row, noise)], CONFIDENCE) for row in weights]) + EXACT_ENOUGH
        below = numbers[..., cuts:] @ weights.T
        least = most = np.zeros_like(below[..., :1])
        if totals is not None:
            records = totals.reshape(below[..., :1].shape)
            below = below + records * np.arange(1, borders + 1) / (borders + 1)
            least = np.array([max(1, math.ceil(share * n)) for n in records.ravel().tolist()]).reshape(records.shape)
            most = least - 1
        before = np.cumprod(below + reach < least, axis=-1).sum(axis=-1)
        after = np.cumprod((below - reach > most)[..., ::-1], axis=-1).sum(axis=-1)
        ends = np.concatenate([np.zeros_like(places[..., :1]), places, np.full_like(places[..., :1], ranks.size)], -1)
        first = np.take_along_axis(ends, before[..., None], -1)[..., 0]
        last = np.take_along_axis(ends, borders + 1 - after[..., None], -1)[..., 0] - 1
        lower[..., number], upper[..., number] = np.minimum(first, last), np.maximum(first, last)
        codes[..., number] = np.clip(numbers[..., 3 * number + 1], lower[..., number], upper[..., number])
    return codes, lower, upper
