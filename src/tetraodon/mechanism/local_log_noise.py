"""Sums of values that are shown with noise on each of them: errors are a share of the sum, however large values may be.

A record at place x of a scale (`query/local_log_noise.py`), whose number is v(x) = v q^x, is shown at x + X, X discrete
Laplace noise. Since E q^X is a known number M_1, v(x + X) / M_1 is v(x) on average. What is shown at an end of the
scale counts as all that would have been shown there or beyond does on average: that is a conditional expectation, so
that every bound below on convex functions of an error holds with ends as it does without (Jensen).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import ClassVar

import numpy as np

from tetraodon.errors import Refused
from tetraodon.exact.arrays import Bools, Floats, Ints
from tetraodon.inference.estimate import CONFIDENCE
from tetraodon.mechanism.strategy import Measured, Mechanism, Scaled, Strategy, contribution_of
from tetraodon.noise.laws import LAPLACE
from tetraodon.noise.weighted_sums import weighted_reach
from tetraodon.policy.attribute_graph import Everything, WithinShare
from tetraodon.policy.policy import Policy
from tetraodon.query.contribution import One
from tetraodon.query.levels import LevelSums
from tetraodon.query.linear import LinearQuery, Measurement
from tetraodon.query.local_log_noise import RATIO, Disguised
from tetraodon.query.number import Number
from tetraodon.query.query import MeasuredSum, Query

STEP = math.log(RATIO)
FAR = 40.0
"""Noise of so many scales is rarer than any float could tell."""


@dataclass(frozen=True)
class LocalLogNoise(Mechanism):
    """What a value may change by is a share of itself, and so is the noise on it."""

    name = "disguise"
    words = "noise on each record's value"
    tells_answers = True
    adds_noise = False
    in_shares = True
    shows: ClassVar[type[Disguised]] = Disguised

    def propose(self, query: Query, policy: Policy) -> Iterator[Strategy]:
        shown = query.shown(policy.domain)
        if type(shown) is not self.shows:
            return
        by, name = query.linear(policy.domain).by, shown.attribute.name
        if policy.presence == "secret" or policy.key:
            raise Refused(
                f"{self.words} shows how many records it is about, which is a secret here",
                fix="write `presence: public`, and `by` in place of `where`; or leave `noise` out",
                where="release",
            )
        if not isinstance(policy.graph.factor_of(name).graph, WithinShare | Everything):
            raise Refused(
                f"{self.words} is for secrets to within a share, and those of {name} are others",
                fix=f"write `{name}: {{within: 10%}}` under `secrets`, or leave `noise` out",
                where="release",
            )
        if policy.rho is not None:
            raise Refused(
                f"{self.words} is Laplace noise, and a budget in rho has Gaussian noise",
                fix="write the budget in epsilon, or leave `noise` out",
                where="release",
            )
        yield Strategy(self, (LinearQuery(shown, by),), (LinearQuery(One(), by),), made_for=LAPLACE)

    def expected_error(self, query: Query, at: Scaled) -> float:
        """In percent of one record's own value. The sum of n that are alike is off by as much, divided by root n."""
        shown = at.contribution(Disguised)
        return 100 * min(NoiseFactor(at.scale).error, float(shown.numbers[-1] / shown.numbers[0]))

    def largest_error(self, query: Query, at: Scaled, confidence: Fraction) -> float:
        return math.inf

    def measured_sum(self, measurement: Measurement, numbers: Ints, exact: Measured) -> MeasuredSum:
        found = TotalOfShown(contribution_of(measurement.query, Disguised), measurement.scale, numbers)
        unit = measurement.query.contribution.unit
        return MeasuredSum(found.total[..., None], unit, False, lambda n: found.reach(n)[..., None])


LOCAL_LOG_NOISE = LocalLogNoise()


@dataclass(frozen=True)
class NoiseFactor:
    """What noise of a scale multiplies a value by, divided by its mean: one on average."""

    scale: Fraction

    def moment(self, power: int) -> float:
        """E q^(power X): infinite where the noise falls more slowly than the power rises."""
        fall = 1 / float(self.scale)
        if power * STEP >= fall:
            return math.inf
        return math.expm1(-fall) ** 2 / (math.expm1(power * STEP - fall) * math.expm1(-power * STEP - fall))

    @cached_property
    def error(self) -> float:
        """The standard deviation."""
        return math.sqrt(self.moment(2) / self.moment(1) ** 2 - 1) if self.moment(2) < math.inf else math.inf

    @cached_property
    def fourth(self) -> float:
        """The fourth central moment, or that of a normal law with this variance if it is larger."""
        if self.moment(4) == math.inf:
            return math.inf
        one, two, three, four = (self.moment(power) / self.moment(1) ** power for power in (1, 2, 3, 4))
        return max(four - 4 * three + 6 * two - 3 * one, 3 * self.error**4)

    def reach(self, squares: Floats, largest: Floats, failure: float) -> Floats:
        """How far the sum of v_i times such factors is from that of the v_i, but for a chance; the squares of the v_i
        add up to `squares` at most, and none of them is above `largest`.

        Why   Chebyshev's inequality for the second and the fourth power. Of independent errors the fourth power is that
              of a normal law, and what `fourth` has more than it times the sum of the v_i^4, on average.
        """
        more = self.fourth - 3 * self.error**4
        fourth = 3 * (self.error**2 * squares) ** 2 + (more * largest**2 * squares if more < math.inf else math.inf)
        return np.minimum(self.error * np.sqrt(squares / failure), np.sqrt(np.sqrt(fourth / failure)))

    def most_squares(self, seen: Floats, largest: Floats, failure: float) -> Floats:
        """What the squares of values add up to at most, but for a chance, given an estimate without bias from what is
        shown of them, and a bound on the largest value.

        Pre   squares have a mean.
        Why   Markov's inequality for e^(-u Z / L^2), Z the estimate, L the largest value: log E e^(-w X) of a squared
              factor X is convex in w and 0 at 0, so that it is at most w log E e^(-u X) / u for any w up to u. So Z is
              below (L^2 log failure - Q log E e^(-u X)) / u, Q being the true sum, for no u but for that chance: which
              of them are looked at does not matter, since the best one for Q and L is no matter of chance.
        """
        tried, logs = _logs_of_squares(self.scale)
        bounds = (tried * seen[..., None] - largest[..., None] ** 2 * math.log(failure)) / -logs
        return np.asarray(bounds.min(axis=-1))


@lru_cache(maxsize=64)
def _logs_of_squares(scale: Fraction) -> tuple[Floats, Floats]:
    """Numbers u, and log E e^(-u X) for the square X of a factor, divided by its mean."""
    far = math.ceil(FAR * float(scale))
    noise = np.arange(-far, far + 1)
    chances = -np.abs(noise) / float(scale)
    squares = np.exp(2 * STEP * noise) / NoiseFactor(scale).moment(2)
    tried = np.geomspace(0.01, 1e4, 200)
    logs = np.array([np.logaddexp.reduce(chances - t * squares) for t in tried]) - np.logaddexp.reduce(chances)
    return tried, logs


@dataclass(frozen=True, eq=False)
class TotalOfShown:
    """The sums of values, for each cell, from how many records were shown at each place."""

    shown: Disguised
    scale: Fraction
    counts: Ints

    @cached_property
    def total(self) -> Floats:
        """Without bias, but for rounding to places."""
        return np.asarray(self.counts.astype(np.float64) @ self._means(self.shown.numbers))

    def reach(self, failures: int) -> Floats:
        """How far off they are, but for a chance of 5% divided by `failures`.

        Why   with a tenth of that chance, whoever has the largest value is shown too far below it; with a fifth, the
              squares of the values add up to more than `most_squares`; and given both the sum is off by `reach` with
              the rest. Values are off by half a step of the scale from their places. Nothing is farther off than all
              records at one end of the scale are.
        """
        chance = float(1 - CONFIDENCE) / failures
        numbers, factor = self.shown.numbers, NoiseFactor(self.scale)
        anything = self.counts.sum(axis=-1) * numbers[-1] + np.abs(self.total)
        if factor.error == math.inf:
            return np.asarray(anything)
        seen = np.maximum(self.counts.astype(np.float64) @ self._means(numbers**2), 0)
        largest = numbers[self._highest(chance / 10)]
        off = factor.reach(factor.most_squares(seen, largest, chance / 5), largest, 7 * chance / 10)
        rounding = math.expm1(STEP / 2)
        return np.asarray(np.minimum(off + rounding * (np.abs(self.total) + off), anything))

    def _highest(self, chance: float) -> Ints:
        """The highest place that a record can have, but for a chance: it is shown at most k places below its own.

        Why   with a the fall from place to place, noise is below -k with chance a^(k + 1) / (1 + a).
        """
        fall = math.exp(-1 / float(self.scale))
        far = max(0, math.ceil(float(self.scale) * -math.log(chance * (1 + fall))))
        top = self.counts.shape[-1] - 1
        shown = top - (self.counts[..., ::-1] > 0).argmax(axis=-1)
        return np.asarray(np.minimum(top, shown + far))

    def _means(self, numbers: Floats) -> Floats:
        """What each place counts, so that every record counts its number on average.

        Why   for discrete Laplace noise that falls by a from place to place, g = f - a / (1 - a)^2 f'' has the mean f,
              f'' being second differences; at the ends, where all beyond is shown, (f - a f_next) / (1 - a) does.
        """
        if len(numbers) == 1:
            return numbers
        fall = math.exp(-1 / float(self.scale))
        bent = np.diff(numbers, 2) * fall / (1 - fall) ** 2
        ends = [(numbers[end] - fall * numbers[beside]) / (1 - fall) for end, beside in ((0, 1), (-1, -2))]
        return np.concatenate([ends[:1], numbers[1:-1] - bent, ends[1:]])


# -- levels ------------------------------------------------------------------------------------------
# Sums of values from what they have in each level: off by a share of the largest value that there is.
#
# Level sums (`query/levels.py`) get noise of one scale b, their levels multiplied so that each is `width` wide. The
# sum of values is what records have at least, and all levels, divided by what they were multiplied by. Noise on high
# levels is large, and hardly anybody reaches them: so levels above the one that the largest value is in are left
# out. Which one that is nobody tells; what was measured says which are likely (`top`), and which are possible
# (`possible`).

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
class Levels(LocalLogNoise):
    """A sum of level sums, up to the level that the largest value seems to be in."""

    name = "levels"
    words = "noise on each level of values"
    shows = LevelSums

    def expected_error(self, query: Query, at: Scaled) -> float:
        """In percent of the largest value in the table, about, if that is just above where its level begins, and if
        the right level is taken: where that is hard to see, errors are up to about twice as large.

        Why   with 1/4 of the variance in each level below, all have 4/3 of that of the highest.
        """
        return 100 * math.sqrt(LAPLACE.variance(at.scale) * 4 / 3) / at.contribution(LevelSums).width

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
