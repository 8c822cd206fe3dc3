"""Weighted sums that change smoothly along an attribute, and one short bump around every value: for Gaussian noise.

The best strategies for ranges are dense matrices as long as the attribute. What they do far from the diagonal is
smooth, so that it is given at every `width`-th value and a straight line in between; near the diagonal it is the same
at every value, so that one kernel gives it. With h the bins of `Hats`, C the given sums, c the kernel and s the weight
of a value,

    the sums at value x       s_x * C h(x),
    the bumps at value x      s_x * width * c_j at row x + j.

So products of two columns, which is all that squares need, are four entries of C'C and one of c's own products.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from tetraodon.arrays import Floats, Ints
from tetraodon.errors import QueryError
from tetraodon.workload.number import writable
from tetraodon.workload.smooth import Hats

LONGEST_PRODUCT = 2**60


class WrittenOut(ABC):
    """Weighted sums along one attribute of which the columns are written out where absolute sums are asked for.

    Why   they are made for Gaussian noise, which asks for squares, and these have closed forms.
    """

    name: str
    size: int

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name,)

    @property
    @abstractmethod
    def rows(self) -> int: ...

    @abstractmethod
    def add_up(self, table: Ints) -> Ints:
        """The answers, in units, of counts along the last axis."""

    def alone(self, x: Ints) -> Ints:
        return np.asarray(np.abs(self.columns()).sum(axis=0)[x])

    def apart(self, x: Ints, y: Ints) -> Ints:
        moved = np.zeros(np.broadcast(x, y).shape, np.int64)
        for row in self.columns():
            moved += np.abs(row[x] - row[y])
        return moved

    def potential(self, x: Ints) -> Ints | None:  # noqa: ARG002
        return None

    def columns(self) -> Ints:
        writable(self.rows * self.size)
        return np.ascontiguousarray(self.add_up(np.eye(self.size, dtype=np.int64)).T)


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
