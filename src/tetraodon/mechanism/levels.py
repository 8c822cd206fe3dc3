"""Sums of values from what they have in each level: off by a share of the largest value that there is.

Level sums (`query/levels.py`) get noise of one scale b, their levels multiplied so that each is `width` wide.
The sum of values is what records have at least, and all levels, divided by what they were multiplied by. Noise on high
levels is large, and hardly anybody reaches them: so levels above the one that the largest value is in are left out.
Which one that is nobody tells; what was measured says which are likely (`top`), and which are possible (`possible`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from tetraodon.exact.arrays import Bools, Floats, Ints
from tetraodon.inference.estimate import CONFIDENCE
from tetraodon.mechanism.local_log_noise import Disguise
from tetraodon.mechanism.strategy import Measured, Scaled
from tetraodon.noise.laws import LAPLACE, weighted_reach
from tetraodon.query.levels import LevelSums
from tetraodon.query.linear import Measurement
from tetraodon.query.number import Number
from tetraodon.query.query import MeasuredSum, Query

# ruff: noqa: ARG002 - every mechanism is asked in the same way, whatever it needs to know


DEARER = 3.0
"""By how much more likely each level must be than the one below it, as a logarithm.

Why   noise doubles from level to level, and its square grows by 4: if levels were taken by mistake with chances that
      fall by less than that from one to the next, the mean squared error would grow with every level there may be.
      Of 0, 1, 2, 3 and 4, tried on made-up wages (log-normal, 10 to 100,000 of them, epsilon 1/10 to 5), 3 erred least
      or nearly so throughout; other tables may have a better one, and no interval rests on it.
"""
NO_LOWER, NO_HIGHER, TOO_FAR = Fraction(1, 8), Fraction(1, 4), Fraction(5, 8)
"""How the chance of failing is shared: the largest value is in a higher level; in a lower one; noise is too far off."""


@dataclass(frozen=True)
class Levels(Disguise):
    """A sum of level sums, up to the level that the largest value seems to be in."""

    name = "levels"
    words = "noise on each level of values"
    shows = LevelSums

    def expected_error(self, query: Query, at: Scaled) -> float:
        """In percent of the largest value in the table, about, if that is just above where its level begins, and if
        the right level is taken: where that is hard to see, errors are up to about twice as large.

        Why   with 1/4 of the variance in each level below, all have 4/3 of that of the highest.
        """
        return 100 * math.sqrt(LAPLACE.variance(at.scale) * 4 / 3) / at.told(LevelSums).width

    def measured_sum(self, measurement: Measurement, numbers: Ints, exact: Measured) -> MeasuredSum:
        levels = measurement.query.contribution
        assert isinstance(levels, LevelSums)
        found = TotalOfLevels(levels, measurement.scale, numbers, exact[-1][..., 0])
        ends = found.centre[..., None], levels.unit, False, lambda n: found.reach(n)[..., None]
        return MeasuredSum(*ends, found.total[..., None])


LEVELS = Levels()


@dataclass(frozen=True, eq=False)
class TotalOfLevels:
    """The sums of values, for each cell, from noisy level sums and the number of records."""

    sums: LevelSums
    scale: Fraction
    measured: Ints
    records: Ints

    @cached_property
    def _ends(self) -> tuple[float, float]:
        """The least and the largest value that there may be."""
        attribute = self.sums.attribute
        return float(attribute.number(0)), float(attribute.number(attribute.size - 1))

    @cached_property
    def _running(self) -> Floats:
        """The sum without bias of all that is below the end of each level."""
        unit = float(Number(self.sums.attribute).unit)
        each = self.measured.astype(np.float64) / self.sums.times * unit
        return np.asarray(self.records[..., None] * self._ends[0] + np.cumsum(each, axis=-1))

    @cached_property
    def _seen(self) -> Floats:
        """Level sums in multiples of the scale of their noise."""
        return self.measured.astype(np.float64) / float(self.scale)

    @property
    def _whole(self) -> float:
        """What one record above a level adds to it, in the same multiples."""
        return self.sums.width / float(self.scale)

    @cached_property
    def top(self) -> Ints:
        """The likeliest level for the largest value, higher ones at a price.

        Why   if it is there, each level below has all that one record can have in it or more, and each above nothing.
              What noise would have to be for that has a chance that falls as e^(-|noise| / b).
        """
        seen = self._seen
        missing = np.maximum(self._whole - seen, 0)
        below = np.cumsum(missing, axis=-1) - missing
        above = np.abs(seen)[..., ::-1].cumsum(axis=-1)[..., ::-1] - np.abs(seen)
        return np.asarray((below + np.maximum(-seen, 0) + above + DEARER * np.arange(seen.shape[-1])).argmin(axis=-1))

    @cached_property
    def total(self) -> Floats:
        found = np.take_along_axis(self._running, self.top[..., None], axis=-1)[..., 0]
        return np.asarray(np.clip(found, self.records * self._ends[0], self.records * self._ends[1]))

    def possible(self, chance: Fraction) -> Bools:
        """The levels that the largest value may be in; the one that it is in is not among them with a chance at most.

        Why   each level is looked at as if it were the one. Above it there would be noise alone: all of p levels are
              below t scales but for a chance of p P(noise >= t b). Below it each level would have `width` or more. So
              going down from it, the ratio of the chance of what is seen without any record to that with one is a
              martingale, or falls on average: it ever exceeds 1/c with a chance of at most c (Ville's inequality).
        """
        seen, whole, rows = self._seen, self._whole, self.sums.rows
        higher, lower = (float(chance * part) for part in (NO_LOWER, NO_HIGHER))
        fits = np.ones(seen.shape, np.bool_)
        falls = 1 / (1 + math.exp(-1 / float(self.scale)))
        for level in range(rows - 1):
            most = math.log((rows - 1 - level) * falls / higher)
            fits[..., level] &= (seen[..., level + 1 :] < most).all(axis=-1)
        against = np.zeros(seen.shape[:-1])
        for level in range(1, rows):
            below = seen[..., level - 1]
            against = np.maximum(against, 0) + np.abs(below - whole) - np.abs(below)
            fits[..., level] &= against <= math.log(1 / lower)
        return fits

    def interval(self, failures: int) -> tuple[Floats, Floats]:
        """Ends that hold the truth but for a chance of 5% divided by `failures`: those of every possible level.

        Why   which level the largest value is in is no matter of chance, so that the interval of that one level is to
              hold the truth, and no more.
        """
        chance = (1 - CONFIDENCE) / failures
        times, unit, fits = self.sums.times, float(Number(self.sums.attribute).unit), self.possible(chance)
        off = np.array([unit * self._reach(1 / times[: level + 1], chance) for level in range(self.sums.rows)])
        lower = np.where(fits, self._running - off, np.inf).min(axis=-1)
        upper = np.where(fits, self._running + off, -np.inf).max(axis=-1)
        least, most = (self.records * end for end in self._ends)
        return np.clip(np.minimum(lower, self.total), least, most), np.clip(np.maximum(upper, self.total), least, most)

    def _reach(self, weights: Floats, chance: Fraction) -> float:
        return weighted_reach(LAPLACE, [(weights, self.scale)], 1 - chance * TOO_FAR)

    @cached_property
    def centre(self) -> Floats:
        """The middle of the interval."""
        return np.asarray(sum(self.interval(1)) / 2)

    def reach(self, failures: int) -> Floats:
        """How far the centre is off, but for that chance."""
        lower, upper = self.interval(failures)
        return np.asarray(np.maximum(upper - self.centre, self.centre - lower))
