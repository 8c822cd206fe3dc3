"""Running counts of an ordered attribute, each with some of those around it: for Gaussian noise and short steps.

A step over g values moves g neighbouring running counts by one each. A kernel adds up neighbouring running counts with
fixed weights, at every place that it reaches. So what the step moves depends on g alone, wherever it begins. The kernel
of a single one gives the running counts themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from tetraodon.arrays import Floats, Ints
from tetraodon.errors import QueryError
from tetraodon.workload.smooth_sums import LONGEST_PRODUCT, WrittenOut, lowest_of, overlaps_of


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
