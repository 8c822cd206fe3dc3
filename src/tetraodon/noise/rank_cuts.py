"""Values chosen by their ranks, several at once, exactly: the exponential mechanism on gaps ([GJK21]).

A code is as wide as any other, and its records lie in it at places that are drawn at random, each by itself. A cut is
one of the places, and its rank is how many records lie before it. Rising cuts c_1 <= ... <= c_m have the weight
e^(-U/b), where U is the sum over gaps of |records in it - those that should be there|. Where they lie is told by code.

Places that lie between the same two records have the same rank, so that weights are added up over ranks, cut by cut:
all ways to a rank at a cut are one sum. What is far from its rank has next to no weight, and is left out, with a bound
on all of it; whatever is computed is an integer from below and one from above. Coins are compared with these, and where
they do not decide, more coins are drawn, more ranks are looked at, and with more digits.

Where the scale is large, neighbouring ranks weigh nearly the same. Some of them together are then one step: cuts are
drawn by steps, as if each had the first rank of its step, and places by chance in them. They are kept with the chance
that their own weight has beside that of their steps, and else drawn again. So the work does not grow with the scale.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tetraodon.arrays import Ints
from tetraodon.noise.coins import Coins
from tetraodon.noise.elementary import below_exp, uniform_below
from tetraodon.noise.guide_table import Weights
from tetraodon.noise.scattered_records import PLACES, ScatteredRecords
from tetraodon.noise.ways_to_ranks import WaysToRanks

SPARE, EACH = 40, 16
"""Bits by which what is left out is smaller than what is not, at first; and more of them for each cut."""


def draw_by_rank(
    occupied: NDArray[Any], size: int, shares: tuple[Fraction, ...], scale: Fraction, coins: Coins
) -> Ints:
    """For each cell the codes that its cuts lie in. `occupied` has rows for each: a code and how many have it, rising.

    Post  the codes of a cell rise; they are distributed as this module says, and those of cells independently.
    """
    records = (ScatteredRecords.of(line[:, 0], line[:, 1], size, coins) for line in occupied.ravel())
    found = np.array([RankCuts(one, shares, scale).draw() for one in records], np.int64)
    return found.reshape(*occupied.shape, len(shares))


@dataclass
class RankCuts:
    """Cuts at rising shares, whose weights fall by e^(1/scale) with every record that a gap has too many or too few."""

    records: ScatteredRecords
    shares: tuple[Fraction, ...]
    scale: Fraction
    _tables: dict[int, WaysToRanks] = field(default_factory=dict)

    @property
    def together(self) -> int:
        """How many ranks are one step: so many that of draws by steps more than one in ten is kept."""
        return max(1, int(self.scale / (len(self.shares) + 1)))

    def draw(self) -> list[int]:
        """The codes of the cuts.

        Why   a gap has at most `together` - 1 records more or fewer than there are between the first ranks of its
              steps. So cuts never weigh more than their steps do times e^((m + 1) (together - 1) / b).
        """
        together, wanted = self.together, self.table(0).wanted
        while True:
            places, by_steps = self._drawn_by_steps()
            gaps = pairwise([0, *self.records.ranks(places), self.records.total])
            off = sum((abs(b - a - each * together) for (a, b), each in zip(gaps, wanted, strict=True)), Fraction(0))
            lighter = (off - by_steps * together + len(wanted) * (together - 1)) / self.scale
            if below_exp(lighter, self._word(), 64, self.records.coins):
                return [place // PLACES for place in places]

    def _drawn_by_steps(self) -> tuple[list[int], Fraction]:
        """Places, the last drawn first: its step, how many cuts have it, then those before. And the U of the steps."""
        wanted, found, after = self.table(0).wanted, list[int](), Fraction(0)
        cut, later = len(self.shares), self.table(0).total
        while cut:
            step = self._choose(lambda table: table.steps(cut, later, after))  # noqa: B023 - it is asked at once
            after += abs(later - step - wanted[cut])
            start = self._choose(lambda table: table.starts(cut, step, after))  # noqa: B023
            found += reversed(self._places(step, cut - start + 1))
            after += sum(wanted[start:cut], Fraction(0))
            cut, later = start - 1, Fraction(step)
        return found[::-1], after + abs(later - wanted[0])

    def table(self, level: int) -> WaysToRanks:
        """All sums of weights, as precise as a level says."""
        if level not in self._tables:
            spare = SPARE + EACH * len(self.shares) << level
            self._tables[level] = WaysToRanks(self.records, self.shares, self.scale, spare, self.together)
        return self._tables[level]

    def _choose(self, weigh: Callable[[WaysToRanks], tuple[int, Weights]]) -> int:
        """One of several outcomes, numbered from the number that comes with their weights."""
        level, width, word = 0, 64, self._word()
        while True:
            first, weights = weigh(self.table(level))
            low, high = (list(accumulate(part, initial=0)) for part in (weights.lows, weights.highs))
            place = min(bisect_right(high, word * low[-1] >> width), len(weights.lows)) - 1
            if (word + 1) * (high[-1] + weights.rest) <= low[place + 1] << width:
                return first + place
            level, width, word = level + 1, width + 64, word << 64 | self._word()

    def _word(self) -> int:
        return int(self.records.coins.draw(1, 64)[0])

    def _places(self, step: int, count: int) -> list[int]:
        """So many rising places of a step, any such as likely as any other: a set of more places, moved together."""
        (width,), chosen = self.records.widths(step, step, self.together), set[int]()
        for last in range(width - 1, width + count - 1):
            place = int(uniform_below(last + 1, 1, self.records.coins)[0])
            chosen.add(last if place in chosen else place)
        first = self.records.first(step * self.together)
        return [first + place - number for number, place in enumerate(sorted(chosen))]


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
