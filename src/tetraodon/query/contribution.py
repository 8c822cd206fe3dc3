"""What one record adds to a group of answers, as a function of some of its attributes.

A contribution is the column function a(x) of a linear query. The certificate needs two things of it, both
in whole numbers of `unit`: how much a record adds by itself, `alone(x) = sum |a_i(x)|`, and how much is
moved when a record changes, `apart(x, y) = sum |a_i(x) - a_i(y)|`; Gaussian noise needs the same with squares, which is
`power` 2. Cells are those of the contribution's own attributes, numbered row by row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Flag, auto
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tetraodon.domain import Domain
from tetraodon.errors import QueryError, Refused, TetraodonError
from tetraodon.exact.arrays import Bools, Ints, fits, sum_by, with_noise
from tetraodon.noise.coins import Coins
from tetraodon.noise.laws import LAPLACE, NoiseLaw

if TYPE_CHECKING:
    from tetraodon.query.linear import LinearQuery, Measurement

# ruff: noqa: ARG002 - every contribution is asked in the same way

UNIT_LIMIT = 2**40
"""Parts that a record may be divided into, so that sums of parts and their noise are exact in 64 bits."""
WRITE_LIMIT = 50_000_000
"""Entries that a matrix may have which is written out."""


Draw: TypeAlias = Callable[[NoiseLaw, Fraction, tuple[int, ...]], Ints]
"""What draws noise of a law and a scale."""


class Steps(Protocol):
    """What a non-linear mechanism asks about the data sets that noise must hide from each other."""

    @property
    def known(self) -> object:
        """Whatever is true where counts are known, so that neighbours differ in several records."""

    @property
    def presence_alone(self) -> bool:
        """Whether records come or go, and are never replaced."""

    def farthest_share(self, name: str) -> Fraction | None:
        """By what share of its value a step changes a number at most; None where it may be any change."""


class Traits(Flag):
    """What fast paths of the kernel may take for granted of a contribution, or of its squares.

    CONVEX      for steps of one length, what is moved is convex in where they begin along any one attribute, and so is
                what one record adds: that of linear functions, of products of them, and of squared distances from the
                middle.
    BY_LENGTH   `most_moved` bounds what steps of each length move, and longer steps move no less.
    LINEAR      a linear function of one attribute's code, up to signs, or the square of one: both of these, too.
    ANSWERED    linear but for a last code that stands apart.
    BY_GAP      every step of a length moves as much, wherever it begins.
    SMOOTHED    made of smoothed counts: a step from code 0 moves them by `most_moved`, if any does.
    FIRST       no record adds more than one of code 0.
    """

    NONE = 0
    CONVEX = auto()
    BY_LENGTH = auto()
    _LINE = auto()
    LINEAR = CONVEX | BY_LENGTH | _LINE
    ANSWERED = auto()
    BY_GAP = auto()
    SMOOTHED = auto()
    FIRST = auto()


class Contribution:
    """The column function of a query. What a kind does not say about itself is what the slowest of them needs."""

    if TYPE_CHECKING:

        @property
        def names(self) -> tuple[str, ...]: ...
        @property
        def rows(self) -> int: ...
        @property
        def unit(self) -> Fraction: ...

    # -- what the certificate asks ---------------------------------------------------------------

    def alone(self, x: Ints, power: int = 1) -> Ints:
        """The sum of |a_i(x)|^power."""
        raise NotImplementedError

    def apart(self, x: Ints, y: Ints, power: int = 1) -> Ints:
        """The sum of |a_i(x) - a_i(y)|^power."""
        raise NotImplementedError

    def columns(self) -> Ints:
        """The rows a_i over all cells, written out."""
        raise NotImplementedError

    def potential(self, x: Ints) -> Ints | None:
        """Numbers whose differences are `apart`, or None where there are no such."""
        return None

    @property
    def alike(self) -> Ints | None:
        """Rows over the values of one attribute, if there are any: values with equal columns add as much, and steps to
        them from any third value move as much.
        """
        return None

    @property
    def on_each(self) -> bool:
        """Whether each answer has noise of its own, and no earlier output decides what is measured."""
        return True

    @property
    def pure_only(self) -> bool:
        """Whether it is priced with Laplace noise alone, and not beside Gaussian noise."""
        return False

    @property
    def zeros_and_ones(self) -> bool:
        """Whether a record adds one to an answer, in units, or nothing."""
        return False

    @property
    def signed(self) -> bool:
        """Whether a record can take from an answer what another adds, so that (a - b)^2 may exceed a^2 + b^2."""
        return False

    def traits(self, power: int = 1) -> Traits:
        """What is known of these sums."""
        return Traits.NONE

    def most_moved(self, gap: Ints, power: int = 1) -> Ints:
        """No less than what steps up to these lengths move. Pre: `BY_LENGTH` or `SMOOTHED`."""
        return np.asarray(self.apart(np.zeros_like(gap), gap, power))

    def worst_lengths(self, reach: int, power: int = 1) -> Ints:
        """Lengths up to `reach`, one of which moves the most from code 0. Pre: `SMOOTHED`."""
        return np.array([reach])

    # -- counting ------------------------------------------------------------------------------

    def totals(self, codes: Sequence[Ints], sizes: Sequence[int], counts: Ints, place: Ints, groups: int) -> Ints:
        """What records add, in units, for each of some groups, from counts of cells with these codes of its attributes.

        Post  exact.
        """
        raise NotImplementedError

    def counted(self, query: LinearQuery, domain: Domain, codes: Ints, counts: Ints) -> NDArray[Any]:
        """What is measured of the cells of a query that has this contribution."""
        return query.evaluate(domain, codes, counts)

    def measured(self, exact: NDArray[Any], measurement: Measurement, noise: Draw, coins: Callable[[], Coins]) -> Ints:
        """What is released of `counted`: each answer with noise of its own."""
        return with_noise(exact, noise(measurement.noise, measurement.scale, exact.shape))

    def noiseless(self, exact: NDArray[Any], measurement: Measurement) -> Ints:
        """What would be released of `counted` without any noise."""
        return exact

    # -- what is not linear --------------------------------------------------------------------

    def unpriced(self, measurement: Measurement) -> str:
        """Why the noise of a measurement has no price, in a few words; else nothing."""
        return ""

    def dominating(self, measurement: Measurement, steps: Steps) -> list[Measurement]:
        """Linear measurements that lose as much or more between any two data sets of these steps."""
        return [measurement]

    def attained(self, measurement: Measurement, steps: Steps) -> bool:
        """Whether no more is lost by what is `dominating`."""
        return True

    def could_tell(self, numbers: Ints, scale: Fraction) -> bool:
        """Whether noise of a scale could lead to these numbers."""
        return True

    # -- documents -----------------------------------------------------------------------------

    def document(self) -> dict[str, Any]:
        """How it is written in a release."""
        raise AssertionError(f"{type(self).__name__} is never measured itself")

    @classmethod
    def read(cls, document: Mapping[str, Any], domain: Domain) -> Contribution:
        """The contribution that a document describes. Raises ValueError for one that no plan would have."""
        raise NotImplementedError


def whole(number: Any, least: int, most: int) -> int:
    """A whole number of a document, within what a plan would have."""
    if type(number) is not int or not least <= number <= most:
        raise ValueError("a number that no plan would have")
    return number


def weights_text(weights: Ints) -> str:
    """Weights in one line: there may be a hundred thousand of them."""
    return " ".join(map(str, weights.tolist()))


def weights_from(text: str, most: int) -> list[int]:
    """Weights of a document, none longer than `most_moved`."""
    return [whole(int(weight), -most, most) for weight in str.split(text, " ")]  # a TypeError for what is no text


def writable(entries: int) -> None:
    """Refuse a matrix that is too large."""
    if entries > WRITE_LIMIT:
        raise Refused("the matrix is too large to be written out", fix="use fewer or coarser attributes")


class NotLinear(Contribution):
    """A contribution that is priced by linear queries that dominate it: what single records add has no meaning."""

    refusal: ClassVar[tuple[type[TetraodonError], str, str]]
    """The error for whoever asks for it all the same: its kind, what it says, and how to mend it."""
    on_each = False

    def alone(self, x: Ints, power: int = 1) -> NoReturn:
        self._refuse()

    def apart(self, x: Ints, y: Ints, power: int = 1) -> NoReturn:
        self._refuse()

    def potential(self, x: Ints) -> NoReturn:
        self._refuse()

    def columns(self) -> NoReturn:
        self._refuse()

    def totals(self, codes: Sequence[Ints], sizes: Sequence[int], counts: Ints, place: Ints, groups: int) -> Ints:
        raise Refused("people, and what is not linear, are not added up row by row", fix="ask about rows")

    def unpriced(self, measurement: Measurement) -> str:
        if self.pure_only and (measurement.noise is not LAPLACE or not measurement.scale):
            return "values drawn by a law that is not priced"
        return ""

    def _refuse(self) -> NoReturn:
        kind, what, fix = self.refusal
        raise kind(what, fix=fix)


class AddedUp(Contribution):
    """A contribution that is a function of counts: each record adds a column to the answers."""

    too_long: ClassVar[tuple[str, str]] = ("the numbers are too long for exact arithmetic", "use smaller weights")
    """What is said where `heaviest` does not fit, and how to mend it."""

    @property
    def heaviest(self) -> int:
        """No less than the most that one record adds to any answer, or to anything on the way to it, in units."""
        return 1

    @cached_property
    def _alone(self) -> Ints:
        return np.asarray(np.abs(self.columns()).sum(axis=0))

    def alone(self, x: Ints, power: int = 1) -> Ints:
        return np.asarray(self._alone[x] if power == 1 else raised(self.columns()[:, x], power).sum(axis=0))

    def apart(self, x: Ints, y: Ints, power: int = 1) -> Ints:
        columns = self.columns()
        moved = np.zeros(np.broadcast(x, y).shape, raised(2 * columns, power).dtype)
        for row in columns:
            moved = moved + raised(row[x] - row[y], power)
        return moved

    def add_up(self, table: Ints) -> Ints:
        """The answers, in units, of counts along the last axis."""
        raise NotImplementedError

    def totals(self, codes: Sequence[Ints], sizes: Sequence[int], counts: Ints, place: Ints, groups: int) -> Ints:
        if not fits(self.heaviest):
            what, fix = self.too_long
            raise Refused(what, fix=fix)
        size = math.prod(sizes)
        table = sum_by(groups * size, place * size + np.ravel_multi_index(tuple(codes), sizes), counts)
        return self.add_up(table.reshape(groups, size))


class AlongOne(AddedUp):
    """The same for the values of one attribute."""

    if TYPE_CHECKING:

        @property
        def name(self) -> str: ...
        @property
        def size(self) -> int: ...

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name,)

    def columns(self) -> Ints:
        writable(self.rows * self.size)
        return np.ascontiguousarray(self.add_up(np.eye(self.size, dtype=np.int64)).T)


def raised(numbers: Ints, power: int = 2) -> Ints:
    """The absolute values, or the squares, these in Python integers where 64 bits do not suffice."""
    given = np.abs(numbers)
    if power == 1:
        return given
    return given * given if int(given.max(initial=0)) < 2**31 else given.astype(object) ** 2


# -- kinds ------------------------------------------------------------------------------------------

PARTS_LIMIT = 10_000
"""The finest parts that weights are written in, and the largest weight: products with counts stay whole numbers."""
WIDTHS = 20
"""No search begins with more weighted sums for each value."""


@dataclass(frozen=True)
class One(AddedUp):
    """Every record counts one."""

    names: tuple[str, ...] = ()
    rows: int = 1
    unit: Fraction = Fraction(1)

    zeros_and_ones = True

    def traits(self, power: int = 1) -> Traits:
        return Traits.LINEAR | Traits.ANSWERED | Traits.FIRST

    def alone(self, x: Ints, power: int = 1) -> Ints:
        return np.ones(np.shape(x), np.int64)

    def apart(self, x: Ints, y: Ints, power: int = 1) -> Ints:
        return np.zeros(np.broadcast(x, y).shape, np.int64)

    def potential(self, x: Ints) -> Ints | None:
        return np.zeros(np.shape(x), np.int64)

    def totals(self, codes: Sequence[Ints], sizes: Sequence[int], counts: Ints, place: Ints, groups: int) -> Ints:
        return sum_by(groups, place, counts)

    def columns(self) -> Ints:
        return np.ones((1, 1), np.int64)

    def document(self) -> dict[str, Any]:
        return {"kind": "records"}

    @classmethod
    def read(cls, document: Mapping[str, Any], domain: Domain) -> One:  # noqa: ARG003
        return cls()


@dataclass(frozen=True)
class Answerers(AddedUp):
    """Everybody counts one whose value is not missing, where missing values stand apart: they have the last code."""

    names: tuple[str, ...]
    size: int
    rows: int = 1
    unit: Fraction = Fraction(1)

    zeros_and_ones = True

    def traits(self, power: int = 1) -> Traits:
        return Traits.ANSWERED

    def alone(self, x: Ints, power: int = 1) -> Ints:
        return np.asarray(np.asarray(x) < self.size - 1).astype(np.int64)

    def apart(self, x: Ints, y: Ints, power: int = 1) -> Ints:
        return np.asarray(np.abs(self.alone(x) - self.alone(y)))

    def totals(self, codes: Sequence[Ints], sizes: Sequence[int], counts: Ints, place: Ints, groups: int) -> Ints:
        return sum_by(groups, place, counts * self.alone(codes[0]))

    def columns(self) -> Ints:
        writable(self.size)
        return self.alone(np.arange(self.size))[None, :]

    def document(self) -> dict[str, Any]:
        return {"kind": "answerers", "attribute": self.names[0]}

    @classmethod
    def read(cls, document: Mapping[str, Any], domain: Domain) -> Answerers:
        attribute = domain[document["attribute"]]
        whole(int(attribute.separate), 1, 1)
        return cls((attribute.name,), attribute.size)


@dataclass(frozen=True)
class Prefix(AlongOne):
    """Running counts of an ordered attribute: row p counts the records with code at most p ([HMD14] Eq. 11).

    With `rows` one less than the size, the last running count, the total, is left out.
    """

    name: str
    size: int
    rows: int
    unit: Fraction = Fraction(1)

    zeros_and_ones = True

    def traits(self, power: int = 1) -> Traits:
        return Traits.LINEAR if self.rows >= self.size - 1 else Traits.NONE

    def alone(self, x: Ints, power: int = 1) -> Ints:
        return np.asarray(self.rows - np.minimum(x, self.rows))

    def apart(self, x: Ints, y: Ints, power: int = 1) -> Ints:
        return np.asarray(np.abs(np.minimum(x, self.rows) - np.minimum(y, self.rows)))

    def potential(self, x: Ints) -> Ints | None:
        return np.minimum(x, self.rows)

    def add_up(self, table: Ints) -> Ints:
        return np.cumsum(table, axis=-1)[..., : self.rows]

    def document(self) -> dict[str, Any]:
        return {"kind": "running", "attribute": self.name, "rows": self.rows}

    @classmethod
    def read(cls, document: Mapping[str, Any], domain: Domain) -> Prefix:
        attribute = domain[document["attribute"]]
        return cls(attribute.name, attribute.size, whole(document["rows"], 1, attribute.size))


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

    @property
    def alike(self) -> Ints:
        return self.matrix

    @property
    def zeros_and_ones(self) -> bool:
        return bool(np.isin(self.matrix, (0, 1)).all())

    @property
    def signed(self) -> bool:
        return bool((self.matrix < 0).any())

    def totals(self, codes: Sequence[Ints], sizes: Sequence[int], counts: Ints, place: Ints, groups: int) -> Ints:
        cell = np.ravel_multi_index(tuple(codes), sizes)
        return np.stack([sum_by(groups, place, row[cell] * counts) for row in self.matrix], axis=-1)

    def columns(self) -> Ints:
        return self.matrix

    def document(self) -> dict[str, Any]:
        return {"kind": "asked"}


@dataclass(frozen=True, eq=False)
class WeightedSums(AlongOne):
    """Values of one attribute, each with a weight of its own, then sums of them with weights that were searched for: no
    question asks them.

    >>> sums = WeightedSums("a", np.array([3, 2]), np.array([[1, 1]]), Fraction(1, 4))
    >>> sums.columns().tolist(), sums.apart(np.array([0]), np.array([1])).tolist()
    ([[3, 0], [0, 2], [1, 1]], [5])
    """

    name: str
    single: Ints
    """The weight of each value by itself."""
    sums: Ints
    """The weights of the values in each sum."""
    unit: Fraction = Fraction(1)

    @property
    def size(self) -> int:
        return len(self.single)

    @property
    def rows(self) -> int:
        return self.size + len(self.sums)

    @property
    def alike(self) -> Ints:
        return np.concatenate([self.single[None, :], self.sums])

    @property
    def signed(self) -> bool:
        return bool((self.sums < 0).any())

    @property
    def heaviest(self) -> int:
        return int(max(np.abs(self.single).max(), np.abs(self.sums).max(initial=0)))

    def alone(self, x: Ints, power: int = 1) -> Ints:
        return np.asarray(raised(self.single[x], power) + raised(self.sums[:, x], power).sum(axis=0))

    def apart(self, x: Ints, y: Ints, power: int = 1) -> Ints:
        moved = np.where(x == y, 0, raised(self.single[x], power) + raised(self.single[y], power))
        for row in self.sums:
            moved = moved + raised(row[x] - row[y], power)
        return np.asarray(moved)

    def add_up(self, table: Ints) -> Ints:
        """Their values, in units, for every row of counts."""
        return np.concatenate([table * self.single, table @ self.sums.T], axis=-1)

    def document(self) -> dict[str, Any]:
        rows = {"single": weights_text(self.single), "rows": [weights_text(row) for row in self.sums]}
        return {"kind": "weighted sums", "attribute": self.names[0], "parts": self.unit.denominator, **rows}

    @classmethod
    def read(cls, document: Mapping[str, Any], domain: Domain) -> WeightedSums:
        attribute, parts = domain[document["attribute"]], whole(document["parts"], 1, PARTS_LIMIT)
        single, *rows = (weights_from(row, parts * PARTS_LIMIT) for row in (document["single"], *document["rows"]))
        if not 1 <= len(rows) <= attribute.size * WIDTHS or any(len(row) != attribute.size for row in (single, *rows)):
            raise ValueError("weights that are not those of the attribute")
        if min(single) <= 0:
            raise ValueError("single values without a weight")
        return cls(attribute.name, np.array(single), np.array(rows), Fraction(1, parts))


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

    def document(self) -> dict[str, Any]:
        return {"kind": "beyond", "attribute": self.names[0], "parents": list(self.parents)}

    @classmethod
    def read(cls, document: Mapping[str, Any], domain: Domain) -> Beyond:
        attribute = domain[document["attribute"]]
        places = whole(len(document["parents"]), attribute.size, attribute.size)
        return cls.of(attribute.name, tuple(whole(place, 0, places - 1) for place in document["parents"]))


@dataclass(frozen=True)
class AllRanges(AlongOne):
    """Every range of an ordered attribute: row (l, h) counts the records with l <= code <= h."""

    name: str
    size: int
    unit: Fraction = Fraction(1)

    zeros_and_ones = True

    @property
    def rows(self) -> int:
        return self.size * (self.size + 1) // 2

    def traits(self, power: int = 1) -> Traits:
        return Traits.BY_GAP

    def alone(self, x: Ints, power: int = 1) -> Ints:
        return np.asarray((x + 1) * (self.size - x))

    def apart(self, x: Ints, y: Ints, power: int = 1) -> Ints:
        """Why  with x < y, ranges that hold x alone number (x+1)(y-x), those with y alone (y-x)(N-y)."""
        gap = np.abs(x - y)
        return np.asarray(gap * (self.size + 1 - gap))

    def add_up(self, table: Ints) -> Ints:
        low, high = np.triu_indices(self.size)
        before = np.insert(np.cumsum(table, axis=-1), 0, 0, axis=-1)
        return np.asarray(before[..., high + 1] - before[..., low])


# -- among ------------------------------------------------------------------------------------------
# What a contribution adds for some of the records: those for which a condition holds; all others add nothing.


@dataclass(frozen=True)
class Among(Contribution):
    """A contribution of the records for which a condition holds.

    `names` are the attributes of `inner`, and then those that the condition alone looks at; `sizes` how many values
    each has. `held` are the attributes of the condition, and `truth` says for each of their cells, a byte each, whether
    it holds. `inner` is about values that such records can have: along its attributes its codes begin at `first`, and
    there are `within` of them.

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

    def alone(self, x: Ints, power: int = 1) -> Ints:
        holds, cell = self._seen(x)
        return np.where(holds, np.asarray(self.inner.alone(cell, power)), 0)

    def apart(self, x: Ints, y: Ints, power: int = 1) -> Ints:
        """Why  where the condition holds for one of two records only, all that this one adds is moved."""
        (here, a), (there, b) = self._seen(x), self._seen(y)
        moved, one, other = self.inner.apart(a, b, power), self.inner.alone(a, power), self.inner.alone(b, power)
        return np.select([here & there, here, there], [moved, one, other], 0)

    @property
    def zeros_and_ones(self) -> bool:
        return self.inner.zeros_and_ones

    @property
    def signed(self) -> bool:
        return self.inner.signed

    @property
    def on_each(self) -> bool:
        return self.inner.on_each

    @property
    def pure_only(self) -> bool:
        return self.inner.pure_only

    def unpriced(self, measurement: Measurement) -> str:
        return self.inner.unpriced(measurement)

    def attained(self, measurement: Measurement, steps: Steps) -> bool:
        return self.inner.attained(measurement, steps)

    def dominating(self, measurement: Measurement, steps: Steps) -> list[Measurement]:
        return self.inner.dominating(measurement, steps)

    def counted(self, query: LinearQuery, domain: Domain, codes: Ints, counts: Ints) -> NDArray[Any]:
        return self.inner.counted(query, domain, codes, counts)

    def measured(self, exact: NDArray[Any], measurement: Measurement, noise: Draw, coins: Callable[[], Coins]) -> Ints:
        return self.inner.measured(exact, measurement, noise, coins)

    def noiseless(self, exact: NDArray[Any], measurement: Measurement) -> Ints:
        return self.inner.noiseless(exact, measurement)

    def could_tell(self, numbers: Ints, scale: Fraction) -> bool:
        return self.inner.could_tell(numbers, scale)

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

    def under(self, held: tuple[str, ...], table: Bools) -> Contribution | None:
        """The same for records for which another condition holds instead; None if it holds for none."""
        own = dict(zip(self.names, self.sizes[: len(self.inner.names)], strict=False))
        return replace(self, held=held)._with(own | dict(zip(held, table.shape, strict=True)), table)

    def also(self, names: Sequence[str], there: Bools) -> Contribution | None:
        """The same for records for which another condition holds, too."""
        held = (*self.held, *(name for name in names if name not in self.held))
        axes = sorted(range(len(names)), key=lambda axis: held.index(names[axis]))
        shape = [there.shape[names.index(name)] if name in names else 1 for name in held]
        given = self.table.reshape(*self.table.shape, *(1 for _ in held[len(self.held) :]))
        return self.under(held, np.asarray(given & there.transpose(axes).reshape(shape)))

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
