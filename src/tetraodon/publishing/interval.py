"""Confidence intervals for a count behind a view, by inverting its exact law.

If q records satisfy a condition that n_D tuples of the domain satisfy, the view's count is Binomial(q, keep + noise) +
Binomial(n_D - q, noise) for distinct rows, and Binomial(q, keep) + a negative binomial number for repeated ones. Both
grow with q, so the values of q that the view does not contradict are an interval (Clopper and Pearson's).
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


@dataclass(frozen=True, slots=True)
class Law:
    """The law of a view's count: a binomial number of records kept, and the noise."""

    records: int
    shown: float
    tuples: float
    noise: float
    copies: bool

    @classmethod
    def of(cls, channel: ViewChannel, true: int, in_domain: int) -> Law:
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
        return Law.of(channel, q, largest).at_least(in_view) < below

    def too_many(q: int) -> bool:
        """With q records and as little noise as possible, so few tuples would be too rare."""
        return Law.of(channel, q, least).at_most(in_view) < above

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
