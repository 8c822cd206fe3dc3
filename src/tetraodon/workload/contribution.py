"""What one record adds to a group of answers, as a function of some of its attributes.

A contribution is the column function a(x) of a linear query. The certificate needs two things of it, both
in whole numbers of `unit`: how much a record adds by itself, `alone(x) = sum |a_i(x)|`, and how much is
moved when a record changes, `apart(x, y) = sum |a_i(x) - a_i(y)|`. Cells are those of the
contribution's own attributes, numbered row by row.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TypeAlias

import numpy as np

from tetraodon.arrays import Ints
from tetraodon.errors import QueryError
from tetraodon.workload.among import Among
from tetraodon.workload.chosen_tables import ChosenTables
from tetraodon.workload.disguised import Disguised
from tetraodon.workload.divided import Divided
from tetraodon.workload.each_person import EachPerson
from tetraodon.workload.flows import Flows
from tetraodon.workload.number import Number, writable
from tetraodon.workload.ranks import Ranks
from tetraodon.workload.smooth import Hats, Ramps
from tetraodon.workload.smooth_running import SmoothRunning
from tetraodon.workload.smooth_sums import SmoothSums
from tetraodon.workload.soft import Product, Soft
from tetraodon.workload.weighed_margins import WeighedMargins


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
        writable(self.size)
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
        writable(self.rows * self.size)
        return (np.arange(self.rows)[:, None] >= np.arange(self.size)[None, :]).astype(np.int64)


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
