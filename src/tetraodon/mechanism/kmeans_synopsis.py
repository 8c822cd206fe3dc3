"""A small table that stands for the data: every record spread over the cells of a public grid."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tetraodon.errors import Refused
from tetraodon.mechanism.kmeans_axis import Axis
from tetraodon.workload.contribution import Ints

UNIT_LIMIT = 2**40
"""Parts that a record may be divided into, so that sums of parts and their noise are exact in 64 bits."""
_WORD = 2**20


@dataclass(frozen=True)
class Synopsis:
    """The product of soft bins: a record's share of a cell is the product of its shares on the axes."""

    axes: tuple[Axis, ...]

    def __post_init__(self) -> None:
        if self.units > UNIT_LIMIT:
            raise Refused("records are divided into too many parts for exact arithmetic", fix="use shorter ramps")

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(axis.name for axis in self.axes)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(axis.bins for axis in self.axes)

    @property
    def cells(self) -> int:
        return math.prod(self.shape)

    @cached_property
    def units(self) -> int:
        """How many parts make a whole record."""
        return math.prod(axis.units for axis in self.axes)

    def spread(self, codes: Ints) -> Ints:
        """The table of the data, exact, in parts of a record.

        Pre   one row of `codes` for each record, one column for each axis.
        Post  the cells add up to `units` times the number of records.
        """
        if len(codes) * self.units >= 2**62:
            raise Refused("the table would be too long for exact arithmetic", fix="use a coarser grid")
        place = np.zeros(len(codes), np.int64)
        soft: list[tuple[int, Ints, int]] = []
        stride = self.cells
        for column, axis in enumerate(self.axes):
            stride //= axis.bins
            place += stride * axis.first[codes[:, column]]
            if axis.units > 1:
                soft.append((stride, axis.part[codes[:, column]], axis.units))
        total = np.zeros(self.cells, np.int64)
        self._corners(total, place, np.ones(1, np.int64), soft)
        return total.reshape(self.shape)

    def _corners(self, total: Ints, place: Ints, share: Ints, soft: list[tuple[int, Ints, int]]) -> None:
        """Add up every corner: on each soft axis a record stays in its bin, or goes to the next, in parts."""
        if soft:
            (stride, part, units), rest = soft[0], soft[1:]
            self._corners(total, place, share * (units - part), rest)
            self._corners(total, np.minimum(place + stride, self.cells - 1), share * part, rest)
        else:
            total += _exact_bincount(place, np.broadcast_to(share, place.shape), len(total))


def _exact_bincount(place: Ints, amount: Ints, size: int) -> Ints:
    """Sums by place, exact. Why: NumPy adds doubles, so amounts go in two words of 20 bits, each exact up to 2**33
    records."""
    low = np.bincount(place, amount % _WORD, size)
    if int(amount.max(initial=0)) < _WORD:
        return low.astype(np.int64)
    return low.astype(np.int64) + _WORD * np.bincount(place, amount // _WORD, size).astype(np.int64)
