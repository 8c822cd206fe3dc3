"""Least squares over the cells of a map and smoothed counts of larger cells, without a matrix as large as the map.

Measured are the cells themselves, strips that are smoothed along one side, and blocks that are smoothed along both.
With H the smoothing along a side, what the measurements say about the map is a sum of four products of I and H'H, and
these have common eigenvectors. So every inverse is known once the eigenvalues of H H' are, for each side by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tetraodon.arrays import Floats, Ints
from tetraodon.errors import QueryError
from tetraodon.mechanism.hierarchical.least_squares import hats_matrix

EVERY_RANGE = 512
"""Sides up to this long are looked at range by range."""


@dataclass(frozen=True)
class Side:
    """One side of the map: how many values it has, and the width of smoothed bins along it; 0 for none."""

    size: int
    width: int = 0

    @cached_property
    def hats(self) -> Floats:
        """The smoothed bins as rows, in records."""
        return np.asarray(hats_matrix(self.size, self.width).toarray()) if self.width else np.zeros((0, self.size))

    @cached_property
    def _parts(self) -> tuple[Floats, Floats]:
        values, vectors = np.linalg.eigh(self.hats @ self.hats.T)
        return values, (self.hats.T @ vectors) / np.sqrt(values)

    @property
    def values(self) -> Floats:
        """The eigenvalues of H'H that are not zero."""
        return self._parts[0]

    @property
    def vectors(self) -> Floats:
        """Their eigenvectors, one column each."""
        return self._parts[1]

    @cached_property
    def asked(self) -> Floats:
        """What all ranges of the side ask of the rest, and of each eigenvector: the sums of squares."""
        each = np.einsum("ij,ij->j", self.vectors, all_ranges(self.vectors))
        code = np.arange(self.size)
        whole = float(((code + 1.0) * (self.size - code)).sum())
        return np.append(max(whole - float(each.sum()), 0.0), each)

    @cached_property
    def _before(self) -> Floats:
        return np.concatenate([np.zeros((1, self.vectors.shape[1])), np.cumsum(self.vectors, axis=0)])

    def squares_of(self, low: Ints, high: Ints) -> Floats:
        """What ranges ask of the rest, and of each eigenvector; one row each."""
        each = (self._before[high + 1] - self._before[low]) ** 2
        return np.column_stack([np.maximum(high - low + 1 - each.sum(axis=1), 0.0), each])

    @property
    def squares(self) -> Floats:
        """The same for all ranges; for a long side, for those from the first value on."""
        if self.stretch == 1:
            return self.squares_of(*np.triu_indices(self.size))
        return self.squares_of(np.zeros(self.size, np.int64), np.arange(self.size))

    @property
    def stretch(self) -> int:
        """How much more any range can ask than those in `squares`: it is a difference of two, so four times."""
        return 1 if self.size <= EVERY_RANGE else 4


def all_ranges(columns: Floats) -> Floats:
    """W'W times some columns, W being all ranges of a line."""
    size = len(columns)
    code = np.arange(size)[:, None]
    below = np.cumsum((code + 1.0) * columns, axis=0)
    above = np.cumsum(((size - code) * columns)[::-1], axis=0)[::-1]
    return np.asarray((size - code) * below + (code + 1.0) * (above - (size - code) * columns))


@dataclass(frozen=True)
class GridFit:
    """The linear estimate with the least variance. Precisions are one over variances, in records; 0 is not measured.

    `across` is of strips smoothed along the second side, `along` of those smoothed along the first. With `total`, the
    number of records is known.
    """

    first: Side
    second: Side
    cells: float
    across: float = 0.0
    along: float = 0.0
    blocks: float = 0.0
    total: bool = False

    def __post_init__(self) -> None:
        if not self.cells > 0 or min(self.across, self.along, self.blocks) < 0:
            raise QueryError("a map is measured without its cells", fix="give cells a positive precision")

    @cached_property
    def inverse(self) -> Floats:
        """Variances of the common eigenvectors; row and column 0 stand for what no smoothed count sees."""
        a, b = (np.append(0.0, side.values) for side in (self.first, self.second))
        return 1 / (self.cells + self.across * b + self.along * a[:, None] + self.blocks * np.outer(a, b))

    def covariance_times(self, table: Floats) -> Floats:
        """Cov(x) f for a map f of weights."""
        moved = self._spread(table)
        if not self.total:
            return moved
        return moved - self._ones * (float(moved.sum()) / float(self._ones.sum()))

    def counts(self, cells: Floats, across: Floats, along: Floats, blocks: Floats, total: float) -> Floats:
        """The map that fits all measurements best, in records."""
        one, two = self.first.hats, self.second.hats
        pull = self.cells * cells
        if self.across:
            pull = pull + self.across * (across @ two)
        if self.along:
            pull = pull + self.along * (one.T @ along)
        if self.blocks:
            pull = pull + self.blocks * (one.T @ blocks @ two)
        found = self._spread(pull)
        return found + self._ones * ((total - float(found.sum())) / float(self._ones.sum())) if self.total else found

    def mean_rectangle_variance(self) -> float:
        """Mean variance of the count in a rectangle drawn at random.

        Why   the sum over rectangles is tr(Cov(x) W'W), with W'W a product of that of each side; in the common
              eigenvectors, a sum over pairs of them.
        """
        whole = float(self.first.asked @ self.inverse @ self.second.asked)
        if self.total:
            seen = all_ranges(all_ranges(self._ones).T).T
            whole -= float((self._ones * seen).sum()) / float(self._ones.sum())
        ranges = [side.size * (side.size + 1) / 2 for side in (self.first, self.second)]
        return max(whole, 0.0) / (ranges[0] * ranges[1])

    def rectangle_variances(self, low: Ints, high: Ints) -> Floats:
        """Variances of counts in rectangles: rows of two codes each, both ends included; a known total is not used."""
        one, two = (
            side.squares_of(low[:, place], high[:, place]) for place, side in enumerate((self.first, self.second))
        )
        return np.asarray(np.einsum("ij,ij->i", one @ self.inverse, two))

    def largest_rectangle_variance(self) -> float:
        """A number that the variance of no rectangle exceeds.

        Why   for each eigenvector of the second side, take the worst range of the first; then the worst range of the
              second for what came out. Each step only adds.
        """
        worst = (self.first.squares @ self.inverse).max(axis=0) * self.first.stretch
        return float((self.second.squares @ worst).max()) * self.second.stretch

    @cached_property
    def _ones(self) -> Floats:
        return self._spread(np.ones((self.first.size, self.second.size)))

    def _spread(self, table: Floats) -> Floats:
        """The inverse of what is measured, times a map."""
        one, two, f = self.first.vectors, self.second.vectors, self.inverse
        seen, across = one.T @ table, table @ two
        both = seen @ two
        found = f[0, 0] * table + one @ ((f[1:, :1] - f[0, 0]) * seen) + (across * (f[0, 1:] - f[0, 0])) @ two.T
        return np.asarray(found + one @ ((f[1:, 1:] - f[1:, :1] - f[:1, 1:] + f[0, 0]) * both) @ two.T)
