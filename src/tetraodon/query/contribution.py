"""What one record adds to a group of answers, as a function of some of its attributes.

A contribution is the column function a(x) of a linear query. The certificate needs two things of it, both
in whole numbers of `unit`: how much a record adds by itself, `alone(x) = sum |a_i(x)|`, and how much is
moved when a record changes, `apart(x, y) = sum |a_i(x) - a_i(y)|`. Cells are those of the
contribution's own attributes, numbered row by row.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, TypeAlias

import numpy as np

from tetraodon.domain import Attribute
from tetraodon.errors import QueryError, Refused
from tetraodon.exact.arrays import Bools, Ints, fits, sum_by
from tetraodon.query.adaptive_partition import Divided
from tetraodon.query.aim import ChosenTables
from tetraodon.query.edge_flows import Flows
from tetraodon.query.local_log_noise import Disguised
from tetraodon.query.number import AddedUp, AlongOne, NotLinear, Number, writable
from tetraodon.query.ranks import Ranks
from tetraodon.query.smooth import Hats, Ramps, SmoothRunning, SmoothSums
from tetraodon.query.soft_bins import Product, Soft
from tetraodon.query.weighted_margins import WeighedMargins

# ruff: noqa: ARG002 - every contribution is asked in the same way

# -- among ------------------------------------------------------------------------------------------
# What a contribution adds for some of the records: those for which a condition holds; all others add nothing.


@dataclass(frozen=True)
class Among:
    """A contribution of the records for which a condition holds.

    `names` are the attributes of `inner`, and then those that the condition alone looks at; `sizes` how many values
    each has. `held` are the attributes of the condition, and `truth` says for each of their cells, a byte each, whether
    it holds. `inner` is about values that such records can have: along its attributes its codes begin at `first`, and
    there are `within` of them.

    >>> from tetraodon.query.contribution import Prefix
    >>> grown = Among(Prefix("age", 2, 2), ("age", "sex"), (3, 2), ("age",), bytes([0, 1, 1]), (1,), (2,))
    >>> grown.alone(np.arange(6)).tolist(), grown.apart(np.array([0, 2]), np.array([4, 4])).tolist()
    ([0, 0, 2, 2, 1, 1], [1, 1])
    """

    inner: Contribution
    names: tuple[str, ...]
    sizes: tuple[int, ...]
    held: tuple[str, ...]
    truth: bytes
    first: tuple[int, ...]
    within: tuple[int, ...]

    @property
    def rows(self) -> int:
        return self.inner.rows

    @property
    def unit(self) -> Fraction:
        return self.inner.unit

    @cached_property
    def table(self) -> Bools:
        """Whether the condition holds, with one axis for each of its attributes."""
        return np.frombuffer(self.truth, np.bool_).reshape([self.sizes[self.names.index(name)] for name in self.held])

    def holds(self, codes: Sequence[Ints]) -> Bools:
        """Whether the condition holds for records with these codes, an array for each of `names`."""
        return np.asarray(self.table[tuple(codes[self.names.index(name)] for name in self.held)])

    def inner_codes(self, codes: Sequence[Ints]) -> list[Ints]:
        """The codes of records along the attributes of `inner`, as that counts them; any where nothing holds."""
        own = zip(codes[: len(self.first)], self.first, self.within, strict=True)
        return [np.clip(np.asarray(code) - first, 0, size - 1) for code, first, size in own]

    def _seen(self, x: Ints) -> tuple[Bools, Ints]:
        codes = np.unravel_index(np.asarray(x), self.sizes)
        own = self.inner_codes(codes)
        cell = np.ravel_multi_index(own, self.within) if own else np.zeros(np.shape(x), np.int64)
        return self.holds(codes), np.asarray(cell)

    def alone(self, x: Ints) -> Ints:
        holds, cell = self._seen(x)
        return np.where(holds, np.asarray(self.inner.alone(cell)), 0)

    def apart(self, x: Ints, y: Ints) -> Ints:
        """Why  where the condition holds for one of two records only, all that this one adds is moved."""
        (here, a), (there, b) = self._seen(x), self._seen(y)
        moved, one, other = (np.asarray(part) for part in (self.inner.apart(a, b), *map(self.inner.alone, (a, b))))
        moved = np.where(here & there, moved, 0)
        return np.where(here & ~there, one, np.where(there & ~here, other, moved))

    def potential(self, x: Ints) -> Ints | None:
        return None

    def columns(self) -> Ints:
        inner, size = self.inner.columns(), math.prod(self.sizes)
        writable(len(inner) * size)
        holds, cell = self._seen(np.arange(size))
        return np.asarray(inner[:, cell] * holds)

    # -- less of it ----------------------------------------------------------------------------

    def at(self, name: str, code: int) -> Contribution | None:
        """The same for records with one code of an attribute that `inner` does not look at; None if none has it."""
        table = np.asarray(self.table.take(code, self.held.index(name)) if name in self.held else self.table)
        sizes = zip(self.names, self.sizes, strict=True)
        return self._with({other: size for other, size in sizes if other != name}, table)

    def about(self, inner: Contribution, keep: Sequence[str]) -> Contribution | None:
        """Another contribution, of those of its attributes that are kept, where the condition holds for any others."""
        kept = tuple(name for name in self.names if name in keep)
        others = tuple(axis for axis, name in enumerate(self.held) if name not in kept)
        own = [place for place, name in enumerate(self.names[: len(self.first)]) if name in kept]
        first, within = (tuple(part[place] for place in own) for part in (self.first, self.within))
        sizes = {name: self.sizes[self.names.index(name)] for name in kept}
        return replace(self, inner=inner, first=first, within=within)._with(
            sizes, np.asarray(self.table.any(axis=others))
        )

    def also(self, name: str, there: Bools) -> Contribution | None:
        """The same for records that have one of some codes of an attribute, too."""
        held = self.held if name in self.held else (*self.held, name)
        table = self.table if name in self.held else self.table[..., None]
        table = table & there.reshape([-1 if other == name else 1 for other in held])
        return replace(self, held=held)._with(dict(zip(self.names, self.sizes, strict=True)), table)

    def _with(self, sizes: dict[str, int], table: Bools) -> Contribution | None:
        if table.all():
            return self.inner
        if not table.any():
            return None
        held = tuple(name for name in self.held if name in sizes)
        return replace(
            self,
            names=tuple(sizes),
            sizes=tuple(sizes.values()),
            held=held,
            truth=np.ascontiguousarray(table).tobytes(),
        )


def among_all(contribution: Contribution, sizes: tuple[int, ...]) -> Among:
    """A contribution of all records, written as one of those for which a condition holds."""
    return Among(contribution, contribution.names, sizes, (), b"\x01", (0,) * len(sizes), sizes)


# -- each person ------------------------------------------------------------------------------------
# What each person adds to an answer, all their rows together: one, the number of their rows, or a sum up to a cap.
#
# This is no linear query over rows. It is priced for the step of one person (`certificate/pair_loss.py`), and counted
# by grouping rows by their key before anything is added up.

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


# -- contribution -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class One(AddedUp):
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

    def totals(self, codes: Sequence[Ints], sizes: Sequence[int], counts: Ints, place: Ints, groups: int) -> Ints:
        return sum_by(groups, place, counts)

    def columns(self) -> Ints:
        return np.ones((1, 1), np.int64)


@dataclass(frozen=True)
class Answerers(AddedUp):
    """Everybody counts one whose value is not missing, where missing values stand apart: they have the last code."""

    names: tuple[str, ...]
    size: int
    rows: int = 1
    unit: Fraction = Fraction(1)

    def alone(self, x: Ints) -> Ints:
        return np.asarray(np.asarray(x) < self.size - 1).astype(np.int64)

    def apart(self, x: Ints, y: Ints) -> Ints:
        return np.asarray(np.abs(self.alone(x) - self.alone(y)))

    def totals(self, codes: Sequence[Ints], sizes: Sequence[int], counts: Ints, place: Ints, groups: int) -> Ints:
        return sum_by(groups, place, counts * self.alone(codes[0]))

    def columns(self) -> Ints:
        writable(self.size)
        return self.alone(np.arange(self.size))[None, :]


@dataclass(frozen=True)
class Prefix(AlongOne):
    """Running counts of an ordered attribute: row p counts the records with code at most p ([HMD14] Eq. 11).

    With `rows` one less than the size, the last running count, the total, is left out.
    """

    name: str
    size: int
    rows: int
    unit: Fraction = Fraction(1)

    def alone(self, x: Ints) -> Ints:
        return np.asarray(self.rows - np.minimum(x, self.rows))

    def apart(self, x: Ints, y: Ints) -> Ints:
        return np.asarray(np.abs(np.minimum(x, self.rows) - np.minimum(y, self.rows)))

    def potential(self, x: Ints) -> Ints | None:
        return np.minimum(x, self.rows)

    def add_up(self, table: Ints) -> Ints:
        return np.cumsum(table, axis=-1)[..., : self.rows]

    def columns(self) -> Ints:
        writable(self.rows * self.size)
        return (np.arange(self.rows)[:, None] >= np.arange(self.size)[None, :]).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Table(AddedUp):
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

    def totals(self, codes: Sequence[Ints], sizes: Sequence[int], counts: Ints, place: Ints, groups: int) -> Ints:
        cell = np.ravel_multi_index(tuple(codes), sizes)
        return np.stack([sum_by(groups, place, row[cell] * counts) for row in self.matrix], axis=-1)

    def columns(self) -> Ints:
        return self.matrix


@dataclass(frozen=True, eq=False)
class WeightedSums(Table):
    """Values of one attribute, each with a weight of its own, then sums of them with weights that were searched for: no
    question asks them.

    >>> sums = WeightedSums.of("a", np.array([3, 2]), np.array([[1, 1]]), Fraction(1, 4))
    >>> sums.matrix.tolist(), sums.apart(np.array([0]), np.array([1])).tolist()
    ([[3, 0], [0, 2], [1, 1]], [5])
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        first = self.matrix[: self.matrix.shape[1]]
        if first.shape[0] != first.shape[1] or np.count_nonzero(first) != np.count_nonzero(np.diag(first)):
            raise QueryError("weighted sums do not begin with single values", fix="give a weight for each value first")

    @classmethod
    def of(cls, name: str, single: Ints, sums: Ints, unit: Fraction) -> WeightedSums:
        return cls((name,), np.concatenate([np.diag(single), sums]), unit)

    @property
    def single(self) -> Ints:
        """The weight of each value by itself."""
        return np.diag(self.matrix)

    @property
    def sums(self) -> Ints:
        """The weights of the values in each sum."""
        return self.matrix[self.matrix.shape[1] :]

    def apart(self, x: Ints, y: Ints) -> Ints:
        moved = np.where(x == y, 0, np.abs(self.single)[x] + np.abs(self.single)[y])
        for row in self.sums:
            moved += np.abs(row[x] - row[y])
        return moved

    def add_up(self, table: Ints) -> Ints:
        """Their values, in units, for every row of counts."""
        return np.concatenate([table * self.single, table @ self.sums.T], axis=-1)


@dataclass(frozen=True, eq=False)
class Beyond(Table):
    """How many records are beyond each step of a tree of values: one row for every value that is not a root.

    `parents` gives the value that each is reached from; a root is its own parent, and there may be several trees.

    >>> Beyond.of("a", (0, 0, 1)).matrix.tolist()
    [[0, 1, 1], [0, 0, 1]]
    """

    parents: tuple[int, ...] = ()

    @classmethod
    def of(cls, name: str, parents: tuple[int, ...]) -> Beyond:
        above = np.array(parents, np.int64)
        writable(len(above) ** 2)
        at = np.arange(len(above))
        rows = np.zeros((len(above), len(above)), np.int64)
        reached = at
        for _ in range(len(above)):
            rows[reached, at] = 1
            reached = above[reached]
        if not np.array_equal(above[reached], reached):
            raise QueryError("values are reached from each other in a ring", fix="give a root to every tree")
        return cls((name,), rows[above != at], parents=parents)


@dataclass(frozen=True)
class AllRanges(AlongOne):
    """Every range of an ordered attribute: row (l, h) counts the records with l <= code <= h."""

    name: str
    size: int
    unit: Fraction = Fraction(1)

    @property
    def rows(self) -> int:
        return self.size * (self.size + 1) // 2

    def alone(self, x: Ints) -> Ints:
        return np.asarray((x + 1) * (self.size - x))

    def apart(self, x: Ints, y: Ints) -> Ints:
        """Why  with x < y, ranges that hold x alone number (x+1)(y-x), those with y alone (y-x)(N-y)."""
        gap = np.abs(x - y)
        return np.asarray(gap * (self.size + 1 - gap))

    def add_up(self, table: Ints) -> Ints:
        low, high = np.triu_indices(self.size)
        before = np.insert(np.cumsum(table, axis=-1), 0, 0, axis=-1)
        return np.asarray(before[..., high + 1] - before[..., low])

    def columns(self) -> Ints:
        writable(self.rows * self.size)
        code = np.arange(self.size)
        low, high = np.triu_indices(self.size)
        return ((low[:, None] <= code) & (code <= high[:, None])).astype(np.int64)


Contribution: TypeAlias = (
    One
    | Answerers
    | Prefix
    | Number
    | Table
    | AllRanges
    | Hats
    | Ramps
    | Soft
    | Product
    | Flows
    | WeighedMargins
    | Among
    | EachPerson
    | Ranks
    | ChosenTables
    | Divided
    | Disguised
    | SmoothRunning
    | SmoothSums
)
