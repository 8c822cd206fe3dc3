"""Sums of values as contributions, and the base of measurements that are not linear."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, NoReturn

import numpy as np

from tetraodon.domain import Attribute
from tetraodon.errors import QueryError, Refused, TetraodonError
from tetraodon.exact.arrays import Ints, add_up, fits, sum_by

# -- not linear -------------------------------------------------------------------------------------
# What is measured in another way than by adding up what each record adds.

# ruff: noqa: ARG002 - every contribution is asked in the same way


class NotLinear:
    """A contribution that is priced by a certifying function of its own: what single records add has no meaning."""

    refusal: ClassVar[tuple[type[TetraodonError], str, str]]
    """The error for whoever asks for it all the same: its kind, what it says, and how to mend it."""

    def alone(self, x: Ints) -> NoReturn:
        self._refuse()

    def apart(self, x: Ints, y: Ints) -> NoReturn:
        self._refuse()

    def potential(self, x: Ints) -> NoReturn:
        self._refuse()

    def columns(self) -> NoReturn:
        self._refuse()

    def totals(self, codes: Sequence[Ints], sizes: Sequence[int], counts: Ints, place: Ints, groups: int) -> Ints:
        raise Refused("people, and what is not linear, are not added up row by row", fix="ask about rows")

    def _refuse(self) -> NoReturn:
        kind, what, fix = self.refusal
        raise kind(what, fix=fix)


# -- linear -----------------------------------------------------------------------------------------


class AddedUp:
    """A contribution that is a function of counts: each record adds a column to the answers."""

    too_long: ClassVar[tuple[str, str]] = ("the numbers are too long for exact arithmetic", "use smaller weights")
    """What is said where `heaviest` does not fit, and how to mend it."""

    @property
    def heaviest(self) -> int:
        """No less than the most that one record adds to any answer, or to anything on the way to it, in units."""
        return 1

    def potential(self, x: Ints) -> Ints | None:
        """Numbers whose differences are `apart`, or None where there are no such."""
        return None

    def add_up(self, table: Ints) -> Ints:
        """The answers, in units, of counts along the last axis."""
        raise NotImplementedError

    def totals(self, codes: Sequence[Ints], sizes: Sequence[int], counts: Ints, place: Ints, groups: int) -> Ints:
        """What records add, in units, for each of some groups, from counts of cells with these codes of its attributes.

        Post  exact.
        """
        if not fits(self.heaviest):
            what, fix = self.too_long
            raise Refused(what, fix=fix)
        size = math.prod(sizes)
        table = sum_by(groups * size, place * size + np.ravel_multi_index(tuple(codes), sizes), counts)
        return self.add_up(table.reshape(groups, size))


class AlongOne(AddedUp):
    """The same for the values of one attribute."""

    name: str

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name,)


# -- number -----------------------------------------------------------------------------------------

WRITE_LIMIT = 50_000_000
"""Entries that a matrix may have which is written out."""


@dataclass(frozen=True)
class Number(AddedUp):
    """The value of a numeric attribute, for sums; `times` another numeric attribute for weighted sums and products.

    `centred` numbers are distances from the middle of the declared values, from where they are shortest; so are the
    factors of a centred product. `squared` is the square of that distance. A variance or covariance does not depend on
    where values are counted from.

    >>> from tetraodon.domain import Integers
    >>> squares = Number(Attribute("x", Integers(10, 13)), squared=True)
    >>> squares.values(np.arange(4)).tolist(), squares.unit
    ([9, 1, 1, 9], Fraction(1, 4))
    """

    attribute: Attribute
    times: Attribute | None = None
    rows: int = 1
    squared: bool = False
    centred: bool = False

    def __post_init__(self) -> None:
        if self.times is not None and (self.attribute.separate or self.times.separate):
            raise QueryError(
                "missing values that stand apart are neither weighted nor multiplied",
                fix="leave the weight out, or write `missing:` one of the other values",
            )
        if self.squared and self.times is not None:
            raise QueryError("a square is not weighted", fix="leave the weight out")
        if len(self._factors) > 1 and self.longest >= 2**60:
            name, other = self.attribute.name, self.times and self.times.name
            told = f"{name} times {other} is" if other else f"squares of {name} are"
            raise Refused(f"{told} too long to add up", fix="use a coarser grid")

    @property
    def names(self) -> tuple[str, ...]:
        return (self.attribute.name,) if self.times is None else (self.attribute.name, self.times.name)

    @property
    def _factors(self) -> tuple[Attribute, ...]:
        if self.squared:
            return self.attribute, self.attribute
        return (self.attribute,) if self.times is None else (self.attribute, self.times)

    @property
    def _middle(self) -> bool:
        """Whether values are distances from the middle."""
        return self.centred or self.squared

    @cached_property
    def unit(self) -> Fraction:
        return math.prod((_grain(factor, self._middle) for factor in self._factors), start=Fraction(1))

    @property
    def linear(self) -> bool:
        """Whether it is a linear function of one attribute's code."""
        return self.times is None and not self.squared and not self.attribute.separate

    @property
    def signed(self) -> bool:
        """Whether some value is negative."""
        return not self.squared and (self.centred or any(factor.number(0) < 0 for factor in self._factors))

    @property
    def longest(self) -> int:
        """The largest absolute value, in units."""
        return math.prod(_longest(factor, self._middle) for factor in self._factors)

    def values(self, x: Ints) -> Ints:
        """a(x), in units."""
        if self.times is None:
            number = _numbers(self.attribute, x, self._middle)
            return number * number if self.squared else number
        value, other = np.divmod(x, self.times.size)
        return _numbers(self.attribute, value, self.centred) * _numbers(self.times, other, self.centred)

    def at(self, name: str, code: int) -> tuple[Number, int]:
        """What is left of a product where one factor has a value: the other factor, and what that is multiplied by,
        without its sign. Pre: it is a product.
        """
        assert self.times is not None
        fixed, rest = (self.attribute, self.times) if self.attribute.name == name else (self.times, self.attribute)
        return Number(rest, centred=self.centred), abs(int(_numbers(fixed, np.asarray(code), self.centred)))

    def alone(self, x: Ints) -> Ints:
        return np.asarray(np.abs(self.values(x)))

    def apart(self, x: Ints, y: Ints) -> Ints:
        return np.asarray(np.abs(self.values(x) - self.values(y)))

    def potential(self, x: Ints) -> Ints | None:
        return self.values(x) if self.linear else None

    def totals(self, codes: Sequence[Ints], sizes: Sequence[int], counts: Ints, place: Ints, groups: int) -> Ints:
        cell = np.ravel_multi_index(tuple(codes), sizes)
        return add_up(groups, place, self.values(cell), counts, longest=self.longest)

    def columns(self) -> Ints:
        size = self.attribute.size * (1 if self.times is None else self.times.size)
        writable(size)
        return self.values(np.arange(size))[None, :]


def _grain(attribute: Attribute, middle: bool) -> Fraction:
    """The largest number that every value is a whole multiple of; half a step for distances from the `middle`."""
    low, step = attribute.number(0), attribute.step
    if middle:
        return step / 2
    unit = math.lcm(low.denominator, step.denominator)
    return Fraction(math.gcd(int(low * unit), int(step * unit)), unit)


def _longest(attribute: Attribute, middle: bool) -> int:
    """The largest absolute value, in grains."""
    if middle:
        return attribute.values.size - 1
    ends = (attribute.number(0), attribute.number(attribute.values.size - 1))
    return int(max(abs(end) for end in ends) / _grain(attribute, middle))


def _numbers(attribute: Attribute, codes: Ints, middle: bool) -> Ints:
    grain = _grain(attribute, middle)
    first = 1 - attribute.values.size if middle else int(attribute.number(0) / grain)
    if _longest(attribute, middle) >= 2**62:
        raise Refused(f"the values of {attribute.name} are too long to add up", fix="use a coarser grid")
    return _answered(attribute, codes, first + int(attribute.step / grain) * np.asarray(codes, np.int64))


def _answered(attribute: Attribute, codes: Ints, values: Ints) -> Ints:
    """The values, zero where they are missing and stand apart."""
    return np.where(np.asarray(codes) == attribute.missing, 0, values) if attribute.separate else values


def writable(entries: int) -> None:
    """Refuse a matrix that is too large."""
    if entries > WRITE_LIMIT:
        raise Refused("the matrix is too large to be written out", fix="use fewer or coarser attributes")
