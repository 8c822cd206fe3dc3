"""Confidence intervals for what is behind a view: of a count by inverting its exact law, of a sum by Chernoff's bound.

If q records satisfy a condition that n_D tuples of the domain satisfy, the view's count is Binomial(q, keep + noise) +
Binomial(n_D - q, noise) for distinct rows, and Binomial(q, keep) + a negative binomial number for repeated ones. Both
grow with q, so the values of q that the view does not contradict are an interval (Clopper and Pearson's).

The view's sum W of an attribute v is a sum of independent numbers. For any lambda > 0,

    ln P(W >= w) <= -lambda w + sum over records of g(v) + sum over the domain of n(v) h(v),

with the logarithmic moments h of the noise at one tuple and g of a record beside it. The records are unknown, but for
any slope k: sum of g(v) <= k S + q max(0, max(g(v) - k v)), where S is the sum that is looked for and q a bound on the
number of records. So every lambda and slope gives a bound on S, and the best of many is taken.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import assert_never

import numpy as np
from scipy.special import betainc

from tetraodon.arrays import Floats
from tetraodon.publishing.channel import CopyChannel, SetChannel, ViewChannel

BLOCKS = 256
REACH = 9.0
SLACK = 1e-9
"""Relative error allowed to the incomplete beta function, always to the wider side."""
EXPONENTS = np.geomspace(1 / 12, 12, 61)
SLOPES = np.linspace(0.0, 1.0, 9)
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class ViewCountLaw:
    """The law of a view's count: a binomial number of records kept, and the noise."""

    records: int
    shown: float
    tuples: float
    noise: float
    copies: bool

    @classmethod
    def of(cls, channel: ViewChannel, true: int, in_domain: int) -> ViewCountLaw:
        match channel:
            case SetChannel():
                return cls(true, float(channel.shown), float(max(0, in_domain - true)), float(channel.noise), False)
            case CopyChannel():
                return cls(true, float(channel.keep), float(in_domain), float(channel.noise), True)
            case _:
                assert_never(channel)

    def at_least(self, count: int) -> float:
        """P(count or more), or a little more than that."""
        lows, highs, masses = self._records()
        return float(masses @ self._noise_at_least(count - highs)) + self._outside(lows[0], highs[-1])

    def at_most(self, count: int) -> float:
        """P(count or fewer), or a little more than that."""
        lows, highs, masses = self._records()
        return float(masses @ (1 - self._noise_at_least(count - lows + 1))) + self._outside(lows[0], highs[-1])

    def _noise_at_least(self, numbers: Floats) -> Floats:
        """P(noise >= number): an incomplete beta function for the binomial and the negative binomial law."""
        found = np.ones_like(numbers)
        inside = (numbers > 0) & (self.copies | (numbers <= self.tuples))
        at = numbers[inside]
        found[(numbers > 0) & ~inside] = 0.0
        if self.tuples == 0:
            found[numbers > 0] = 0.0
        else:
            found[inside] = betainc(at, self.tuples if self.copies else self.tuples - at + 1, self.noise)
        return found

    def _records(self) -> tuple[Floats, Floats, Floats]:
        """Blocks of numbers of records kept, as first, last and probability: one by one where they are few."""
        mean, spread = self.records * self.shown, math.sqrt(self.records * self.shown * (1 - self.shown))
        low = max(0, math.floor(mean - REACH * spread - 30))
        high = min(self.records, math.ceil(mean + REACH * spread + 30))
        step = max(1, (high - low + 1) // BLOCKS)
        lows = np.arange(low, high + 1, step, dtype=np.float64)
        highs = np.append(lows[1:] - 1, float(high))
        above = self._kept_at_least(np.append(lows, high + 1.0))
        return lows, highs, above[:-1] - above[1:]

    def _kept_at_least(self, numbers: Floats) -> Floats:
        found = np.ones_like(numbers)
        inside = (numbers > 0) & (numbers <= self.records)
        found[numbers > self.records] = 0.0
        found[inside] = betainc(numbers[inside], self.records - numbers[inside] + 1, self.shown)
        return found

    def _outside(self, low: float, high: float) -> float:
        ends = self._kept_at_least(np.array([low, high + 1]))
        return float((1 - ends[0]) + ends[1])


@lru_cache(maxsize=65536)
def count_interval(
    channel: ViewChannel,
    in_view: int,
    in_domain: tuple[int, int],
    alpha: tuple[Fraction, Fraction],
    most: int | None = None,
) -> tuple[int, int]:
    """The least and the largest number of records that the view does not contradict.

    Pre   the domain's count lies between the two numbers `in_domain`; `most` is a public bound on the records.
    Post  the true number is below the interval with probability at most alpha[0], and above it with at most alpha[1].
    """
    least, largest = in_domain
    top = largest if isinstance(channel, SetChannel) or largest == 0 else None  # copies may share a tuple
    top = top if most is None else most if top is None else min(top, most)
    below, above = (float(a) * (1 - SLACK) for a in alpha)

    def too_few(q: int) -> bool:
        """With q records and as much noise as possible, so many tuples would be too rare."""
        return ViewCountLaw.of(channel, q, largest).at_least(in_view) < below

    def too_many(q: int) -> bool:
        """With q records and as little noise as possible, so few tuples would be too rare."""
        return ViewCountLaw.of(channel, q, least).at_most(in_view) < above

    middle = max(0, round(channel.estimate(in_view, (least + largest) // 2)))
    middle = middle if top is None else min(middle, top)
    reach = 2 + 3 * math.isqrt(math.ceil(channel.variance(middle, largest)))
    low = _first(lambda q: not too_few(q), middle, reach, top)
    high = _first(too_many, middle, reach, None if top is None else top + 1) - 1
    if top is not None:
        low, high = min(low, top), min(high, top)
    return low, max(low, high)


def _first(holds: Callable[[int], bool], start: int, reach: int, top: int | None) -> int:
    """The least whole number from 0 at which something holds that holds from there on; at most `top`."""
    low, high = -1, start
    while (top is None or high < top) and not holds(high):
        low, high, reach = high, high + reach, 2 * reach
    if top is not None and high >= top:
        high = top
    while high - low > 1:
        guess = max(low + 1, high - reach) if low < 0 <= high - reach else (low + high) // 2
        if holds(guess):
            high, reach = guess, 2 * reach
        else:
            low = guess
    return high


def sum_interval(
    channel: ViewChannel, in_view: Floats, in_domain: Floats, values: Floats, records: float, alpha: Fraction
) -> tuple[float, float]:
    """The least and the largest sum of an attribute that the view does not contradict.

    Pre   `in_view` and `in_domain` count the tuples at each of the `values`; at most `records` records satisfy the
          condition.
    Post  the true sum is below the interval with probability at most alpha/2, and above it with at most alpha/2.
    """
    unit = float(np.abs(values).max(initial=0.0))
    if unit == 0.0:
        return 0.0, 0.0
    scaled = values / unit
    budget = math.log(float(alpha) / 2)
    total = float(in_view @ scaled)
    spread = records * float(channel.shown) + float(in_domain @ scaled**2) * float(channel.variance_per_tuple) + 1
    best = math.sqrt(-2 * budget / spread)
    ends = [records * min(0.0, float(values.min())), records * max(0.0, float(values.max()))]
    for side, sign in enumerate((1.0, -1.0)):
        for exponent in sign * best * EXPONENTS:
            noise, record = moments(channel, exponent * scaled)
            if noise is None or record is None:
                continue
            around = float(in_domain @ noise)
            left = budget + exponent * total - around
            left -= ROUNDING * (1 + abs(exponent * total) + abs(around))
            for slope in _slopes(channel, exponent, scaled, record):
                above = max(0.0, float((record - slope * scaled).max()))
                end = (left - records * above) / slope * unit
                ends[side] = max(ends[side], end) if side == 0 else min(ends[side], end)
    return min(ends), max(ends)


def moments(channel: ViewChannel, exponents: Floats) -> tuple[Floats | None, Floats | None]:
    """ln E e^(x N) of the noise N at one tuple, and by how much a record at it raises the whole; None if infinite."""
    grown = np.expm1(np.minimum(exponents, 700.0))
    noise, shown = float(channel.noise), float(channel.shown)
    match channel:
        case SetChannel():
            around = np.log1p(noise * grown)
            return around, np.log1p(shown * grown) - around
        case CopyChannel():
            if (noise * (1 + grown) >= 1).any():
                return None, None
            return -np.log1p(-noise / (1 - noise) * grown), np.log1p(shown * grown)
        case _:
            assert_never(channel)


def _slopes(channel: ViewChannel, exponent: float, values: Floats, record: Floats) -> Floats:
    """Slopes of the sign of the exponent, from what a record adds on average to those that no record exceeds."""
    mean = exponent * float(channel.keep)
    up, down = values > 0, values < 0
    limits = [(record[up] / values[up]).max(initial=-np.inf), (record[down] / values[down]).min(initial=np.inf)]
    found = np.concatenate([mean + SLOPES * (limit - mean) for limit in limits if np.isfinite(limit)])
    return np.asarray(found[found * exponent > 0])
