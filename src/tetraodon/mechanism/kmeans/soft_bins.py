"""Public bins of one column, with soft borders: a record near a border belongs in part to both bins.

A hard border moves a whole record when its value moves by one step. Between bins with a ramp of w, a value that
moves by t takes at most t / w of its record with it. That is what makes a distance policy worth something.
A synopsis is the product of such columns: a small table that stands for the data.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tetraodon.arrays import Floats, Ints
from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.errors import QueryError, Refused
from tetraodon.workload.contribution import Contribution, One
from tetraodon.workload.linear import LinearQuery, Split
from tetraodon.workload.soft import UNIT_LIMIT, Product, Soft


@dataclass(frozen=True, eq=False)
class SoftAxis:
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
        return isinstance(other, SoftAxis) and self._key == other._key

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


def ramps(name: str, size: int, bins: int, *, wide: bool, most_units: int) -> SoftAxis:
    """Equal bins whose borders are ramps as long as there is room for.

    Post  with `wide`, the first and last bin shrink to their ramp, so that ramps are 1 / (bins - 1) of the column
          long; otherwise 1 / bins. Ramps do not overlap.
    """
    if bins < 2:
        return SoftAxis(name, 1, 1, np.zeros(size, np.int64), np.zeros(size, np.int64))
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
    return SoftAxis(name, bins, units, *soft.places(np.arange(size)), soft)


def parts_of_graph(name: str, labels: Ints, bins: int) -> SoftAxis:
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
    return SoftAxis(name, int(first.max()) + 1, 1, first.astype(np.int64), np.zeros(len(label), np.int64))


def middles(axis: SoftAxis, attribute: Attribute) -> Floats:
    """The mean value of the codes that belong to each bin of an axis without ramps."""
    low, step = float(attribute.number(0)), float(attribute.step)
    members = np.bincount(axis.first, minlength=axis.bins)
    return np.asarray(low + step * np.bincount(axis.first, np.arange(axis.size), axis.bins) / np.maximum(members, 1))


@dataclass(frozen=True)
class Synopsis:
    """The product of soft bins: a record's share of a cell is the product of its shares on the axes."""

    axes: tuple[SoftAxis, ...]

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

    @cached_property
    def query(self) -> LinearQuery:
        """The table as a linear query: split by bins that have sharp borders, soft along the other axes."""
        soft = tuple(axis.soft for axis in self.axes if axis.bins > 1 and axis.soft is not None)
        return LinearQuery(_of(soft), tuple(Split(a.name, tuple(a.first.tolist())) for a in self._sharp))

    @property
    def _sharp(self) -> list[SoftAxis]:
        return [axis for axis in self.axes if axis.bins > 1 and axis.soft is None]

    def table(self, answers: Ints) -> Ints:
        """Answers to `query` as a table with one axis for each column."""
        measured = [*self._sharp, *(axis for axis in self.axes if axis.bins > 1 and axis.soft is not None)]
        shaped = answers.reshape([axis.bins for axis in measured])
        order = [measured.index(axis) for axis in self.axes if axis.bins > 1]
        return shaped.transpose(order).reshape(self.shape)

    def spread(self, codes: Ints, counts: Ints | None = None) -> Ints:
        """The table of the data, exact, in parts of a record.

        Pre   one row of `codes` for each record, or for each cell with `counts` records; one column for each axis.
        Post  the cells add up to `units` times the number of records.
        """
        weight = np.ones(len(codes), np.int64) if counts is None else counts
        columns = [codes[:, self.names.index(name)] for name in self.query.names]
        domain = Domain(tuple(Attribute(axis.name, Integers(0, axis.size - 1)) for axis in self.axes))
        seen = np.stack(columns, axis=1) if columns else np.zeros((len(codes), 0), np.int64)
        return self.table(self.query.evaluate(domain, seen, weight))


def _of(parts: tuple[Soft, ...]) -> Contribution:
    if len(parts) > 1:
        return Product(parts)
    return parts[0] if parts else One()
