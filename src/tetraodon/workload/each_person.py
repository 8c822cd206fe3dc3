"""What each person adds to an answer, all their rows together: one, the number of their rows, or a sum up to a cap.

This is no linear query over rows. It is priced for the step of one person (`certificate/person_loss.py`), and counted
by grouping rows by their key before anything is added up.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from tetraodon.arrays import Ints
from tetraodon.domain import Attribute
from tetraodon.errors import QueryError, Refused
from tetraodon.whole_sums import fits
from tetraodon.workload.not_linear import NotLinear
from tetraodon.workload.number import Number

LONGEST_CODE, LONGEST_VALUE = 2**26, 2**40
"""Sums of a person's rows stay within 64 bits below these, however many rows they have."""


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
