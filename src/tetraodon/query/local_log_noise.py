"""Values that are shown with noise on each of them: places on a scale of logarithms, one for every record.

This is no linear query. Every record's value is moved by noise of its own to another place of a public scale, and what
is told is how many records are shown at each place. So nobody need bound how large a value is: what a value may change
by is a share of itself, and so is the noise ([KM12] section 7.1.2: "multiplicative noise").
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tetraodon.domain import Attribute
from tetraodon.errors import QueryError
from tetraodon.exact.arrays import Floats, Ints
from tetraodon.query.number import NotLinear, Number

if TYPE_CHECKING:
    from tetraodon.query.linear import LinearQuery


RATIO = Fraction(1001, 1000)
"""From one place to the next. A value is shown, before noise, by the place that is off by half of that at most."""
BITS = 64
AT_ONCE = 2**22
"""So many records are moved at once."""


@dataclass(frozen=True)
class Disguised(NotLinear):
    """How many records are shown at each place of a numeric attribute above zero.

    >>> from tetraodon.domain import Integers
    >>> wages = Disguised(Attribute("wage", Integers(1000, 2000)))
    >>> wages.rows, wages.places(np.array([0, 1, 500, 1000])).tolist(), wages.farthest(Fraction(1, 10))
    (694, [0, 1, 406, 693], (96, (33, 136)))
    """

    attribute: Attribute
    unit: Fraction = Fraction(1)

    kind: ClassVar[str] = "shown"
    refusal: ClassVar = (
        QueryError,
        "values that are shown with noise are no sums over records",
        "certify what stands in for them",
    )

    def __post_init__(self) -> None:
        if not self.attribute.numeric or self.attribute.number(0) <= 0:
            raise QueryError(
                f"{self.attribute.name} is not a number above zero, so that it has no share to be off by",
                fix="declare an integer or real attribute that begins above zero, and what missing values count as",
            )

    @property
    def names(self) -> tuple[str, ...]:
        return (self.attribute.name,)

    @cached_property
    def _line(self) -> tuple[int, int, int]:
        """The first value, the distance to the next and the last value, in the units of `Number`."""
        first, last = (int(Number(self.attribute).values(np.asarray(code))) for code in (0, self.attribute.size - 1))
        return first, (last - first) // max(1, self.attribute.size - 1) or 1, last

    @property
    def _begins(self) -> Ints:
        """The least number of every place but the first, in units."""
        return _scale(self._line[0], self._line[2])[1]

    @property
    def rows(self) -> int:
        return len(self._begins) + 1

    @property
    def length(self) -> int:
        """How far the ends of the scale are apart."""
        return self.rows - 1

    @cached_property
    def numbers(self) -> Floats:
        """The number that each place stands for."""
        middles, _ = _scale(self._line[0], self._line[2])
        return middles * float(Number(self.attribute).unit)

    def places(self, codes: Ints) -> Ints:
        """The place of each code."""
        return self._at(Number(self.attribute).values(codes))

    def _at(self, numbers: Ints) -> Ints:
        return np.searchsorted(self._begins, numbers, side="right")

    def between(self, x: int, y: int) -> int:
        """How many places apart two codes are."""
        first, second = self.places(np.array([x, y])).tolist()
        return int(abs(first - second))

    def farthest(self, share: Fraction) -> tuple[int, tuple[int, int]]:
        """The most places between two values of which the larger is at most `share` more, and the codes of such two."""
        return _farthest(self, share)

    def shown(self, occupied: NDArray[Any], noise: Callable[[int], Ints]) -> Ints:
        """How many records are shown at each place, for each cell, every one of them moved by noise of its own.

        Pre   `occupied` has for each cell rows of a code and how many have it. Whoever would be moved beyond an end of
              the scale is shown there.
        """
        found = []
        for line in occupied.ravel():
            told = np.zeros(self.rows, np.int64)
            own = np.repeat(self.places(line[:, 0]), line[:, 1])
            for start in range(0, len(own), AT_ONCE):
                part = own[start : start + AT_ONCE]
                moved = np.clip(part + noise(len(part)), 0, self.rows - 1)
                told += np.bincount(moved, minlength=self.rows)
            found.append(told)
        return np.array(found, np.int64).reshape(*occupied.shape, self.rows)

    def told(self, counts: Ints) -> bool:
        """Whether these could be numbers of records."""
        return bool((counts >= 0).all())


@lru_cache(maxsize=32)
def _scale(first: int, last: int) -> tuple[Floats, Ints]:
    """The middle of every place, and the least whole number of every place but the first, up to the last number.

    Why   middles are kept as whole numbers of 2^-BITS, rounded up, so that every machine has the same scale, and what a
          step moves is counted on it. A place begins above the geometric mean of two middles.
    """
    marks = [first << BITS]
    while marks[-1] <= last << BITS:
        marks.append(-(-marks[-1] * RATIO.numerator // RATIO.denominator))
    begins = [(math.isqrt(a * b) >> BITS) + 1 for a, b in pairwise(marks)]
    within = [number for number in begins if number <= last]
    return np.array([mark / 2**BITS for mark in marks[: len(within) + 1]]), np.array(within, np.int64)


@lru_cache(maxsize=64)
def _farthest(shown: Disguised, share: Fraction) -> tuple[int, tuple[int, int]]:
    """Why  of the values of a place the largest moves the farthest up, and moving down is moving up from elsewhere."""
    first, stride, last = shown._line
    codes = (np.append(shown._begins - 1, last) - first) // stride
    times, over = share.numerator + share.denominator, share.denominator
    most = [min(last, (first + stride * code) * times // over) for code in codes.tolist()]
    reached = (np.array(most, np.int64) - first) // stride
    apart = shown.places(reached) - shown.places(codes)
    worst = int(apart.argmax())
    return int(apart[worst]), (int(codes[worst]), int(reached[worst]))


def disguised_of(query: LinearQuery) -> Disguised | None:
    """What is shown with noise on each record, if anything is; about all records, for a part has none of its own."""
    return query.contribution if isinstance(query.contribution, Disguised) else None
