"""Confidence intervals for what is behind a view: of a count by inverting its exact law, of a sum by Chernoff's bound.

If q records satisfy a condition that n_D tuples of the domain satisfy, the view's count is Binomial(q, keep + noise) +
Binomial(n_D - q, noise) for distinct rows, and Binomial(q, keep) + a negative binomial number for repeated ones. Both
grow with q, so the values of q that the view does not contradict are an interval (Clopper and Pearson's).

The view's sum W of an attribute v is a sum of independent numbers. For any lambda > 0,

    ln P(W >= w) <= -lambda w + sum over records of g(v) + sum over the domain of n(v) h(v),

with the logarithmic moments h of the noise at one tuple and g of a record on top of it. The records are unknown, but
for any slope k: sum of g(v) <= k S + q max(0, max(g(v) - k v)), where S is the unknown sum and q a bound on the number
of records. So every lambda and slope gives a bound on S, and the best of many is taken.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import assert_never

import numpy as np
from scipy.special import betainc

from tetraodon.exact.arrays import Floats
from tetraodon.views.channel import CopyChannel, SetChannel, SourceChannel, ViewChannel

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
            case SourceChannel():
                raise AssertionError("noise by weight has no such law")
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
    if isinstance(channel, SourceChannel):
        low, high = _by_weight(channel, in_view, in_domain, alpha)
        return (low, high) if most is None else (min(low, most), min(high, most))
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


def _by_weight(
    channel: SourceChannel, in_view: int, weights: tuple[int, int], alpha: tuple[Fraction, Fraction]
) -> tuple[int, int]:
    """The least and the largest number of records that a view with noise from a source does not contradict.

    Why  Chernoff. With g = e^x - 1 the noise has ln E e^(x N) <= mass * g, and a record at t multiplies that by
         1 + keep g / (1 + b(t) g) <= 1 + keep g, whatever its tuple and the sign of g. So each x bounds the count.
    """
    low, high = 0.0, math.inf
    for sign, weight, chance in ((1, weights[1], alpha[0]), (-1, weights[0], alpha[1])):
        budget, mass = math.log(float(chance)), float(weight * channel.noise)
        spread = mass + max(0.0, float(channel.estimate(in_view, weight))) + 1
        for x in sign * math.sqrt(-2 * budget / spread) * EXPONENTS:
            grown = math.expm1(x)
            slack = ROUNDING * (1 + abs(x) * in_view + mass)
            end = (budget + x * in_view - mass * grown - slack) / math.log1p(float(channel.keep) * grown)
            low, high = (max(low, end), high) if x > 0 else (low, min(high, end))
    least = math.ceil(low)
    return least, max(least, math.floor(high))


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
    channel: ViewChannel, in_view: Floats, in_domain: Floats, values: Floats, records: Floats | float, alpha: Fraction
) -> tuple[Floats, Floats]:
    """The least and the largest sum of an attribute that the view does not contradict; of many groups at once, too.

    Pre   `in_view` and `in_domain` count the tuples at each of the `values`, along the last axis; at most `records`
          records satisfy the condition. Impossible values are 0.
    Post  the true sum is below the interval with probability at most alpha/2, and above it with at most alpha/2.
    Why   groups often differ in what is seen alone, and most of the work is for all that are alike otherwise.
    """
    shape, many = values.shape[:-1], np.broadcast_to(records, values.shape[:-1])
    rows = np.concatenate([values, in_domain, many[..., None]], axis=-1).reshape(-1, 2 * values.shape[-1] + 1)
    kinds, which = np.unique(rows, axis=0, return_inverse=True)
    which = which.reshape(shape)
    values, in_domain, most = kinds[:, : values.shape[-1]], kinds[:, values.shape[-1] : -1], kinds[:, -1]
    unit = np.abs(values).max(axis=-1, initial=0.0)
    scaled = values / np.where(unit > 0, unit, 1.0)[:, None]
    budget = math.log(float(alpha) / 2)
    total = (in_view * scaled[which]).sum(axis=-1)
    spread = most * float(channel.shown) + (in_domain * scaled**2).sum(-1) * float(channel.variance_per_tuple) + 1
    best = np.sqrt(-2 * budget / spread)
    low, high = ((most * end)[which] for end in (values.min(axis=-1, initial=0.0), values.max(axis=-1, initial=0.0)))
    for exponent in (sign * best * size for sign in (1.0, -1.0) for size in EXPONENTS):
        noise, record = moments(channel, exponent[:, None] * scaled)
        finite = np.asarray(np.isfinite(noise).all(axis=-1))
        around = (in_domain * np.where(finite[:, None], noise, 0.0)).sum(axis=-1)
        seen, expected = exponent[which] * total, around[which]
        left = budget + seen - expected - ROUNDING * (1 + np.abs(seen) + np.abs(expected))
        for slope in _slopes(channel, exponent, scaled, record):
            fits = finite & (slope * exponent > 0) & np.isfinite(slope)
            slope = np.where(fits, slope, 1.0)
            above = (record - slope[:, None] * scaled).max(axis=-1, initial=0.0)
            end = (left - (most * above)[which]) * (unit / slope)[which]
            low = np.where((fits & (exponent > 0))[which], np.maximum(low, end), low)
            high = np.where((fits & (exponent < 0))[which], np.minimum(high, end), high)
    return np.minimum(low, high), np.maximum(low, high)


def moments(channel: ViewChannel, exponents: Floats) -> tuple[Floats, Floats]:
    """ln E e^(x N) of the noise N at one tuple, which may be infinite, and by how much a record at it raises it."""
    grown = np.expm1(np.minimum(exponents, 700.0))
    noise, shown = float(channel.noise), float(channel.shown)
    match channel:
        case SetChannel():
            around = np.log1p(noise * grown)
            return around, np.log1p(shown * grown) - around
        case CopyChannel():
            finite = noise * (1 + grown) < 1
            around = -np.log1p(-noise / (1 - noise) * np.where(finite, grown, 0.0))
            return np.where(finite, around, np.inf), np.log1p(shown * grown)
        case SourceChannel():
            return noise * grown, np.log1p(shown * grown)
        case _:
            assert_never(channel)


def _slopes(channel: ViewChannel, exponent: Floats, values: Floats, record: Floats) -> Iterator[Floats]:
    """From what a record adds on average to what no record exceeds; those are meant that have the exponent's sign."""
    mean = exponent * float(channel.keep)
    each = record / np.where(values == 0, 1.0, values)
    limits = np.where(values > 0, each, -np.inf).max(axis=-1), np.where(values < 0, each, np.inf).min(axis=-1)
    yield mean
    yield from (mean + part * (limit - mean) for limit in limits for part in SLOPES[1:])
