"""Sums of values as contributions: over records, and over people up to a cap."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from tetraodon.domain import Attribute, Domain
from tetraodon.errors import QueryError, Refused
from tetraodon.exact.arrays import Ints, add_up, fits
from tetraodon.exact.rational import decimal_text
from tetraodon.query.contribution import AddedUp, NotLinear, Traits, raised, whole, writable

# -- number -----------------------------------------------------------------------------------------


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

    def traits(self, power: int = 1) -> Traits:  # noqa: ARG002 - squares of numbers are like them
        whole = Traits.NONE if self.attribute.separate else Traits.CONVEX
        if self.times is not None or self.squared:
            return whole
        return Traits.ANSWERED | (Traits.LINEAR if whole else Traits.NONE)

    @property
    def signed(self) -> bool:
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

    def alone(self, x: Ints, power: int = 1) -> Ints:
        return raised(self.values(x), power)

    def apart(self, x: Ints, y: Ints, power: int = 1) -> Ints:
        return raised(self.values(x) - self.values(y), power)

    def potential(self, x: Ints) -> Ints | None:
        return self.values(x) if Traits.LINEAR in self.traits() else None

    def totals(self, codes: Sequence[Ints], sizes: Sequence[int], counts: Ints, place: Ints, groups: int) -> Ints:
        cell = np.ravel_multi_index(tuple(codes), sizes)
        return add_up(groups, place, self.values(cell), counts, longest=self.longest)

    def columns(self) -> Ints:
        size = self.attribute.size * (1 if self.times is None else self.times.size)
        writable(size)
        return self.values(np.arange(size))[None, :]

    def document(self) -> dict[str, Any]:
        return {
            "kind": "squares" if self.squared else "sum",
            "attribute": self.attribute.name,
            "unit": decimal_text(self.unit),
            **({} if self.times is None else {"times": self.times.name}),
            **({"from": "middle"} if self.centred else {}),
        }

    @classmethod
    def read(cls, document: Mapping[str, Any], domain: Domain) -> Number:
        if document["kind"] == "squares":
            return cls(domain[document["attribute"]], squared=True)
        if document.get("from", "middle") != "middle":
            raise ValueError("numbers that are counted from an unknown place")
        times = domain[document["times"]] if "times" in document else None
        return cls(domain[document["attribute"]], times, centred="from" in document)


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


# -- each person ------------------------------------------------------------------------------------
# What each person adds to an answer, all their rows together: one, the number of their rows, or a sum up to a cap.
#
# This is no linear query over rows. It is priced for the step of one person (`certificate/pair_loss.py`), and counted
# by grouping rows by their key before anything is added up.

LONGEST_CODE, LONGEST_VALUE = 2**26, 2**40
"""Sums of a person's rows stay within 64 bits below these, however many rows they have."""
MOST_ROWS = 2**26
"""More rows no person has, nor a larger cap."""


@dataclass(frozen=True)
class EachPerson(NotLinear):
    """Without an attribute, every person counts one: in one answer, or in that of as many rows as they have.

    With one, a person adds the sum of their rows' values, at most `cap`, in units.

    >>> from tetraodon.domain import Integers
    >>> hours = EachPerson(Attribute("hours", Integers(0, 24)), cap=80)
    >>> hours.most(2), hours.most(9), hours.line
    (48, 80, (0, 1))
    """

    attribute: Attribute | None = None
    cap: int = 0
    rows: int = 1

    on_each = True
    refusal: ClassVar = (
        Refused,
        "what people have each is no matter of single rows",
        "ask about rows, or name it by itself in a release",
    )

    def __post_init__(self) -> None:
        if self.attribute is None:
            return
        values = Number(self.attribute)
        if self.attribute.number(0) < 0:
            raise QueryError(
                f"{self.attribute.name} can be negative, so that a cap would not bound what a person has",
                fix="declare it from 0 upwards",
            )
        if self.cap < 1:
            raise QueryError("the cap is not above zero", fix="write what one person may add at most, such as cap: 80")
        if self.attribute.size > LONGEST_CODE or values.longest > LONGEST_VALUE or not fits(self.cap):
            raise Refused(
                f"what a person has of {self.attribute.name} is too long to add up exactly",
                fix="use a coarser grid, or a smaller cap",
            )

    @property
    def names(self) -> tuple[str, ...]:
        return () if self.attribute is None else (self.attribute.name,)

    @property
    def unit(self) -> Fraction:
        return Fraction(1) if self.attribute is None else Number(self.attribute).unit

    @property
    def line(self) -> tuple[int, int]:
        """The value of the first code and the distance to the next, in units."""
        assert self.attribute is not None
        return int(self.attribute.number(0) / self.unit), int(self.attribute.step / self.unit)

    def most(self, rows_per_person: int) -> int:
        """The most that one person adds, in units: with as many rows as they may have, all of the largest value."""
        if self.attribute is None:
            return 1
        first, step = self.line
        return min(self.cap, rows_per_person * (first + step * (self.attribute.size - 1)))

    def least(self) -> int:
        """The least that a person adds who has any row, in units."""
        return 1 if self.attribute is None else min(self.cap, self.line[0])

    def answer(self, rows: Ints, people: Ints, totals: Ints) -> Ints:
        """The exact answer, from how many people have each number of rows, and what they have together."""
        if self.attribute is not None:
            return np.array([totals.sum()], np.int64)
        if self.rows == 1:
            return np.array([people.sum()], np.int64)
        found = np.zeros(self.rows, np.int64)
        np.add.at(found, rows - 1, people)
        return found

    def document(self) -> dict[str, Any]:
        if self.attribute is None:
            return {"kind": "people", "rows": self.rows}
        return {"kind": "capped sum", "attribute": self.attribute.name, "cap": self.cap}

    @classmethod
    def read(cls, document: Mapping[str, Any], domain: Domain) -> EachPerson:
        if document["kind"] == "people":
            return cls(rows=whole(document["rows"], 1, MOST_ROWS))
        return cls(domain[document["attribute"]], whole(document["cap"], 1, MOST_ROWS))
