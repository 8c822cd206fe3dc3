"""Least squares over running counts that were added up by a kernel: a band, and nothing else.

The products of the rows are those of the kernel at each distance, a Toeplitz matrix T of the running counts but for the
last one, which is the known total. So their covariance is T^-1, and values are differences of running counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tetraodon.arrays import Floats, Ints
from tetraodon.workload.smooth_running import SmoothRunning
from tetraodon.workload.smooth_sums import lowest_of, overlaps_of


@dataclass(frozen=True, eq=False)
class RunningFit:
    """The linear estimate with the least variance, given the total. `spread` is the variance of each number, in squares
    of the unit.
    """

    sums: SmoothRunning
    spread: float

    @property
    def size(self) -> int:
        return self.sums.size

    @property
    def leaves(self) -> Floats:
        """Variances that add up to at least that of any number of values.

        Why   a set of values is a sum of at most twice as many running counts, with signs.
        """
        return np.full(self.size, 2 * self.spread / lowest_of(self.sums.kernel))

    def counts(self, measured: Floats, total: Floats) -> Floats:
        """The estimates of all values, a row for each row of measured numbers."""
        running = self._solve(self.sums.pull(measured))
        return np.diff(np.column_stack([running, total]), axis=1, prepend=0.0)

    def covariance_times(self, functionals: Floats) -> Floats:
        """Cov(x) f for every row f."""
        running = self._solve(functionals[:, :-1] - functionals[:, 1:])
        return np.asarray(self.spread * np.diff(running, axis=1, prepend=0.0, append=0.0))

    def running_variances(self, positions: Ints) -> Floats:
        """The variance of the running count up to each position, itself included.

        Why   T^-1 = (L L' - M M') / x_0: x is its first column, L has the columns x, x one lower, ..., and M those of x
              turned round (Gohberg and Semencul). So its diagonal is two running sums of squares.
        """
        first = self._solve(np.eye(1, self.size - 1))[0]
        turned = np.append(0.0, first[:0:-1])
        return np.append(self.spread * np.cumsum(first**2 - turned**2) / first[0], 0.0)[positions]

    def _solve(self, rows: Floats) -> Floats:
        from scipy.linalg import cho_solve_banded

        return np.asarray(cho_solve_banded((self._band, True), rows.T, check_finite=False).T)

    @cached_property
    def _band(self) -> Floats:
        from scipy.linalg import cholesky_banded

        overlaps = overlaps_of(self.sums.kernel)[: self.size - 1].astype(np.float64)
        return np.asarray(cholesky_banded(np.repeat(overlaps[:, None], self.size - 1, axis=1), lower=True))
