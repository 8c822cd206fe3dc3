"""What one record adds to a group of answers, as a function of some of its attributes.

A contribution is the column function a(x) of a linear query. The certificate needs two things of it, both
in whole numbers of `unit`: how much a record adds by itself, `alone(x) = sum |a_i(x)|`, and how much is
moved when a record changes, `apart(x, y) = sum |a_i(x) - a_i(y)|`. Cells are those of the
contribution's own attributes, numbered row by row.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TypeAlias

import numpy as np

from tetraodon.arrays import Ints
from tetraodon.domain import Attribute
from tetraodon.errors import QueryError, Refused
from tetraodon.workload.smooth import Hats, Ramps
from tetraodon.workload.soft import Product, Soft

WRITE_LIMIT = 50_000_000


@dataclass(frozen=True)
class One:
    """Every record counts one."""

    names: tuple[str, ...] = ()
    rows: int = 1
    unit: Fraction = Fraction(1)

    def alone(self, x: Ints) -> Ints:
        return np.ones(np.shape(x), np.int64)

    def apart(self, x: Ints, y: Ints) -> Ints:
        return np.zeros(np.broadcast(x, y).shape, np.int64)

    def potential(self, x: Ints) -> Ints | None:
        return np.zeros(np.shape(x), np.int64)

    def columns(self) -> Ints:
        return np.ones((1, 1), np.int64)


@dataclass(frozen=True)
class Answerers:
    """Everybody counts one whose value is not missing, where missing values stand apart: they have the last code."""

    names: tuple[str, ...]
    size: int
    rows: int = 1
    unit: Fraction = Fraction(1)

    def alone(self, x: Ints) -> Ints:
        return np.asarray(np.asarray(x) < self.size - 1).astype(np.int64)

    def apart(self, x: Ints, y: Ints) -> Ints:
        return np.asarray(np.abs(self.alone(x) - self.alone(y)))

    def potential(self, x: Ints) -> Ints | None:  # noqa: ARG002
        return None

    def columns(self) -> Ints:
        _writable(self.size)
        return self.alone(np.arange(self.size))[None, :]


@dataclass(frozen=True)
class Prefix:
    """Running counts of an ordered attribute: row p counts the records with code at most p ([HMD14] Eq. 11).

    With `rows` one less than the size, the last running count, the total, is left out.
    """

    name: str
    size: int
    rows: int
    unit: Fraction = Fraction(1)

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name,)

    def alone(self, x: Ints) -> Ints:
        return np.asarray(self.rows - np.minimum(x, self.rows))

    def apart(self, x: Ints, y: Ints) -> Ints:
        return np.asarray(np.abs(np.minimum(x, self.rows) - np.minimum(y, self.rows)))

    def potential(self, x: Ints) -> Ints | None:
        return np.minimum(x, self.rows)

    def columns(self) -> Ints:
        _writable(self.rows * self.size)
        return (np.arange(self.rows)[:, None] >= np.arange(self.size)[None, :]).astype(np.int64)


@dataclass(frozen=True)
class Number:
    """The value of a numeric attribute, for sums; `times` another numeric attribute for weighted sums.

    `squared` is the square of its distance from the middle of the declared values: a variance does not depend on where
    values are counted from, and from there squares are shortest.

    >>> from tetraodon.domain import Integers
    >>> squares = Number(Attribute("x", Integers(10, 13)), squared=True)
    >>> squares.values(np.arange(4)).tolist(), squares.unit
    ([9, 1, 1, 9], Fraction(1, 4))
    """

    attribute: Attribute
    times: Attribute | None = None
    rows: int = 1
    squared: bool = False

    def __post_init__(self) -> None:
        if self.times is not None and (self.attribute.separate or self.times.separate):
            raise QueryError("missing values that stand apart are not weighted", fix="leave the weight out")
        if self.squared and self.times is not None:
            raise QueryError("a square is not weighted", fix="leave the weight out")
        if self.squared and self.longest >= 2**60:
            raise Refused(f"squares of {self.attribute.name} are too long to add up", fix="use a coarser grid")
        if self.times is not None and _longest(self.attribute) * _longest(self.times) >= 2**60:
            raise Refused(
                f"{self.attribute.name} times {self.times.name} is too long to add up", fix="use a coarser grid"
            )

    @property
    def names(self) -> tuple[str, ...]:
        return (self.attribute.name,) if self.times is None else (self.attribute.name, self.times.name)

    @cached_property
    def unit(self) -> Fraction:
        if self.squared:
            return self.attribute.step**2 / 4
        weight = Fraction(1) if self.times is None else _grain(self.times)
        return _grain(self.attribute) * weight

    @property
    def linear(self) -> bool:
        """Whether it is a linear function of one attribute's code."""
        return self.times is None and not self.squared and not self.attribute.separate

    @property
    def signed(self) -> bool:
        """Whether some value is negative."""
        if self.squared:
            return False
        factors = (self.attribute,) if self.times is None else (self.attribute, self.times)
        return any(factor.number(0) < 0 for factor in factors)

    @property
    def longest(self) -> int:
        """The largest absolute value, in units."""
        if self.squared:
            return (self.attribute.values.size - 1) ** 2
        return _longest(self.attribute) * (1 if self.times is None else _longest(self.times))

    def values(self, x: Ints) -> Ints:
        """a(x), in units."""
        if self.squared:
            from_middle = 2 * np.asarray(x, np.int64) - (self.attribute.values.size - 1)
            return _answered(self.attribute, x, np.asarray(from_middle * from_middle))
        if self.times is None:
            return _numbers(self.attribute, x)
        value, weight = np.divmod(x, self.times.size)
        return _numbers(self.attribute, value) * _numbers(self.times, weight)

    def alone(self, x: Ints) -> Ints:
        return np.asarray(np.abs(self.values(x)))

    def apart(self, x: Ints, y: Ints) -> Ints:
        return np.asarray(np.abs(self.values(x) - self.values(y)))

    def potential(self, x: Ints) -> Ints | None:
        return self.values(x) if self.linear else None

    def columns(self) -> Ints:
        size = self.attribute.size * (1 if self.times is None else self.times.size)
        _writable(size)
        return self.values(np.arange(size))[None, :]


@dataclass(frozen=True, eq=False)
class Table:
    """Given rows over the cells of some attributes: predicates, listed ranges, or any small matrix."""

    names: tuple[str, ...]
    matrix: Ints
    unit: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        if not self.names:
            raise QueryError("a table of rows looks at no attribute", fix="name at least one attribute")

    @property
    def rows(self) -> int:
        return int(self.matrix.shape[0])

    @cached_property
    def _alone(self) -> Ints:
        return np.asarray(np.abs(self.matrix).sum(axis=0))

    def alone(self, x: Ints) -> Ints:
        return np.asarray(self._alone[x])

    def apart(self, x: Ints, y: Ints) -> Ints:
        moved = np.zeros(np.broadcast(x, y).shape, self.matrix.dtype)
        for row in self.matrix:
            moved += np.abs(row[x] - row[y])
        return moved

    def potential(self, x: Ints) -> Ints | None:  # noqa: ARG002
        return None

    def columns(self) -> Ints:
        return self.matrix


@dataclass(frozen=True, eq=False)
class WeightedSums(Table):
    """Sums of the values of one attribute with weights that were searched for: no question asks them."""

    def add_up(self, table: Ints) -> Ints:
        """Their values, in units, for every row of counts."""
        return np.asarray(table @ self.matrix.T)


@dataclass(frozen=True)
class AllRanges:
    """Every range of an ordered attribute: row (l, h) counts the records with l <= code <= h."""

    name: str
    size: int
    unit: Fraction = Fraction(1)

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name,)

    @property
    def rows(self) -> int:
        return self.size * (self.size + 1) // 2

    def alone(self, x: Ints) -> Ints:
        return np.asarray((x + 1) * (self.size - x))

    def apart(self, x: Ints, y: Ints) -> Ints:
        """Why  with x < y, ranges that hold x alone number (x+1)(y-x), those with y alone (y-x)(N-y)."""
        gap = np.abs(x - y)
        return np.asarray(gap * (self.size + 1 - gap))

    def potential(self, x: Ints) -> Ints | None:  # noqa: ARG002
        return None

    def columns(self) -> Ints:
        _writable(self.rows * self.size)
        code = np.arange(self.size)
        low, high = np.triu_indices(self.size)
        return ((low[:, None] <= code) & (code <= high[:, None])).astype(np.int64)


Contribution: TypeAlias = One | Answerers | Prefix | Number | Table | AllRanges | Hats | Ramps | Soft | Product


def _grain(attribute: Attribute) -> Fraction:
    """The largest number that every value of the attribute is a whole multiple of."""
    low, step = attribute.number(0), attribute.step
    unit = math.lcm(low.denominator, step.denominator)
    return Fraction(math.gcd(int(low * unit), int(step * unit)), unit)


def _longest(attribute: Attribute) -> int:
    """The largest absolute value, in grains."""
    ends = (attribute.number(0), attribute.number(attribute.values.size - 1))
    return int(max(abs(end) for end in ends) / _grain(attribute))


def _numbers(attribute: Attribute, codes: Ints) -> Ints:
    grain = _grain(attribute)
    first, step = int(attribute.number(0) / grain), int(attribute.step / grain)
    if _longest(attribute) >= 2**62:
        raise Refused(f"the values of {attribute.name} are too long to add up", fix="use a coarser grid")
    return _answered(attribute, codes, first + step * np.asarray(codes, np.int64))


def _answered(attribute: Attribute, codes: Ints, values: Ints) -> Ints:
    """The values, zero where they are missing and stand apart."""
    return np.where(np.asarray(codes) == attribute.missing, 0, values) if attribute.separate else values


def _writable(entries: int) -> None:
    if entries > WRITE_LIMIT:
        raise Refused("the matrix is too large to be written out", fix="use fewer or coarser attributes")
