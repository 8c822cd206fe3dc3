"""Least squares over smooth sums and bumps, without a matrix as large as the square of the attribute.

With S the weights of the values, c the products of bumps, which are near the diagonal only, and B the sums at all
values, the products of all columns are S (c + B'B) S. So solving takes a band and as many numbers as there are sums:

    (c + B'B)^-1 = c^-1 - Z'Z,    Z = (1 + B c^-1 B')^-1/2 B c^-1.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tetraodon.arrays import Floats, Ints
from tetraodon.workload.smooth_sums import SmoothSums


@dataclass(frozen=True, eq=False)
class BandedFit:
    """The linear estimate with the least variance. `spread` is the variance of each number, in squares of the unit;
    `total` is 0 where the sum of all values is known, as in `SmoothFit`, and None where it is not.
    """

    sums: SmoothSums
    spread: float
    total: float | None = None

    @property
    def size(self) -> int:
        return self.sums.size

    @property
    def leaves(self) -> Floats:
        """Variances that add up to at least that of any number of values."""
        return np.asarray(self.spread / self.sums.own())

    def counts(self, measured: Floats, total: Floats | None) -> Floats:
        """The estimates of all values, a row for each row of measured numbers; `total` where it is known."""
        found = self.covariance_times(self.sums.pull(measured) / self.spread)
        return found if total is None else np.asarray(found + np.outer(total, self._along))

    def covariance_times(self, functionals: Floats) -> Floats:
        """Cov(x) f for every row f."""
        found = self._free_times(functionals)
        if self.total is not None:
            found -= np.outer(found.sum(axis=1), self._along)
        return np.asarray(self.spread * found)

    def running_variances(self, positions: Ints) -> Floats:
        """The variance of the running count up to each position, itself included.

        Why   bumps are alike, so that c is a Toeplitz matrix, and c^-1 = (L L' - M M') / x_0: x is its first column, L
              has the columns x, x one lower, ..., and M those of x turned round (Gohberg and Semencul). So sums over
              the first values are sums of shifted columns, and take one more of them for each position.
        """
        single, first = 1 / self._single, self._solve(np.eye(1, self.size))[0]
        turned = np.append(0.0, first[:0:-1])
        plus, minus, found = np.zeros(self.size), np.zeros(self.size), np.empty(self.size)
        for place, weight in enumerate(single):
            plus[: place + 1] += weight * first[place::-1]
            minus[: place + 1] += weight * turned[place::-1]
            found[place] = (plus[: place + 1] @ plus[: place + 1] - minus[: place + 1] @ minus[: place + 1]) / first[0]
        found -= (np.cumsum(self._pulls * single, axis=1) ** 2).sum(axis=0)
        if self.total is not None:
            found -= np.cumsum(self._shared) ** 2 / self._shared.sum()
        return np.asarray(self.spread * np.maximum(found, 0.0))[positions]

    @property
    def _along(self) -> Floats:
        """How what a known total has more than all estimates together is shared between them."""
        return np.asarray(self._shared / self._shared.sum())

    @cached_property
    def _shared(self) -> Floats:
        return np.asarray(self._free_times(np.ones((1, self.size)))[0])

    def _free_times(self, functionals: Floats) -> Floats:
        """The same before the total is used, for numbers of variance 1."""
        right = functionals / self._single
        return np.asarray((self._solve(right) - (right @ self._pulls.T) @ self._pulls) / self._single)

    def _solve(self, rows: Floats) -> Floats:
        from scipy.linalg import cho_solve_banded

        return np.asarray(cho_solve_banded((self._band, True), rows.T, check_finite=False).T)

    @property
    def _single(self) -> Floats:
        return np.asarray(self.sums.single.astype(np.float64))

    @cached_property
    def _band(self) -> Floats:
        from scipy.linalg import cholesky_banded

        overlaps = self.sums.overlaps[: min(len(self.sums.kernel), self.size)] * float(self.sums.width) ** 2
        return np.asarray(cholesky_banded(np.repeat(overlaps[:, None], self.size, axis=1), lower=True))

    @cached_property
    def _pulls(self) -> Floats:
        from scipy.linalg import solve_triangular

        rows = self.sums.between_bins(self.sums.sums.astype(np.float64))
        solved = self._solve(rows)
        inner = np.eye(len(rows)) + rows @ solved.T
        return np.asarray(solve_triangular(np.linalg.cholesky(inner), solved, lower=True))
