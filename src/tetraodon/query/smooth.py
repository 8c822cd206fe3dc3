"""Smoothed counts and weighted sums along an ordered attribute, plain and running.

A record at code i = k w + r, with 0 <= r < w, counts w - r in bin k and r in bin k + 1, in units of 1/w: bins are
linear B-splines of width w, and they add up to one for every record. Moving a record by d positions moves the
bins by at most 2 d / w, however the bins' borders lie, and their running sums by exactly d / w. That is why
smoothed counts are cheap where only near values are secrets ([HMD14] section 7.2 measures bins with sharp borders).

The running sum of the first K + 1 bins is the average of the w running counts from K w to (K + 1) w - 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from tetraodon.domain import Domain
from tetraodon.errors import QueryError
from tetraodon.exact.arrays import Floats, Ints
from tetraodon.query.contribution import UNIT_LIMIT, AlongOne, Traits, raised, weights_from, weights_text, whole

# -- smooth -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Smoothed(AlongOne):
    """What bins and their running sums share."""

    name: str
    size: int
    width: int

    kind: ClassVar[str]
    too_long: ClassVar = ("smoothed counts this wide are too long for exact arithmetic", "use less width")

    def __post_init__(self) -> None:
        if self.size < 2:
            raise QueryError("smoothed counts need at least two values", fix="ask for a count")
        if self.width < 1:
            raise QueryError("the width of smoothed counts is not positive", fix="use a width of at least 1")

    @property
    def steps(self) -> int:
        """From the first bin to the last one."""
        return -(-(self.size - 1) // self.width)

    @property
    def unit(self) -> Fraction:
        return Fraction(1, self.width)

    @property
    def heaviest(self) -> int:
        return self.width

    def document(self) -> dict[str, Any]:
        return {"kind": self.kind, "attribute": self.name, "width": self.width}

    @classmethod
    def read(cls, document: Mapping[str, Any], domain: Domain) -> Self:
        attribute = domain[document["attribute"]]
        return cls(attribute.name, attribute.size, whole(document["width"], 1, attribute.size))


def bins_apart(x: tuple[Ints, Ints], y: tuple[Ints, Ints], whole: int) -> Ints:
    """How far apart the bins of two records are, each given by its bin and how many parts of `whole` are in the next.

    Pre   x comes before y.
    Why   in one stretch every part passed leaves a bin for the next; in neighbouring stretches the first bin loses what
          it had and the third gains, and the larger of the two counts twice; else all moves.
    """
    (first, start), (second, end) = x, y
    near = 2 * np.maximum(whole - start, end)
    return np.asarray(np.select([first == second, first + 1 == second], [2 * (end - start), near], 2 * whole))


@dataclass(frozen=True)
class Hats(_Smoothed):
    """Overlapping bins of an ordered attribute, one around every `width`-th value.

    >>> Hats("age", 5, 2).columns().tolist()
    [[2, 1, 0, 0, 0], [0, 1, 2, 1, 0], [0, 0, 0, 1, 2]]
    """

    kind: ClassVar = "smooth bins"

    @property
    def rows(self) -> int:
        return self.steps + 1

    def traits(self, power: int = 1) -> Traits:
        return Traits.SMOOTHED | Traits.FIRST | (Traits.BY_LENGTH if power == 1 else Traits.NONE)

    def alone(self, x: Ints, power: int = 1) -> Ints:
        if power == 1:
            return np.full(np.shape(x), self.width, np.int64)
        start = np.asarray(x, np.int64) % self.width
        return raised(self.width - start) + raised(start)

    def apart(self, x: Ints, y: Ints, power: int = 1) -> Ints:
        """Why  bins that both touch are the second of the lower and the first of the higher, or there are none."""
        low, high = np.minimum(x, y), np.maximum(x, y)
        (first, start), (second, end) = np.divmod(low, self.width), np.divmod(high, self.width)
        if power == 1:
            return bins_apart((first, start), (second, end), self.width)
        next_to = raised(self.width - start) + raised(start + end - self.width) + raised(end)
        beyond = np.where(first + 1 == second, next_to, self.alone(low, power) + self.alone(high, power))
        return np.where(first == second, 2 * raised(end - start), beyond)

    def most_moved(self, gap: Ints, power: int = 1) -> Ints:
        """Why  let a step pass p positions of one stretch and q of the next. The squares of bins move by
        p^2 + (p - q)^2 + q^2, at most 2 (p + q)^2; those of bins further apart by at most 2 w^2.
        """
        return super().most_moved(gap) if power == 1 else 2 * raised(np.minimum(gap, self.width))

    def worst_lengths(self, reach: int, power: int = 1) -> Ints:
        full = reach // self.width * self.width
        return np.array([self.width, full, reach] if full and power > 1 else [reach])

    def add_up(self, table: Ints) -> Ints:
        r = np.arange(self.size) % self.width
        starts = np.flatnonzero(r == 0)
        left = np.add.reduceat(table * (self.width - r), starts, axis=-1)
        right = np.add.reduceat(table * r, starts, axis=-1)
        bins = np.zeros((*table.shape[:-1], self.rows), table.dtype)
        bins[..., : len(starts)] += left
        spill = min(len(starts), self.rows - 1)
        bins[..., 1 : spill + 1] += right[..., :spill]
        return bins


@dataclass(frozen=True)
class Ramps(_Smoothed):
    """Running sums of `Hats`, without the last one, which is the total. Width 1 gives the running counts themselves.

    >>> Ramps("age", 5, 2).columns().tolist()
    [[2, 1, 0, 0, 0], [2, 2, 2, 1, 0]]
    """

    kind: ClassVar = "smooth running"

    @property
    def rows(self) -> int:
        return self.steps

    def traits(self, power: int = 1) -> Traits:
        line = Traits.LINEAR if power == 1 or self.rows == 1 else Traits.NONE
        return line if power == 1 else line | Traits.SMOOTHED | Traits.FIRST

    def alone(self, x: Ints, power: int = 1) -> Ints:
        """Why  the rows beyond a record's own stretch count it in full, and its own in part."""
        if power == 1:
            return np.asarray(self.rows * self.width - np.asarray(x, np.int64))
        first, start = np.divmod(np.asarray(x, np.int64), self.width)
        beyond = _wide(self.rows - 1 - first, self.size) * self.width**2
        return np.where(first < self.rows, beyond + raised(self.width - start), 0)

    def apart(self, x: Ints, y: Ints, power: int = 1) -> Ints:
        if power == 1:
            return np.asarray(np.abs(x - y))
        (first, start), (second, end) = (np.divmod(pick(x, y), self.width) for pick in (np.minimum, np.maximum))
        passed = _wide(second - first - 1, self.size) * self.width**2
        return np.where(first == second, raised(end - start), raised(self.width - start) + passed + raised(end))

    def potential(self, x: Ints) -> Ints | None:
        return np.asarray(x)

    def most_moved(self, gap: Ints, power: int = 1) -> Ints:
        """Why  their squares move by p^2 + q^2 with p, q <= w, which is largest when one of them is as long as can be:
        then the step begins at code 0.
        """
        full, part = np.divmod(gap, self.width)
        return np.asarray(gap) if power == 1 else _wide(full, self.size) * self.width**2 + raised(part)

    def add_up(self, table: Ints) -> Ints:
        bins = Hats(self.name, self.size, self.width).add_up(table)
        return np.asarray(np.cumsum(bins, axis=-1)[..., :-1])


def _wide(numbers: Ints, size: int) -> Ints:
    """Python integers where the square of an attribute's size is too long."""
    return np.asarray(numbers) if size < 2**30 else np.asarray(numbers).astype(object)


# -- smooth sums ------------------------------------------------------------------------------------
# Weighted sums that change smoothly along an attribute, and one short bump around every value: for Gaussian noise.
#
# The best strategies for ranges are dense matrices as long as the attribute. What they do far from the diagonal is
# smooth, so that it is given at every `width`-th value and a straight line in between; near the diagonal it is the
# same at every value, so that one kernel gives it. With h the bins of `Hats`, C the given sums, c the kernel and s
# the weight of a value,
#
#     the sums at value x       s_x * C h(x),
#     the bumps at value x      s_x * width * c_j at row x + j.
#
# So products of two columns, which is all that squares need, are four entries of C'C and one of c's own products.

LONGEST_PRODUCT = 2**60


class WrittenOut(AlongOne):
    """Weighted sums along one attribute, with kernels: made for Gaussian noise, whose squares have closed forms."""

    if TYPE_CHECKING:

        @property
        def longest(self) -> int: ...

    kernel: Ints

    too_long: ClassVar = ("smooth sums are too long for exact arithmetic", "use smaller weights")

    @property
    def heaviest(self) -> int:
        return self.longest


@dataclass(frozen=True, eq=False)
class SmoothSums(WrittenOut):
    """Rows are the sums, then the bumps: one for every place that the kernel reaches.

    >>> sums = SmoothSums("a", 3, 2, np.array([[1, 3]]), np.array([5]), np.array([1, 1, 2]), Fraction(1, 8))
    >>> sums.columns().tolist()
    [[2, 4, 12], [10, 0, 0], [0, 10, 0], [0, 0, 20]]
    """

    name: str
    size: int
    width: int
    sums: Ints
    kernel: Ints
    single: Ints
    unit: Fraction

    def __post_init__(self) -> None:
        if self.sums.shape[1] != self._bins.rows or self.single.shape != (self.size,) or not self.kernel.any():
            raise QueryError("smooth sums do not fit their attribute", fix="give sums for every bin, and weights")
        if self.single.min() < 1 or lowest_of(self.kernel) <= 0:
            raise QueryError(
                "smooth sums do not tell every value", fix="give each a weight, and a kernel that tells it"
            )
        # Python's integers: nothing that is checked here may overflow before it is refused
        columns = len(self.sums) * int(np.abs(self.sums).max(initial=0)) ** 2
        bumps = sum(int(weight) ** 2 for weight in self.kernel)
        if (columns + bumps) * (2 * self.width * int(self.single.max())) ** 2 >= LONGEST_PRODUCT or columns >= 2**53:
            raise QueryError("smooth sums are too long for exact arithmetic", fix="use smaller weights")

    @property
    def rows(self) -> int:
        return len(self.sums) + self.size + len(self.kernel) - 1

    @property
    def longest(self) -> int:
        """The most that one record adds to any row."""
        most = max(int(np.abs(self.sums).max(initial=0)), int(np.abs(self.kernel).max()))
        return most * self.width * int(self.single.max())

    def inner(self, x: Ints, y: Ints) -> Ints:
        """The sum of the products of two columns, exactly."""
        (first, start), (second, end) = np.divmod(x, self.width), np.divmod(y, self.width)
        whole, last = self.width, self._bins.rows - 1
        after, beyond = np.minimum(first + 1, last), np.minimum(second + 1, last)
        near = (whole - start) * ((whole - end) * self._products[first, second] + end * self._products[first, beyond])
        far = start * ((whole - end) * self._products[after, second] + end * self._products[after, beyond])
        gap = np.minimum(np.abs(x - y), len(self.kernel))
        return np.asarray(self.single[x] * self.single[y] * (near + far + whole**2 * self.overlaps[gap]))

    @cached_property
    def lengths(self) -> Ints:
        """The sum of the squares of each column."""
        every = np.arange(self.size)
        return self.inner(every, every)

    def alone(self, x: Ints, power: int = 1) -> Ints:
        return super().alone(x) if power == 1 else self.inner(x, x)

    def apart(self, x: Ints, y: Ints, power: int = 1) -> Ints:
        if power == 1:
            return super().apart(x, y)
        return np.asarray(self.lengths[x] + self.lengths[y] - 2 * self.inner(x, y))

    @property
    def signed(self) -> bool:
        return bool(self.sums.min(initial=0) < 0 or self.kernel.min() < 0)

    def add_up(self, table: Ints) -> Ints:
        weighted = table * self.single
        bumps = np.zeros((*table.shape[:-1], self.size + len(self.kernel) - 1), weighted.dtype)
        for place, weight in enumerate(self.kernel.tolist()):
            bumps[..., place : place + self.size] += weight * weighted
        return np.concatenate([self._bins.add_up(weighted) @ self.sums.T, self.width * bumps], axis=-1)

    def pull(self, measured: Floats) -> Floats:
        """The measured numbers of each row, times the columns: what least squares asks of the values."""
        many = len(self.sums)
        found, bumps = self.between_bins(measured[:, :many] @ self.sums), measured[:, many:]
        for place, weight in enumerate(self.kernel.tolist()):
            found += self.width * weight * bumps[:, place : place + self.size]
        return np.asarray(found * self.single)

    def own(self) -> Floats:
        """A number for each value, below the square of the weight with which bumps tell it by itself.

        Why   the products of bumps are at least their spectrum at its lowest, times single^2 and width^2: Toeplitz
              matrices lie between the ends of their symbol.
        """
        return np.asarray(lowest_of(self.kernel) * (self.width * self.single.astype(np.float64)) ** 2)

    def between_bins(self, rows: Floats) -> Floats:
        """Rows that are given for bins, at every value, in parts of the width."""
        first, start = np.divmod(np.arange(self.size), self.width)
        after = np.minimum(first + 1, self._bins.rows - 1)
        return np.asarray((self.width - start) * rows[:, first] + start * rows[:, after])

    @property
    def _bins(self) -> Hats:
        return Hats(self.name, self.size, self.width)

    @cached_property
    def _products(self) -> Ints:
        weights = self.sums.astype(np.float64)
        return np.asarray(weights.T @ weights, np.int64)  # floats are exact below 2^53

    @cached_property
    def overlaps(self) -> Ints:
        """The products of the kernel with itself, moved by each number of places; the last is nothing."""
        return np.append(overlaps_of(self.kernel), 0)

    def document(self) -> dict[str, Any]:
        return {
            "kind": "smooth sums",
            "attribute": self.name,
            "parts": self.unit.denominator,
            "single": weights_text(self.single),
            "rows": [weights_text(row) for row in self.sums],
            "width": self.width,
            "kernel": weights_text(self.kernel),
        }

    @classmethod
    def read(cls, document: Mapping[str, Any], domain: Domain) -> SmoothSums:
        attribute, unit = domain[document["attribute"]], Fraction(1, whole(document["parts"], 1, UNIT_LIMIT))
        kernel, single, *rows = _weights((document["kernel"], document["single"], *document["rows"]))
        if len(kernel) > 2 * attribute.size or not 1 <= len(rows) <= attribute.size:
            raise ValueError("sums that no plan would have")
        width = whole(document["width"], 1, attribute.size)
        return cls(attribute.name, attribute.size, width, np.array(rows), kernel, single, unit)


def _weights(texts: Iterable[str]) -> list[Ints]:
    return [np.array(weights_from(text, 2**31)) for text in texts]


def overlaps_of(kernel: Ints) -> Ints:
    """The products of a kernel with itself, moved by each number of places that it reaches."""
    return np.asarray(np.correlate(kernel, kernel, "full")[len(kernel) - 1 :])


def lowest_of(kernel: Ints) -> float:
    """A bound from below on the spectrum of the products of a kernel with itself.

    Why   between places of a grid of N, a sum of cosines up to the L-th falls by at most (pi L / N)^2 / 2 of its
          largest sum (Bernstein).
    """
    many = 2**8 * len(kernel)
    spectrum = np.abs(np.fft.rfft(kernel, many)) ** 2
    fall = (np.pi * len(kernel) / many) ** 2 / 2 * float(np.abs(kernel).sum()) ** 2
    return float(spectrum.min()) - fall


# -- smooth running ---------------------------------------------------------------------------------
# Running counts of an ordered attribute, each with some of those around it: for Gaussian noise and short steps.
#
# A step over g values moves g neighbouring running counts by one each. A kernel adds up neighbouring running counts
# with fixed weights, at every place that it reaches. So what the step moves depends on g alone, wherever it begins.
# The kernel of a single one gives the running counts themselves.


@dataclass(frozen=True, eq=False)
class SmoothRunning(WrittenOut):
    """Row r is the sum of kernel_j times the running count at place r - j; the last one, the total, is left out.

    >>> SmoothRunning("a", 4, np.array([1, 3]), Fraction(1, 4)).columns().tolist()
    [[1, 0, 0, 0], [4, 1, 0, 0], [4, 4, 1, 0], [3, 3, 3, 0]]
    """

    name: str
    size: int
    kernel: Ints
    unit: Fraction

    def __post_init__(self) -> None:
        if self.size < 2 or not self.kernel.any() or lowest_of(self.kernel) <= 0:
            raise QueryError("running sums do not tell every value", fix="give a kernel that tells each running count")
        if self.size * self.longest**2 >= LONGEST_PRODUCT:
            raise QueryError("running sums are too long for exact arithmetic", fix="use smaller weights")

    @property
    def rows(self) -> int:
        return self.size + len(self.kernel) - 2

    @cached_property
    def longest(self) -> int:
        """No less than the most that one record adds to any row."""
        return sum(abs(int(weight)) for weight in self.kernel)

    @cached_property
    def moved(self) -> Ints:
        """The sum of squares that a step over each number of values moves, none to begin with.

        Why   it is the sum over all pairs of the running counts that move of the products of the kernel at their
              distance; one value more adds the pairs with the last one.
        """
        overlaps = np.zeros(max(self.size - 1, len(self.kernel)), np.int64)
        overlaps[: len(self.kernel)] = overlaps_of(self.kernel)
        return np.append(0, np.cumsum(2 * np.cumsum(overlaps) - overlaps[0]))[: self.size]

    def traits(self, power: int = 1) -> Traits:
        return Traits.BY_GAP if power > 1 else Traits.NONE

    def alone(self, x: Ints, power: int = 1) -> Ints:
        return super().alone(x) if power == 1 else np.asarray(self.moved[self.size - 1 - np.asarray(x)])

    def apart(self, x: Ints, y: Ints, power: int = 1) -> Ints:
        return super().apart(x, y) if power == 1 else np.asarray(self.moved[np.abs(x - y)])

    @property
    def signed(self) -> bool:
        return bool(self.kernel.min() < 0)

    def add_up(self, table: Ints) -> Ints:
        running = np.cumsum(table, axis=-1)[..., :-1]
        rows = np.zeros((*table.shape[:-1], self.rows), running.dtype)
        for place, weight in enumerate(self.kernel.tolist()):
            rows[..., place : place + self.size - 1] += weight * running
        return rows

    def pull(self, measured: Floats) -> Floats:
        """The measured numbers of each row, times the kernel: what least squares asks of the running counts."""
        found = np.zeros((len(measured), self.size - 1))
        for place, weight in enumerate(self.kernel.tolist()):
            found += weight * measured[:, place : place + self.size - 1]
        return found

    def document(self) -> dict[str, Any]:
        told = {"parts": self.unit.denominator, "kernel": weights_text(self.kernel)}
        return {"kind": "running sums", "attribute": self.name, **told}

    @classmethod
    def read(cls, document: Mapping[str, Any], domain: Domain) -> SmoothRunning:
        attribute, unit = domain[document["attribute"]], Fraction(1, whole(document["parts"], 1, UNIT_LIMIT))
        [kernel] = _weights([document["kernel"]])
        if len(kernel) > 2 * attribute.size:
            raise ValueError("sums that no plan would have")
        return cls(attribute.name, attribute.size, kernel, unit)
