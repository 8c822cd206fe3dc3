"""Every cell of a table, and beside it whole multiples of the margins that it belongs to.

What such numbers say about a table of n_1 x ... x n_k cells is a sum of products of I and J (all ones). These have
common eigenspaces, one for each set S of attributes: what the margin by S says beyond those by fewer. So each of these
*parts* can be told as well as is wanted, and no better, by noise on one set of numbers ([XHZK23] tells each by itself).

Sets are masks: bit i is set if the attribute names[i] is in it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tetraodon.domain import Domain
from tetraodon.errors import QueryError
from tetraodon.exact.arrays import Ints
from tetraodon.query.contribution import AddedUp, whole, writable

FINEST, MOST_WAYS = 2**40, 8
"""The finest parts that multiples of margins are written in, and the most attributes that their tables have."""


@dataclass(frozen=True)
class WeighedMargins(AddedUp):
    """Row c is, in units, the sum over sets S of times[S] * (records with the values of c on S).

    >>> both = WeighedMargins(("a",), (2,), (-1, 3), Fraction(1, 2))     # three times the cell, less all records
    >>> both.columns().tolist(), both.strengths
    ([[2, -1], [-1, 2]], (1, 3))
    """

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    times: tuple[int, ...]
    unit: Fraction = Fraction(1)

    too_long: ClassVar = ("margins are weighed too heavily for exact arithmetic", "use smaller multiples")

    def __post_init__(self) -> None:
        if len(self.sizes) != len(self.names) or len(self.times) != 2 ** len(self.names) or not self.names:
            raise QueryError("margins are not weighed once each", fix="give a multiple for every set of attributes")
        if min(self.strengths) <= 0:
            raise QueryError("weighed margins do not tell their table", fix="give multiples that leave every part told")

    @cached_property
    def rows(self) -> int:
        return math.prod(self.sizes)

    @cached_property
    def strengths(self) -> tuple[int, ...]:
        """By how much each part of the table is multiplied, in units: the eigenvalues.

        Why   I on S and J elsewhere multiplies what is about T by the sizes outside S if T lies in S, else by 0.
        """
        sets = range(len(self.times))
        return tuple(sum(self.times[s] * outside(self.sizes, s) for s in sets if t & ~s == 0) for t in sets)

    @cached_property
    def _entry(self) -> tuple[int, ...]:
        """What a record adds to a cell that agrees with it on a set, and nowhere else."""
        sets = range(len(self.times))
        return tuple(sum(self.times[s] for s in sets if s & ~t == 0) for t in sets)

    @property
    def longest(self) -> int:
        """The most that one record adds to a row, or more where an attribute has one value only."""
        return max(abs(entry) for entry in self._entry)

    @property
    def heaviest(self) -> int:
        return self.longest * len(self.times)

    def moved(self, changed: int, power: int = 1) -> int:
        """The sum of |row(x) - row(y)|^power for records that differ on a set of attributes: for all of them alike.

        Why   a cell agrees with both on what they share, or with neither; elsewhere with x, with y, or with neither.
        """
        ways = [
            ((1, 0, 1), (0, 1, 1), (0, 0, size - 2)) if changed >> place & 1 else ((1, 1, 1), (0, 0, size - 1))
            for place, size in enumerate(self.sizes)
        ]
        total = 0
        for way in product(*ways):
            x, y = (sum(one[side] << place for place, one in enumerate(way)) for side in (0, 1))
            total += math.prod(one[2] for one in way) * abs(self._entry[x] - self._entry[y]) ** power
        return total

    def added(self, power: int = 1) -> int:
        """The sum of |row(x)|^power for any record."""
        sets, sizes = range(len(self.times)), [size - 1 for size in self.sizes]
        return sum(abs(self._entry[s]) ** power * outside(sizes, s) for s in sets)

    def alone(self, x: Ints, power: int = 1) -> Ints:
        return np.full(np.shape(x), self.added(power), object)

    @property
    def signed(self) -> bool:
        return min(self.times) < 0

    def apart(self, x: Ints, y: Ints, power: int = 1) -> Ints:
        """`moved`, for cells of the table."""
        ends = [np.unravel_index(np.asarray(cells), self.sizes) for cells in (x, y)]
        differ = [(a != b).astype(np.int64) << place for place, (a, b) in enumerate(zip(*ends, strict=True))]
        moved = np.array([self.moved(changed, power) for changed in range(len(self.times))], object)
        return np.asarray(moved[np.sum(np.broadcast_arrays(*differ), axis=0)])

    def columns(self) -> Ints:
        writable(self.rows**2)
        return self.add_up(np.eye(self.rows, dtype=np.int64)).T

    def add_up(self, tables: Ints) -> Ints:
        """Their values, in units, for every row of counts."""
        return weigh(tables, self.sizes, self.times).astype(np.int64)

    def document(self) -> dict[str, Any]:
        told = {"parts": self.unit.denominator, "times": list(self.times)}
        return {"kind": "weighed margins", "attributes": list(self.names), **told}

    @classmethod
    def read(cls, document: Mapping[str, Any], domain: Domain) -> WeighedMargins:
        attributes, parts = [domain[name] for name in document["attributes"]], whole(document["parts"], 1, FINEST)
        names, sizes = tuple(a.name for a in attributes), tuple(a.size for a in attributes)
        if not 1 <= len(set(names)) == len(names) <= MOST_WAYS:
            raise ValueError("margins that no plan would have")
        times = tuple(whole(many, -FINEST, FINEST) for many in document["times"])
        return cls(names, sizes, times, Fraction(1, parts))


def outside(sizes: Sequence[int], kept: int) -> int:
    """The product of sizes outside a set."""
    return math.prod(size for place, size in enumerate(sizes) if not kept >> place & 1)


def weigh(tables: NDArray[Any], sizes: Sequence[int], times: Sequence[float]) -> NDArray[Any]:
    """The sum over sets of a multiple of the margin by it, at every cell, for every row of cells."""
    shaped = tables.reshape(-1, *sizes)
    total = np.zeros_like(shaped)
    for kept, many in enumerate(times):
        if many:
            away = tuple(place + 1 for place in range(len(sizes)) if not kept >> place & 1)
            total = total + many * shaped.sum(axis=away, keepdims=True)
    return np.asarray(total.reshape(tables.shape))


def multiples(strengths: Sequence[float], sizes: Sequence[int]) -> list[float]:
    """The multiples of margins that multiply each part of a table as given: the inverse of `strengths`."""
    sets = range(len(strengths))

    def only(kept: int) -> float:
        return sum((-1.0 if (s & ~kept).bit_count() % 2 else 1.0) * strengths[s] for s in sets if kept & ~s == 0)

    return [only(kept) / outside(sizes, kept) for kept in sets]
