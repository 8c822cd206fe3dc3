"""The joint exponential mechanism on ranks, sampled exactly ([GJK21]).

A code is as wide as any other, and its records lie in it at places that are drawn at random, each by itself. A cut is
one of the places, and its rank is how many records lie before it. Rising cuts c_1 <= ... <= c_m have the weight
e^(-U/b), where U is the sum over gaps of |records in it - those that should be there|. Positions are codes.

A cut should have the rank of a share of the records, plus a number of records that is `beyond` it. So where records are
few, less than none should be in a gap: all cuts then weigh less, and their weights are as well defined.

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
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate, chain, pairwise
from operator import add, mul
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tetraodon.exact.arrays import Ints
from tetraodon.noise.coins import Coins
from tetraodon.noise.elementary import IntegerBounds, below_exp, exp_bounds, times, uniform_below
from tetraodon.noise.guide_table import Weights
from tetraodon.noise.sparse_sampling import PLACES, ScatteredRecords

# -- ways to ranks ----------------------------------------------------------------------------------
# Sums of the weights of all cuts whose steps are alike, between whole numbers: what `joint_exponential.py` draws from.
#
# A step is some neighbouring ranks together. Sums are made cut by cut, over all steps within reach of the one wanted.


class WeightLine(NamedTuple):
    """Bounds on the weights of neighbouring steps."""

    lows: list[int]
    highs: list[int]

    def times(self, other: WeightLine, bits: int) -> WeightLine:
        """The products with the first weights of another line, as many as that has."""
        lows, highs = (map(mul, *both) for both in zip(self, other, strict=True))
        return WeightLine(_rounded(lows, bits, up=False), _rounded(highs, bits, up=True))


def _rounded(products: Iterable[int], bits: int, *, up: bool) -> list[int]:
    """Products of two numbers that were scaled by 2**bits, scaled so."""
    return [-(-product >> bits) for product in products] if up else [product >> bits for product in products]


class WaysToRanks:
    """Bounds on the sums of weights of all ways to a step at a cut, by its window of steps; scaled by 2**bits.

    A step is so many ranks `together`, and all lengths are in steps. `reached[k]` are all ways to cut k at a step,
    and `entered[k]` those on which cut k - 1 has a lower one, before the places of cut k are counted. Cut 0 stands at
    rank 0, before all records.
    """

    def __init__(
        self,
        records: ScatteredRecords,
        shares: tuple[Fraction, ...],
        scale: Fraction,
        spare: int,
        together: int = 1,
        beyond: tuple[Fraction, ...] = (),
    ) -> None:
        self.total, self.scale = Fraction(records.total, together), scale / together
        off = beyond or (Fraction(0),) * len(shares)
        ranks = [share * self.total + more / together for share, more in zip(shares, off, strict=True)]
        self.wanted = [b - a for a, b in pairwise([Fraction(0), *ranks, self.total])]
        self.volumes = [math.comb(records.size * PLACES + cut - 1, cut) for cut in range(len(shares) + 1)]
        self.reach = int(self.scale * spare * Fraction(7, 20)) + 1  # above ln 2 / 2
        self.bits = spare + self.volumes[-1].bit_length() + len(shares) * (int(self.scale).bit_length() + 8)
        one = IntegerBounds(1 << self.bits, 1 << self.bits)
        self._powers, self._step, self._exps = (
            WeightLine([one.low], [one.high]),
            exp_bounds(1 / self.scale, self.bits),
            {Fraction(0): one},
        )
        self.windows = [(0, 0), *map(self._window, ranks)]
        self.widths = [[1], *(records.widths(*window, together) for window in self.windows[1:])]
        self.entered = [WeightLine([0], [0])]
        self.reached = [WeightLine([one.low], [one.high])]
        cuts = range(len(shares) + 1)
        self.apart = [[self._exp(self.empty(a, b)) for a in range(b + 1)] for b in cuts]
        for cut in cuts[1:]:
            self.entered.append(self._enter(cut))
            self.reached.append(self._reach(cut))

    def steps(self, cut: int, later: Fraction, after: Fraction) -> tuple[int, Weights]:
        """The weights of the steps of a cut, given that of the next one and the U of the gaps after that."""
        low, high = self.windows[cut]
        last = min(high, math.floor(later) if cut == len(self.wanted) - 1 else int(later) - 1)
        gaps = self._around(later - low - self.wanted[cut], last + 1 - low)
        return low, self._weights(self.reached[cut].times(gaps, self.bits), cut, after)

    def starts(self, cut: int, step: int, after: Fraction) -> tuple[int, Weights]:
        """The weights of the cuts that may be the first with the step of a given one; `after` is the U after that.

        Why   cuts of one step are weighed as if no record were between them, at any of its places, in their order.
        """
        return 1, self._weights(self._starts(cut, step), cut, after)

    def empty(self, start: int, end: int) -> Fraction:
        """The U of the gaps from one cut to another where no record lies in any of them."""
        return sum(map(abs, self.wanted[start:end]), Fraction(0))

    def _starts(self, cut: int, step: int) -> WeightLine:
        found = WeightLine([0] * cut, [0] * cut)
        for start in range(1, cut + 1):
            if self.windows[start][0] <= step <= self.windows[start][1]:
                (found.lows[start - 1],), (found.highs[start - 1],) = self._since(start, cut, step, step)
        return found

    def _since(self, start: int, cut: int, low: int, high: int) -> WeightLine:
        """The ways to a cut at steps from `low` to `high` on which the cuts from `start` to it have entered them."""
        first, many, (less, more), bits = self.windows[start][0], cut - start + 1, self.apart[cut][start], self.bits
        part = slice(low - first, high + 1 - first)
        places = [math.comb(width + many - 1, many) for width in self.widths[start][part]]
        lows = _rounded((way * less for way in self.entered[start].lows[part]), bits, up=False)
        highs = _rounded((way * more for way in self.entered[start].highs[part]), bits, up=True)
        return WeightLine(list(map(mul, places, lows)), list(map(mul, places, highs)))

    def _weights(self, found: WeightLine, cut: int, after: Fraction) -> Weights:
        """With what was left out of cuts up to one: U is twice as much as any is off, and `after` of it is spent."""
        whole = all(window == (0, int(self.total)) for window in self.windows[1:])
        left = exp_bounds(max(Fraction(0), 2 * self.reach - after) / self.scale, self.bits).high
        return Weights(*found, 0 if whole else self.volumes[cut] * left)

    def _window(self, wanted: Fraction) -> tuple[int, int]:
        rank = min(max(wanted, Fraction(0)), self.total)  # what is far from it is as far from the rank that is wanted
        return max(0, math.ceil(rank - self.reach)), min(int(self.total), math.floor(rank + self.reach))

    def _reach(self, cut: int) -> WeightLine:
        """All ways to a cut: those that enter its step with it, and those on which cuts before it have that, too."""
        first, last = self.windows[cut]
        found = WeightLine([0] * (last + 1 - first), [0] * (last + 1 - first))
        for start in range(1, cut + 1):
            low, high = max(first, self.windows[start][0]), min(last, self.windows[start][1])
            for line, ways in zip(found, self._since(start, cut, low, max(low - 1, high)), strict=True):
                part = slice(low - first, low - first + len(ways))
                line[part] = map(add, line[part], ways)
        return found

    def _exp(self, off: Fraction) -> IntegerBounds:
        """e^(-off / scale)."""
        if off not in self._exps:
            self._exps[off] = exp_bounds(off / self.scale, self.bits)
        return self._exps[off]

    def _around(self, centre: Fraction, count: int) -> WeightLine:
        """e^(-|centre - i| / scale) for i = 0, 1, ..."""
        whole = math.floor(centre)
        near, beyond = self._exp(centre - whole), self._exp(whole + 1 - centre)
        while len(self._powers.lows) <= max(whole, count - whole):
            last = IntegerBounds(self._powers.lows[-1], self._powers.highs[-1])
            for line, power in zip(self._powers, times(last, self._step, self.bits), strict=True):
                line.append(power)
        up = max(0, min(whole + 1, count))
        ends = []
        for end, powers in enumerate(self._powers):
            falling = (power * near[end] for power in powers[whole + 1 - up : whole + 1][::-1])
            rising = (power * beyond[end] for power in powers[up - whole - 1 : max(up, count) - whole - 1])
            ends.append(_rounded(chain(falling, rising), self.bits, up=bool(end)))
        return WeightLine(*ends)

    def _enter(self, cut: int) -> WeightLine:
        """Sums over the lower ranks of the last cut of its ways, times e^(-|records between - those wanted| / scale).

        Why   from one rank to the next all terms with enough records between fall by one factor, and one more comes in;
              all with too few rise by it, and one leaves. Going down they fall too, so that what rounding adds does.
        """
        wanted, least = self.wanted[cut - 1], int(cut > 1)
        enough = max(math.ceil(wanted), least)
        more = self._exp(enough - wanted)
        less, gone = (self._exp(max(off, Fraction(0))) for off in (wanted - enough + 1, wanted - least + 1))
        ends = []
        for high_end in (False, True):
            sums = _Falling(self.windows[cut - 1], self.windows[cut], enough, self.bits, high_end)
            line, other = self.reached[cut - 1][high_end], self.reached[cut - 1][not high_end]
            found = sums.upwards(line, more[high_end], self._step[high_end])
            if enough > least:
                factors = less[high_end], gone[not high_end], self._step[high_end]
                found = [a + b for a, b in zip(found, sums.downwards(line, other, least, *factors), strict=True)]
            ends.append(found)
        return WeightLine(*ends)


@dataclass(frozen=True)
class _Falling:
    """Sums over one window of ranks for each rank of another; all products rounded down, or up."""

    source: tuple[int, int]
    target: tuple[int, int]
    enough: int
    bits: int
    up: bool

    def upwards(self, line: list[int], factor: int, step: int) -> list[int]:
        """Over ranks that are `enough` or more below, as (factor, step * factor, ...) says."""
        (low, high), (first, last) = self.source, self.target
        begin = low + self.enough
        terms = [
            self.product(line[rank - begin], factor) if rank - begin <= high - low else 0
            for rank in range(begin, last + 1)
        ]
        runs = list(accumulate(terms, lambda run, term: self.product(run, step) + term))
        return [0] * min(begin - first, last - first + 1) + runs[max(0, first - begin) :]

    def downwards(self, line: list[int], other: list[int], least: int, factor: int, gone: int, step: int) -> list[int]:
        """Over ranks that are less than `enough`, and `least` or more, below. `other` are bounds on the other side."""
        (low, high), (first, last) = self.source, self.target
        run, found = 0, [0] * (last - first + 1)
        opposite = _Falling(self.source, self.target, self.enough, self.bits, not self.up)
        for rank in range(high + self.enough - 1, first - 1, -1):
            run = self.product(run, step)
            if low <= rank - self.enough + 1:
                run += self.product(line[rank - self.enough + 1 - low], factor)
            if low <= rank + 1 - least <= high:
                run = max(0, run - opposite.product(other[rank + 1 - least - low], gone))
            if rank <= last:
                found[rank - first] = run
        return found

    def product(self, one: int, other: int) -> int:
        return -(-one * other >> self.bits) if self.up else one * other >> self.bits


# -- rank cuts --------------------------------------------------------------------------------------

SPARE, EACH = 40, 16
"""Bits by which what is left out is smaller than what is not, at first; and more of them for each cut."""


def draw_by_rank(
    occupied: NDArray[Any],
    size: int,
    shares: tuple[Fraction, ...],
    scale: Fraction,
    coins: Coins,
    beyond: tuple[Fraction, ...] = (),
) -> Ints:
    """For each cell the codes that its cuts lie in. `occupied` has rows for each: a code and how many have it, rising.

    Post  the codes of a cell rise; they are distributed as this module says, and those of cells independently.
    """
    records = (ScatteredRecords.of(line[:, 0], line[:, 1], size, coins) for line in occupied.ravel())
    found = np.array([RankCuts(one, shares, scale, beyond).draw() for one in records], np.int64)
    return found.reshape(*occupied.shape, len(shares))


@dataclass
class RankCuts:
    """Cuts at rising shares, whose weights fall by e^(1/scale) with every record that a gap has too many or too few."""

    records: ScatteredRecords
    shares: tuple[Fraction, ...]
    scale: Fraction
    beyond: tuple[Fraction, ...] = ()
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
            after += self.table(0).empty(start, cut)
            cut, later = start - 1, Fraction(step)
        return found[::-1], after + abs(later - wanted[0])

    def table(self, level: int) -> WaysToRanks:
        """All sums of weights, as precise as a level says."""
        if level not in self._tables:
            spare = SPARE + EACH * len(self.shares) << level
            self._tables[level] = WaysToRanks(self.records, self.shares, self.scale, spare, self.together, self.beyond)
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
