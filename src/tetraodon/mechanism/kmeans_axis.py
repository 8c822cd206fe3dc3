"""Public bins of one column, with soft borders: a record near a border belongs in part to both bins.

A hard border moves a whole record when its value moves by one step. Between bins with a ramp of w, a value that
moves by t takes at most t / w of its record with it. That is what makes a distance policy worth something.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tetraodon.arrays import Floats, Ints
from tetraodon.domain import Attribute
from tetraodon.errors import QueryError
from tetraodon.workload.soft import Soft


@dataclass(frozen=True, eq=False)
class Axis:
    """For every code of a column its bin, and how many of `units` parts belong to the next bin instead.

    `soft` are the same bins as they are measured; without it every code belongs to one bin wholly.
    """

    name: str
    bins: int
    units: int
    first: Ints
    part: Ints
    soft: Soft | None = None

    def __post_init__(self) -> None:
        last = int((self.first + (self.part > 0)).max(initial=0))
        if self.first.min(initial=0) < 0 or last >= self.bins:
            raise QueryError(f"a bin of {self.name} does not exist", fix="number the bins from 0")
        if self.part.min(initial=0) < 0 or self.part.max(initial=0) >= self.units:
            raise QueryError(f"a record would be split unevenly on {self.name}", fix="use 0..units-1 parts")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Axis) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @cached_property
    def _key(self) -> tuple[object, ...]:
        return self.name, self.bins, self.units, self.first.tobytes(), self.part.tobytes()

    @property
    def tread(self) -> int:
        """The number of codes between two changes on a ramp: 1 unless the grid is finer than `units` parts."""
        return 1 if self.soft is None else self.soft.tread

    @property
    def size(self) -> int:
        return len(self.first)

    @cached_property
    def table(self) -> Ints:
        """Parts of a record in each bin (row), for each code (column); every column adds up to `units`."""
        table = np.zeros((self.bins, self.size), np.int64)
        codes = np.arange(self.size)
        table[self.first, codes] = self.units - self.part
        table[np.minimum(self.first + 1, self.bins - 1), codes] += self.part
        return table


def ramps(name: str, size: int, bins: int, *, wide: bool, most_units: int) -> Axis:
    """Equal bins whose borders are ramps as long as there is room for.

    Post  with `wide`, the first and last bin shrink to their ramp, so that ramps are 1 / (bins - 1) of the column
          long; otherwise 1 / bins. Ramps do not overlap.
    """
    if bins < 2:
        return Axis(name, 1, 1, np.zeros(size, np.int64), np.zeros(size, np.int64))
    room = size - 1
    length = max(1, room // (bins - 1) if wide else room // bins)
    tread = -(-length // most_units)
    units = max(1, length // tread)
    length = units * tread
    gap = room / (bins - 1 if wide else bins)
    middles = room / 2 + gap * (np.arange(bins - 1) - (bins - 2) / 2)
    starts = np.ceil(middles - length / 2 - 1e-9).astype(np.int64)
    starts = np.maximum(starts, starts[0] + length * np.arange(bins - 1))
    soft = Soft(name, size, units, tuple(starts.tolist()), tread)
    return Axis(name, bins, units, *soft.places(np.arange(size)), soft)


def parts_of_graph(name: str, labels: Ints, bins: int) -> Axis:
    """At most `bins` bins, each of them whole connected parts of the column's graph: no secret crosses a border.

    With more bins than parts, every part is cut into equal pieces, and no bin holds values of two parts.
    """
    _, label = np.unique(labels, return_inverse=True)
    sizes = np.bincount(label)
    parts = len(sizes)
    middle = np.bincount(label, np.arange(len(label))) / sizes
    rank = np.argsort(np.argsort(middle, kind="stable"), kind="stable")
    first = (rank * min(bins, parts) // parts)[label]
    if bins > parts:
        order = np.argsort(label, kind="stable")
        place = np.empty_like(order)  # of every value among those of its part
        place[order] = np.arange(len(label)) - (np.cumsum(sizes) - sizes)[label[order]]
        pieces = np.minimum(bins // parts, sizes)[label]
        first = np.unique(first * bins + place * pieces // sizes[label], return_inverse=True)[1]
    return Axis(name, int(first.max()) + 1, 1, first.astype(np.int64), np.zeros(len(label), np.int64))


def middles(axis: Axis, attribute: Attribute) -> Floats:
    """The mean value of the codes that belong to each bin of an axis without ramps."""
    low, step = float(attribute.number(0)), float(attribute.step)
    members = np.bincount(axis.first, minlength=axis.bins)
    return np.asarray(low + step * np.bincount(axis.first, np.arange(axis.size), axis.bins) / np.maximum(members, 1))
