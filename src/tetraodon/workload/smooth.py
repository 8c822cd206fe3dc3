"""Smoothed counts of an ordered attribute: overlapping bins, and their running sums.

A record at code i = k w + r, with 0 <= r < w, counts w - r in bin k and r in bin k + 1, in units of 1/w: bins are
linear B-splines of width w, and they add up to one for every record. Moving a record by d positions moves the
bins by at most 2 d / w, however the bins' borders lie, and their running sums by exactly d / w. That is why
smoothed counts are cheap where only near values are secrets ([HMD14] section 7.2 measures bins with sharp borders).

The running sum of the first K + 1 bins is the average of the w running counts from K w to (K + 1) w - 1.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tetraodon.arrays import Ints
from tetraodon.errors import QueryError
from tetraodon.workload.number import writable


@dataclass(frozen=True)
class _Smoothed(ABC):
    """What bins and their running sums share."""

    name: str
    size: int
    width: int

    def __post_init__(self) -> None:
        if self.size < 2:
            raise QueryError("smoothed counts need at least two values", fix="ask for a count")
        if self.width < 1:
            raise QueryError("the width of smoothed counts is not positive", fix="use a width of at least 1")

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name,)

    @property
    def steps(self) -> int:
        """From the first bin to the last one."""
        return -(-(self.size - 1) // self.width)

    @property
    def unit(self) -> Fraction:
        return Fraction(1, self.width)

    @abstractmethod
    def add_up(self, table: Ints) -> Ints:
        """The answers, in units, of counts along the last axis."""

    def columns(self) -> Ints:
        writable(self.size**2)
        return np.ascontiguousarray(self.add_up(np.eye(self.size, dtype=np.int64)).T)


def bins_apart(x: tuple[Ints, Ints], y: tuple[Ints, Ints], whole: int) -> Ints:
    """How far apart the bins of two records are, each given by its bin and how many parts of `whole` are in the next.

    Pre   x comes before y.
    Why   in one stretch every part passed leaves a bin for the next; in neighbouring stretches the first bin loses what
          it had and the third gains, and the larger of the two counts twice; else all moves.
    """
    (first, start), (second, end) = x, y
    near = 2 * np.maximum(whole - start, end)
    return np.asarray(np.select([first == second, first + 1 == second], [2 * (end - start), near], 2 * whole))


@dataclass(frozen=True)
class Hats(_Smoothed):
    """Overlapping bins of an ordered attribute, one around every `width`-th value.

    >>> Hats("age", 5, 2).columns().tolist()
    [[2, 1, 0, 0, 0], [0, 1, 2, 1, 0], [0, 0, 0, 1, 2]]
    """

    @property
    def rows(self) -> int:
        return self.steps + 1

    def alone(self, x: Ints) -> Ints:
        return np.full(np.shape(x), self.width, np.int64)

    def apart(self, x: Ints, y: Ints) -> Ints:
        low, high = (np.divmod(pick(x, y), self.width) for pick in (np.minimum, np.maximum))
        return bins_apart(low, high, self.width)

    def potential(self, x: Ints) -> Ints | None:  # noqa: ARG002
        return None

    def most(self, reach: int) -> int:
        """The largest `apart` of two codes at most `reach` apart; a step from code 0 attains it.

        Why   each of the positions passed moves 1 from one bin to the next, and 2 w is all there is to move. From a
              code in the middle of its bin nothing is moved back.
        """
        return 2 * min(reach, self.width)

    def add_up(self, table: Ints) -> Ints:
        r = np.arange(self.size) % self.width
        starts = np.flatnonzero(r == 0)
        left = np.add.reduceat(table * (self.width - r), starts, axis=-1)
        right = np.add.reduceat(table * r, starts, axis=-1)
        bins = np.zeros((*table.shape[:-1], self.rows), table.dtype)
        bins[..., : len(starts)] += left
        spill = min(len(starts), self.rows - 1)
        bins[..., 1 : spill + 1] += right[..., :spill]
        return bins


@dataclass(frozen=True)
class Ramps(_Smoothed):
    """Running sums of `Hats`, without the last one, which is the total. Width 1 gives the running counts themselves.

    >>> Ramps("age", 5, 2).columns().tolist()
    [[2, 1, 0, 0, 0], [2, 2, 2, 1, 0]]
    """

    @property
    def rows(self) -> int:
        return self.steps

    def alone(self, x: Ints) -> Ints:
        return np.asarray(self.rows * self.width - np.asarray(x, np.int64))

    def apart(self, x: Ints, y: Ints) -> Ints:
        return np.asarray(np.abs(x - y))

    def potential(self, x: Ints) -> Ints | None:
        return np.asarray(x)

    def add_up(self, table: Ints) -> Ints:
        bins = Hats(self.name, self.size, self.width).add_up(table)
        return np.asarray(np.cumsum(bins, axis=-1)[..., :-1])
