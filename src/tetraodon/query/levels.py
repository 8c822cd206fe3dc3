"""Sums of values, level by level: how far records reach into each of the levels that double in width.

A level begins at twice the number at which the one below it does. A value adds to a level what it has between its ends,
all of the level if it is above it, nothing if it is below. A step to within a share moves a value inside one level or
two, and by as much as the level is high: so noise that is a share of each level hides it, for the price of one level.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tetraodon.errors import QueryError
from tetraodon.exact.arrays import LARGEST, Floats, Ints, add_up, with_noise
from tetraodon.query.local_log_noise import Disguised
from tetraodon.query.number import Number

# ruff: noqa: ARG002 - every contribution is asked in the same way

LONGEST_SEARCH = 2**20


@dataclass(frozen=True)
class LevelSums(Disguised):
    """What records have in each level, lower levels multiplied so that all are as wide as the last: `width`.

    So noise of one scale, on all of them, is a share of each level.

    >>> from tetraodon.domain import Attribute, Integers
    >>> wages = LevelSums(Attribute("wage", Integers(1000, 7000)))
    >>> wages.rows, wages.width, wages.times.tolist(), wages.farthest(Fraction(1, 10))
    (3, 4000, [4.0, 2.0, 1.0], (726, (2630, 2993)))
    >>> wages.added(np.array([0, 500, 5000])).tolist()              # of 1,000, 1,500 and 6,000
    [[0, 2000, 4000], [0, 0, 4000], [0, 0, 2000]]
    """

    kind: ClassVar[str] = "level sums"

    @property
    def rows(self) -> int:
        return len(self._ends)

    @cached_property
    def _ends(self) -> tuple[int, ...]:
        """Where each level begins, in units."""
        first, _, last = self._line
        return tuple(first << level for level in range(max(1, (-(-last // first) - 1).bit_length())))

    @property
    def width(self) -> int:
        """Of the last level, in units; every level is as wide where it is multiplied."""
        return self._ends[-1]

    @property
    def times(self) -> Floats:
        """By what each level is multiplied."""
        return np.array([float(1 << up) for up in reversed(range(self.rows))])

    @property
    def length(self) -> int:
        return self._height(self.attribute.size - 1)

    def added(self, codes: Ints) -> Ints:
        """What one record of each code adds to each level: a row for each level."""
        return np.stack([self._added(level, Number(self.attribute).values(codes)) for level in range(self.rows)])

    def _added(self, level: int, numbers: Ints) -> Ints:
        begin = self._ends[level]
        inside = np.clip(numbers, begin, min(2 * begin, self._line[2])) - begin
        return np.asarray(inside << (self.rows - 1 - level))

    def _height(self, code: int) -> int:
        """What a record of a code adds to all levels together."""
        number = self._line[0] + self._line[1] * code
        level = min((number // self._line[0]).bit_length(), self.rows) - 1
        return level * self.width + (number - self._ends[level] << self.rows - 1 - level)

    def between(self, x: int, y: int) -> int:
        """By how much two codes differ in all levels together."""
        return abs(self._height(x) - self._height(y))

    def farthest(self, share: Fraction) -> tuple[int, tuple[int, int]]:
        """The most that a step to within a share changes all levels together, and the codes of such a step."""
        return _farthest(self, share)

    def shown(self, occupied: NDArray[Any], noise: Callable[[int], Ints]) -> Ints:
        """The level sums of each cell, with noise on each of them.

        Pre   `occupied` has for each cell rows of a code and how many have it.
        """
        found = np.zeros((occupied.size, self.rows), np.int64)
        for cell, line in enumerate(occupied.ravel()):
            numbers, nowhere = Number(self.attribute).values(line[:, 0]), np.zeros(len(line), np.int64)
            for level in range(self.rows):
                amount = self._added(level, numbers)
                (found[cell, level],) = add_up(1, nowhere, amount, line[:, 1], longest=self.width)
        return with_noise(found, noise(found.size).reshape(found.shape)).reshape(*occupied.shape, self.rows)

    def could_tell(self, numbers: Ints, scale: Fraction) -> bool:
        return bool((np.abs(numbers) <= LARGEST).all())

    def reached(self, code: int, share: Fraction) -> int:
        """The code of the largest value that is at most a share above that of a code."""
        first, stride, last = self._line
        most = min(last, (first + stride * code) * (share.numerator + share.denominator) // share.denominator)
        return (most - first) // stride

    def turns(self, share: Fraction) -> Iterator[int]:
        """Codes at which a step as long as can be begins to start, or to end, in another level, or to end at the last
        value: between two of them it changes by the same amount in every period.
        """
        first, stride, last = self._line
        for mark in (*self._ends[1:], last):
            code = -(-(mark - first) // stride)
            yield code
            least = -(-(first + stride * code) * share.denominator // (share.numerator + share.denominator))
            yield max(0, -(-(least - first) // stride))


@lru_cache(maxsize=64)
def _farthest(sums: LevelSums, share: Fraction) -> tuple[int, tuple[int, int]]:
    """Why  between two turns heights are linear, and where a step ends is `floor` of a linear function: as many codes
    farther on as the share's denominator, both have changed by amounts that are always the same. So the largest change
    is in the first or in the last period.
    """
    period, size = share.denominator, sums.attribute.size
    marks = sorted({0, size, *(min(max(turn, 0), size) for turn in sums.turns(share))})
    if 2 * period * len(marks) > LONGEST_SEARCH and size > LONGEST_SEARCH:
        raise QueryError("a share with so many digits is not looked through", fix="write it with fewer digits")
    best = (0, (0, 0))
    for begin, end in pairwise(marks):
        near = {*range(begin, min(end, begin + period)), *range(max(begin, end - period), end)}
        for code in sorted(near):
            far = sums.reached(code, share)
            best = max(best, (sums._height(far) - sums._height(code), (code, far)), key=lambda found: found[0])
    return best
