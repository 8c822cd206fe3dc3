"""Exact and fast sampling from a law.

A law gives every outcome 0, 1, 2, ... a weight, as bounds to any precision; its probability is the weight over the sum
of all. The outcome stands for an integer: itself, or for the two-sided laws 0, -1, 1, -2, 2, ... A guide
table on the first bits of a uniform number finds most outcomes at once; more bits are drawn only where they are needed.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tetraodon.errors import NoiseError
from tetraodon.exact.arrays import Ints, SmallInts
from tetraodon.noise.coins import Coins, Words
from tetraodon.noise.elementary import IntegerBounds, exp_bounds, times


class Weights(NamedTuple):
    """IntegerBounds on the first weights, and an upper bound on the sum of all others; scaled by 2**bits."""

    lows: list[int]
    highs: list[int]
    rest: int


class WeightLaw(Protocol):
    """A distribution on 0, 1, 2, ... whose first weight is 1."""

    @property
    def two_sided(self) -> bool:
        """Whether outcomes stand for 0, -1, 1, -2, 2, ... rather than for themselves."""
        ...

    def weights(self, bits: int, reach: int) -> Weights:
        """IntegerBounds scaled by 2**bits, far enough that `rest` is at most 2**(bits - reach).

        The bounds always hold; with too few bits beyond `reach` the rest may stay above that.
        """
        ...


@dataclass(frozen=True, slots=True)
class BlockLaw:
    """Which block of 2**shift neighbours a discrete Laplace value falls in: floor(X / 2**shift).

    Post  with p = e**(-1/scale) and q = p**(2**shift), block j >= 0 has weight q**j and block -1-j
          has weight p * q**j; their sum is (1 + p) / (1 - q).
    Why   block j holds j * 2**shift + r, r in [0, 2**shift), of weight q**j * p**r each. Block -1-j
          holds -1 - (j * 2**shift + r), of weight p * q**j * p**r. The sum over r is the same
          for all blocks, so r is independent of the block, and has `DigitLaw`s.
    """

    scale: Fraction
    shift: int = 0
    two_sided = True

    def weights(self, bits: int, reach: int) -> Weights:
        one = 1 << bits
        step = exp_bounds(1 / self.scale, bits)
        ratio = exp_bounds((1 << self.shift) / self.scale, bits)
        # What follows pair j sums to at most 2 * q**(j+1) / (1 - q).
        small = (one - ratio.high << bits - reach - 1) >> bits
        lows: list[int] = []
        highs: list[int] = []
        power = IntegerBounds(one, one)
        while True:
            below = times(power, step, bits)
            lows += (power.low, below.low)
            highs += (power.high, below.high)
            last, power = power, times(power, ratio, bits)
            if power.high <= small or power.high == last.high:  # rounding up may stop the fall
                rest = -(-(2 * power.high << bits) // (one - ratio.high))
                return Weights(lows, highs, rest)


@dataclass(frozen=True, slots=True)
class DigitLaw:
    """One digit, in base 2**width, of the place of a discrete Laplace value in its block.

    Post  digit d in [0, 2**width) has weight e**(-d * 2**place / scale).
    Why   r = sum of d_i * 2**place_i has weight p**r, the product of the digits' own weights: they are
          independent.
    """

    scale: Fraction
    place: int
    width: int
    two_sided = False

    def weights(self, bits: int, reach: int) -> Weights:  # noqa: ARG002 - a finite law reaches its end
        ratio = exp_bounds((1 << self.place) / self.scale, bits)
        lows, highs = [], []
        power = IntegerBounds(1 << bits, 1 << bits)
        for _ in range(1 << self.width):
            lows.append(power.low)
            highs.append(power.high)
            power = times(power, ratio, bits)
        return Weights(lows, highs, 0)


@dataclass(frozen=True, slots=True)
class GaussianLaw:
    """The discrete Gaussian: weight e**(-k**2 / (2 * sigma2)) for every integer k ([CKS20] Def. 1).

    Why   the weight of k + 1 is that of k times r_k = e**(-(2k + 1) / (2 * sigma2)), and r_k falls by
          the same factor e**(-1/sigma2) each time; from k on the weights fall at least as fast as
          the powers of r_k, which bounds the rest.
    """

    sigma2: Fraction
    two_sided = True

    def weights(self, bits: int, reach: int) -> Weights:
        one = 1 << bits
        ratio = exp_bounds(1 / (2 * self.sigma2), bits)
        factor = exp_bounds(1 / self.sigma2, bits)
        lows, highs = [one], [one]
        weight = IntegerBounds(one, one)
        while True:
            last, weight = weight, times(weight, ratio, bits)
            ratio = times(ratio, factor, bits)
            gap = one - ratio.high
            if 2 * weight.high << reach <= gap or weight.high == last.high:
                return Weights(lows, highs, -(-(2 * weight.high << bits) // gap))
            lows += (weight.low, weight.low)
            highs += (weight.high, weight.high)


_GUARD = 48  # bits beyond the width, half of them for rounding; then bounds seldom straddle a floor
_FARTHEST = 1 << 17  # block numbers up to here keep every value within 64 bits


def cdf_bounds(law: WeightLaw, bits: int, reach: int) -> tuple[list[int], list[int]]:
    """IntegerBounds on P(outcome <= i) * 2**bits for i = 0, 1, 2, ...; both lists rise.

    Pre   bits > reach.
    Post  lows[i] <= P(outcome <= i) * 2**bits <= highs[i]; what lies beyond the last i has
          probability at most 2**-reach.
    """
    weights = law.weights(bits, reach)
    sums_low = list(accumulate(weights.lows))
    sums_high = list(accumulate(weights.highs))
    total_low, total_high = sums_low[-1], sums_high[-1] + weights.rest
    one = 1 << bits
    lows = [(part << bits) // total_high for part in sums_low]
    highs = [min(one, -(-(part << bits) // total_low)) for part in sums_high]
    if weights.rest == 0:
        lows[-1] = highs[-1] = one
    return lows, highs


def floors(law: WeightLaw, width: int) -> list[int]:
    """floor(P(outcome <= i) * 2**width) for i = 0, 1, 2, ..., up to the first that is 2**width - 1.

    Post  exact. A distribution function that reaches 1 counts as 2**width - 1 there.
    Why   the bounds are narrowed until both have the same floor. This ends unless a probability is a
          multiple of 2**-width, which no value of these laws between 0 and 1 is known to be.
    """
    last = (1 << width) - 1
    guard = _GUARD
    while True:
        lows, highs = cdf_bounds(law, width + guard, width + guard // 2)
        below = [min(last, low >> guard) for low in lows]
        if below == [min(last, high >> guard) for high in highs] and below[-1] == last:
            return below[: below.index(last) + 1]
        guard *= 2


def settle(law: WeightLaw, prefix: int, width: int, coins: Coins, step: int) -> int:
    """The outcome that a uniform number U picks, when its first `width` bits are `prefix`.

    Post  the outcome i with P(outcome < i) <= U < P(outcome <= i), exactly; further bits of U are
          drawn, `step` at a time, only while the bits so far leave two outcomes possible.
    Raises NoiseError when a value does not fit 64 bits, which has probability below e**-1000.
    """
    while True:
        lows, highs = cdf_bounds(law, width + _GUARD, width + _GUARD // 2)
        outcome = bisect_right(highs, prefix << _GUARD)
        if outcome < len(lows) and (prefix + 1) << _GUARD <= lows[outcome]:
            break
        prefix = prefix << step | int(coins.draw(1, step)[0])
        width += step
    if outcome > _FARTHEST:
        raise NoiseError("a noise value does not fit 64 bits", fix="draw again with a smaller scale")
    return outcome


Integers = Ints

_MARK = -(1 << 15)  # in the guide: the first bits do not decide


@dataclass(frozen=True, slots=True, eq=False)
class GuideTable:
    """A law laid out on [0, 1), and the outcome each first word decides.

    A uniform number U picks the outcome i with P(outcome < i) <= U < P(outcome <= i). Its bits are drawn
    in three stages, each only when the one before leaves two outcomes possible:

    1. `lead` bits: `guide` holds the value when no threshold lies in the word's cell, else a mark.
    2. `rest` more bits, v in all: `floor[i]`, the whole part of the i-th threshold, decides unless
       v is equal to it.
    3. `settle`: further bits against ever narrower integer bounds.

    Post  the values have exactly the law's distribution if the coins are fair; no float is involved.
    Why   stage 1 is the same work for every word. A few per cent of the words go on, so that the time a
          batch takes tells at most how many of its words did, not which.
    """

    law: WeightLaw
    lead: int
    rest: int
    guide: SmallInts
    first: NDArray[np.int32]
    floor: NDArray[np.uint64]

    def draw(self, count: int, coins: Coins) -> Integers:
        """`count` independent values of the law."""
        words = coins.draw(count, self.lead)
        known = self.guide.take(words, mode="wrap")
        marked = np.flatnonzero(known == _MARK)
        values = known.astype(np.int64)
        if marked.size:
            values[marked] = self._second(words[marked], coins)
        return values

    def _second(self, words: Words, coins: Coins) -> Integers:
        more = coins.draw(len(words), self.rest).astype(np.uint64)
        drawn = words.astype(np.uint64) << np.uint64(self.rest) | more
        # Few cells hold two thresholds: a step past the cell's first one is nearly always the answer.
        outcome = self.first[words].astype(np.int64)
        outcome += self.floor[outcome] < drawn
        late = np.flatnonzero(self.floor[outcome] < drawn)
        outcome[late] = np.searchsorted(self.floor, drawn[late], side="left")
        for tie in np.flatnonzero(self.floor[outcome] == drawn):
            width = self.lead + self.rest
            outcome[tie] = settle(self.law, int(drawn[tie]), width, coins, self.rest)
        return _values(self.law, outcome)


def build(law: WeightLaw, *, lead: int = 16, rest: int = 48) -> GuideTable:
    """The table of a law on words of `lead` bits, with `rest` more for the words that need them.

    Pre   lead <= 16, lead + rest <= 64.
    """
    floor = np.array(floors(law, lead + rest), dtype=np.uint64)
    start = np.arange(1 << lead, dtype=np.uint64) << np.uint64(rest)
    end = start + np.uint64((1 << rest) - 1)
    first = np.searchsorted(floor, start, side="left")
    cut = np.searchsorted(floor, end, side="right") > first
    guide = np.where(cut, _MARK, _values(law, first))
    if np.abs(guide[~cut]).max(initial=0) >= -_MARK:
        raise NoiseError("a table is too wide for its guide", fix="use blocks of neighbours")
    return GuideTable(law, lead, rest, guide.astype(np.int16), first.astype(np.int32), floor)


def _values(law: WeightLaw, outcome: NDArray[np.signedinteger]) -> Integers:
    if not law.two_sided:
        return outcome.astype(np.int64)
    return (outcome >> 1) ^ -(outcome & 1)
