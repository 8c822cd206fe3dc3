"""Bins with soft borders, and tables of products of them: a record near a border belongs in part to both bins.

A hard border moves a whole record when its value moves by one step. On a ramp of length w, a value that moves by t
takes at most t / w of its record with it. A record's share of a cell of a table is the product of those on the axes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from tetraodon.domain import Domain
from tetraodon.errors import QueryError, Refused
from tetraodon.exact.arrays import Ints, add_up, fits
from tetraodon.query.contribution import UNIT_LIMIT, AddedUp, AlongOne, Traits, whole, writable
from tetraodon.query.smooth import bins_apart

# ruff: noqa: ARG002 - every contribution is asked in the same way

_WORD = 2**20


@dataclass(frozen=True)
class Soft(AlongOne):
    """Bins of one attribute with a ramp between neighbours: ramp k begins at code `starts[k]`.

    On a ramp a record goes from one bin to the next in `units` parts, one every `tread` codes. Ramps do not overlap.

    >>> Soft("x", 5, 2, (0, 2)).columns().tolist()
    [[2, 1, 0, 0, 0], [0, 1, 2, 1, 0], [0, 0, 0, 1, 2]]
    """

    name: str
    size: int
    units: int
    starts: tuple[int, ...]
    tread: int = 1

    def __post_init__(self) -> None:
        if self.size < 1 or self.units < 1 or self.tread < 1:
            raise QueryError("soft bins have no size, units or tread", fix="use whole numbers above zero")
        length = self.units * self.tread
        if any(after - before < length for before, after in zip(self.starts, self.starts[1:], strict=False)):
            raise QueryError(f"ramps of {self.name} overlap", fix="begin each ramp where the one before has ended")

    def traits(self, power: int = 1) -> Traits:
        return Traits.BY_LENGTH | Traits.SMOOTHED | Traits.FIRST if power == 1 else Traits.NONE

    @property
    def rows(self) -> int:
        return len(self.starts) + 1

    @property
    def unit(self) -> Fraction:
        return Fraction(1, self.units)

    @cached_property
    def risen(self) -> Ints:
        """For every code how many parts it is above the first bin; `units` of them lead from a bin to the next."""
        codes = np.arange(self.size)
        total = np.zeros(self.size, np.int64)
        for start in self.starts:
            total += np.clip((codes - start + self.tread // 2) // self.tread, 0, self.units)
        return total

    def places(self, x: Ints) -> tuple[Ints, Ints]:
        """The bin of each code, and how many parts of the record belong to the next bin instead."""
        first, part = np.divmod(self.risen[x], self.units)
        return first, part

    def alone(self, x: Ints, power: int = 1) -> Ints:
        return np.full(np.shape(x), self.units, np.int64) if power == 1 else self.inner(x, x)

    def apart(self, x: Ints, y: Ints, power: int = 1) -> Ints:
        if power > 1:
            return self.inner(x, x) + self.inner(y, y) - 2 * self.inner(x, y)
        return bins_apart(self.places(np.minimum(x, y)), self.places(np.maximum(x, y)), self.units)

    def inner(self, x: Ints, y: Ints) -> Ints:
        """What the bins of one record have in common with those of another: the sum of products of their parts."""
        (first, moved), (other, its) = self.places(x), self.places(y)
        stay, its_stay = self.units - moved, self.units - its
        common = np.where(first == other, stay * its_stay + moved * its, 0)
        return np.asarray(
            common + np.where(first + 1 == other, moved * its_stay, 0) + np.where(other + 1 == first, stay * its, 0)
        )

    def most_moved(self, gap: Ints, power: int = 1) -> Ints:
        """Why  changes on ramps are `tread` codes apart or more, and none moves more than one part from bin to bin."""
        return np.asarray(2 * np.minimum(self.units, -(-np.asarray(gap) // self.tread)))

    def totals(self, codes: Sequence[Ints], sizes: Sequence[int], counts: Ints, place: Ints, groups: int) -> Ints:
        first, part = self.places(codes[0])
        row = place * self.rows
        cells = np.concatenate([row + first, row + np.minimum(first + 1, self.rows - 1)])
        shares = np.concatenate([self.units - part, part])
        return add_up(groups * self.rows, cells, shares, np.tile(counts, 2), longest=self.units)

    def columns(self) -> Ints:
        table = np.zeros((self.rows, self.size), np.int64)
        codes = np.arange(self.size)
        first, part = self.places(codes)
        table[first, codes] = self.units - part
        table[np.minimum(first + 1, self.rows - 1), codes] += part
        return table

    def _fields(self) -> dict[str, Any]:
        return {"attribute": self.name, "parts": self.units, "tread": self.tread, "ramps": list(self.starts)}

    def document(self) -> dict[str, Any]:
        return {"kind": "soft bins", **self._fields()}

    @classmethod
    def read(cls, document: Mapping[str, Any], domain: Domain) -> Soft:
        attribute = domain[document["attribute"]]
        starts = tuple(whole(start, -attribute.size, attribute.size) for start in document["ramps"])
        units, tread = whole(document["parts"], 1, UNIT_LIMIT), whole(document["tread"], 1, attribute.size)
        return cls(attribute.name, attribute.size, units, starts, tread)


def hats(name: str, size: int, width: int) -> Soft:
    """Soft bins around every `width`-th code, whose ramps meet."""
    return Soft(name, size, width, tuple(range(0, size - 1, width)))


@dataclass(frozen=True)
class Product(AddedUp):
    """A table of soft bins of several attributes: shares are products of the shares on the axes."""

    parts: tuple[Soft, ...]

    def __post_init__(self) -> None:
        if len(self.parts) < 2 or len(set(self.names)) < len(self.parts):
            raise QueryError("a product is not of several attributes", fix="use two soft attributes or more")
        if self.units > UNIT_LIMIT:
            raise Refused("records are divided into too many parts for exact arithmetic", fix="use shorter ramps")

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(part.name for part in self.parts)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(part.rows for part in self.parts)

    @property
    def rows(self) -> int:
        return math.prod(self.shape)

    @property
    def units(self) -> int:
        """How many parts make a whole record."""
        return math.prod(part.units for part in self.parts)

    @property
    def unit(self) -> Fraction:
        return Fraction(1, self.units)

    def alone(self, x: Ints, power: int = 1) -> Ints:
        return np.full(np.shape(x), self.units, np.int64) if power == 1 else self.inner(x, x)

    def apart(self, x: Ints, y: Ints, power: int = 1) -> Ints:
        """Why  two tables of one record each differ by all they hold, less twice what they have in common, and that
        lies in the cells of the first: two bins on every axis.
        """
        if power > 1:
            return self.inner(x, x) + self.inner(y, y) - 2 * self.inner(x, y)
        shares: list[tuple[Any, Any]] = [(1, 1)]
        for part, here, there in zip(self.parts, self._codes(x), self._codes(y), strict=True):
            first, moved = part.places(here)
            other, its = part.places(there)
            stay = np.where(other == first, part.units - its, np.where(other + 1 == first, its, 0))
            after = np.where(other == first + 1, part.units - its, np.where(other == first, its, 0))
            shares = [
                (share * mine, match * theirs)
                for share, match in shares
                for mine, theirs in ((part.units - moved, stay), (moved, after))
            ]
        common = sum(np.minimum(share, match) for share, match in shares)
        return np.asarray(2 * (self.units - common))

    def inner(self, x: Ints, y: Ints) -> Ints:
        """What two tables of one record each have in common: the product over the axes; in Python integers."""
        found = np.ones(np.broadcast(x, y).shape, object)
        for part, here, there in zip(self.parts, self._codes(x), self._codes(y), strict=True):
            found = found * part.inner(here, there)
        return found

    def totals(self, codes: Sequence[Ints], sizes: Sequence[int], counts: Ints, place: Ints, groups: int) -> Ints:
        return self.spread(np.stack(codes, axis=1), counts, place, groups)

    def columns(self) -> Ints:
        writable(self.rows * math.prod(part.size for part in self.parts))
        table = np.ones((1, 1), np.int64)
        for part in self.parts:
            table = np.kron(table, part.columns())
        return table

    def document(self) -> dict[str, Any]:
        return {"kind": "soft table", "of": [part._fields() for part in self.parts]}

    @classmethod
    def read(cls, document: Mapping[str, Any], domain: Domain) -> Product:
        return cls(tuple(Soft.read(part, domain) for part in document["of"]))

    def spread(self, codes: Ints, counts: Ints, groups: Ints, total: int) -> Ints:
        """The table, exact, in parts of a record, for each of `total` groups of cells with these codes and counts."""
        size, corners = total * self.rows, self._corners(list(codes.T))
        if not fits(self.units):
            cells = np.concatenate([groups * self.rows + place for place, _ in corners])
            shares = np.concatenate([share for _, share in corners])
            flat = add_up(size, cells, shares, np.tile(counts, len(corners)), longest=self.units)
            return flat.reshape(total, self.rows)
        table = np.zeros(size, np.int64)
        for place, share in corners:
            table += _exact_sums(groups * self.rows + place, share, counts, size)
        return table.reshape(total, self.rows)

    def _codes(self, cells: Ints) -> tuple[Ints, ...]:
        return np.unravel_index(cells, tuple(part.size for part in self.parts))

    def _corners(self, codes: Sequence[Ints]) -> list[tuple[Ints, Ints]]:
        """On every axis a record stays in its bin, or goes to the next: cells and shares of each way to do both."""
        corners: list[tuple[Any, Any]] = [(0, 1)]
        for part, column in zip(self.parts, codes, strict=True):
            first, moved = part.places(column)
            after = np.minimum(first + 1, part.rows - 1)
            corners = [
                (place * part.rows + bins, share * parts)
                for place, share in corners
                for bins, parts in ((first, part.units - moved), (after, moved))
            ]
        return corners


def _exact_sums(place: Ints, share: Ints, counts: Ints, size: int) -> Ints:
    """Sums of share * count by place, exact. Why: NumPy adds doubles, so shares go in words of 20 bits, and counts too
    where they are long.
    """
    total = np.zeros(size, np.int64)
    shares = [(share % _WORD, 1)] + ([(share // _WORD, _WORD)] if int(share.max(initial=0)) >= _WORD else [])
    if int(counts.sum()) < 2**33:
        for word, times in shares:
            total += times * np.bincount(place, word * counts, size).astype(np.int64)
        return total
    np.add.at(total, place, share * counts)
    return total
