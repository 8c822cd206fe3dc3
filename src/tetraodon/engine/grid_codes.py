"""From a number to its code in whole numbers only, so that every engine agrees to the last value.

A column's number is first written in *units*: whole multiples of 1/units (hundredths for a DECIMAL with two
digits after the point, ones for an integer). From there on, the code is one multiplication, one addition
and one division of integers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from tetraodon.domain import Grid, Integers
from tetraodon.errors import TableError

BITS_64 = 2**62
BITS_128 = 2**126


@dataclass(frozen=True, slots=True)
class GridCodes:
    """The number `n / units` is inside if `first <= n <= last`; its code is then `(n*times + plus) // by`."""

    first: int
    last: int
    times: int
    plus: int
    by: int

    def __post_init__(self) -> None:
        if self.reach >= BITS_128:
            raise TableError(
                "the range is too wide or too fine to be counted exactly",
                fix="declare a smaller range or a coarser step",
            )

    @property
    def reach(self) -> int:
        """No intermediate result is larger than this."""
        furthest = max(abs(self.first), abs(self.last))
        return max(furthest * self.times + abs(self.plus), self.by, furthest)

    @property
    def narrow(self) -> bool:
        """Whether 64 bits hold every intermediate result."""
        return self.reach < BITS_64

    @property
    def simple(self) -> bool:
        """Whether the code is the number itself, moved."""
        return self.times == self.by == 1

    def code(self, number: int) -> int:
        """The code of a number inside, given in units."""
        return (number * self.times + self.plus) // self.by


def grid_codes(values: Integers | Grid, units: int) -> GridCodes:
    """How to number values that come in multiples of `1 / units`.

    Post  for a grid: x is inside iff low <= x <= high, and its code is floor((x - low)/step + 1/2);
          for integers: x is rounded to floor(x + 1/2) first.

    >>> grid_codes(Grid(Fraction(0), Fraction(1), Fraction(1, 10)), 100).code(35)
    4
    """
    if isinstance(values, Integers):
        half = Fraction(1, 2)
        low, step = Fraction(values.low), Fraction(1)
        first = math.ceil((values.low - half) * units)
        last = math.ceil((values.high + half) * units) - 1
    else:
        low, step = values.low, values.step
        first, last = math.ceil(values.low * units), math.floor(values.high * units)
    slope, start = 1 / (units * step), Fraction(1, 2) - low / step
    by = math.lcm(slope.denominator, start.denominator)
    if isinstance(values, Integers) and units == 1:
        return GridCodes(first, last, 1, -values.low, 1)
    return GridCodes(first, last, int(slope * by), int(start * by), by)


def decimals_of_doubles(values: Integers | Grid) -> int:
    """How many digits after the point a double is rounded to before it is numbered.

    Post  0 for integers; else as many as leave 15 significant digits over the whole range.
    Why   a typed 0.35 means 35 hundredths, not the double just below. 15 digits survive the way through a
          double, and a product rounded to whole numbers below 10^15 is the same on every IEEE machine.
    """
    if isinstance(values, Integers):
        return 0
    furthest = max(abs(values.low), abs(values.high))
    digits = 0
    while digits < 22 and furthest * 10 ** (digits + 1) <= 10**15:
        digits += 1
    if values.step * 10**digits < 4:
        raise TableError(
            "the grid is finer than the 15 digits of a floating-point column",
            fix="declare a coarser step, or store the column as DECIMAL",
        )
    return digits
