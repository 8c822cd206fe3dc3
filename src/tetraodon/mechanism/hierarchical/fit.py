"""Least squares over the counts of an attribute: smoothed bins and running sums, bumps, kernels, any weighted sums."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from tetraodon.errors import QueryError
from tetraodon.exact.arrays import Floats, Ints
from tetraodon.query.smooth import SmoothRunning, SmoothSums, lowest_of, overlaps_of

# -- a known total ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LinearFit(ABC):
    """The linear estimate with the least variance from noisy numbers, and from the sum of all values where that is
    known, or measured by itself. Tables are rows.
    """

    @property
    @abstractmethod
    def total(self) -> float | None:
        """The variance of the total: 0 where it is known, None where it was not measured."""

    @abstractmethod
    def free_times(self, rows: Floats) -> Floats:
        """Cov(x) f for every row f, before the total is used."""

    @cached_property
    @abstractmethod
    def ones(self) -> Floats:
        """Cov(x) 1, before the total is used: how what a total has more is shared between the values."""

    def estimates(self, pull: Floats, total: Floats | None) -> Floats:
        """The best values, from noisy numbers times their columns over their variances; `total` where it is known."""
        return self._with_sums(self.free_times(pull), total)

    def covariance_times(self, rows: Floats) -> Floats:
        """Cov(x) f for every row f."""
        return self._with_sums(self.free_times(rows), np.zeros(len(rows)))

    def _with_sums(self, found: Floats, sums: Floats | None) -> Floats:
        """The same rows, changed by multiples of `ones` towards sums that are as well known as the total."""
        if sums is None or self.total is None:
            return found
        return np.asarray(found + np.outer((sums - found.sum(axis=1)) / (self.ones.sum() + self.total), self.ones))


# -- banded -----------------------------------------------------------------------------------------
# Least squares over smooth sums and bumps, without a matrix as large as the square of the attribute.
#
# With S the weights of the values, c the products of bumps, which are near the diagonal only, and B the sums at all
# values, the products of all columns are S (c + B'B) S. So solving takes a band and as many numbers as there are sums:
#
#     (c + B'B)^-1 = c^-1 - Z'Z,    Z = (1 + B c^-1 B')^-1/2 B c^-1.


@dataclass(frozen=True, eq=False)
class BandedFit(LinearFit):
    """Values from smooth sums and bumps. `spread` is the variance of each number, in squares of the unit."""

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
        return self.estimates(self.sums.pull(measured) / self.spread, total)

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
            found -= np.cumsum(self.ones) ** 2 / self.ones.sum() / self.spread
        return np.asarray(self.spread * np.maximum(found, 0.0))[positions]

    @cached_property
    def ones(self) -> Floats:
        return np.asarray(self.free_times(np.ones((1, self.size)))[0])

    def free_times(self, rows: Floats) -> Floats:
        right = rows / self._single
        return np.asarray(self.spread * (self._solve(right) - (right @ self._pulls.T) @ self._pulls) / self._single)

    def _solve(self, rows: Floats) -> Floats:
        return _solved(self._band, rows)

    @property
    def _single(self) -> Floats:
        return np.asarray(self.sums.single.astype(np.float64))

    @cached_property
    def _band(self) -> Floats:
        return _banded_root(np.asarray(self.sums.overlaps[:-1] * float(self.sums.width) ** 2), self.size)

    @cached_property
    def _pulls(self) -> Floats:
        from scipy.linalg import solve_triangular

        rows = self.sums.between_bins(self.sums.sums.astype(np.float64))
        solved = self._solve(rows)
        inner = np.eye(len(rows)) + rows @ solved.T
        return np.asarray(solve_triangular(np.linalg.cholesky(inner), solved, lower=True))


# -- running fit ------------------------------------------------------------------------------------
# Least squares over running counts that were added up by a kernel: a band, and nothing else.
#
# The products of the rows are those of the kernel at each distance, a Toeplitz matrix T of the running counts but for
# the last one, which is the known total. So their covariance is T^-1, and values are differences of running counts.


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
        return _solved(self._band, rows)

    @cached_property
    def _band(self) -> Floats:
        return _banded_root(overlaps_of(self.sums.kernel).astype(np.float64), self.size - 1)


def _banded_root(overlaps: Floats, size: int) -> Floats:
    """The Cholesky factor of a banded Toeplitz matrix."""
    from scipy.linalg import cholesky_banded

    return np.asarray(cholesky_banded(np.repeat(overlaps[:size, None], size, axis=1), lower=True))


def _solved(root: Floats, rows: Floats) -> Floats:
    """Every row times the inverse of the matrix with that factor."""
    from scipy.linalg import cho_solve_banded

    return np.asarray(cho_solve_banded((root, True), rows.T, check_finite=False).T)


# -- single values and sums ---------------------------------------------------------------------------
# Least squares over single values and any sums of them. With D the weights of single values and B the sums,
#
#     (D^2 + B'B)^-1 = D^-2 - Z'Z,    Z = (1 + B D^-2 B')^-1/2 B D^-2,
#
# so that as many numbers as there are sums are solved for.


@dataclass(frozen=True, eq=False)
class WeightedFit(LinearFit):
    """Values of an attribute, each times a weight in `single`, and `sums` of them, each with variance `spread`."""

    single: Floats
    sums: Floats
    spread: float
    total: float | None = None

    @property
    def size(self) -> int:
        return len(self.single)

    @property
    def leaves(self) -> Floats:
        """The variance of each value by itself."""
        return np.asarray(self.spread / self.single**2)

    def counts(self, measured: Floats, total: Floats | None) -> Floats:
        """The estimates of all values, a row for each row of single values and sums; `total` where it is known."""
        values, sums = measured[:, : self.size], measured[:, self.size :]
        return self.estimates((values * self.single + sums @ self.sums) / self.spread, total)

    def running_variances(self, positions: Ints) -> Floats:
        """The variance of the running count up to each position, itself included."""
        found = np.cumsum(self.leaves) - self.spread * (np.cumsum(self._pulls, axis=1) ** 2).sum(axis=0)
        if self.total is not None:
            found -= np.cumsum(self.ones) ** 2 / (self.ones.sum() + self.total)
        return np.asarray(np.maximum(found, 0.0)[positions])

    def free_times(self, rows: Floats) -> Floats:
        return np.asarray(rows * self.leaves - self.spread * (rows @ self._pulls.T) @ self._pulls)

    @cached_property
    def ones(self) -> Floats:
        return np.asarray(self.free_times(np.ones((1, self.size)))[0])

    @cached_property
    def _pulls(self) -> Floats:
        from scipy.linalg import solve_triangular

        solved = self.sums / self.single**2
        inner = np.eye(len(solved)) + solved @ self.sums.T
        return np.asarray(solve_triangular(np.linalg.cholesky(inner), solved, lower=True))


# -- least squares ----------------------------------------------------------------------------------

MOST_KNOTS = 2048
"""Bins for which what they ask of each other is written out."""
WRITTEN_OUT = 512
"""Counts whose covariance is written out."""
NUMBERS = 2**21
"""How many numbers of right sides are solved for together: some 16 MB, copied a few times."""
PULLED = 8
"""How many bins there may be for each row, for what bins ask of each other to be worked out once for all rows."""


@dataclass(frozen=True)
class Level:
    """What was measured at one width: variances, in records squared, of its bins and of its running sums."""

    width: int
    bins: float | None = None
    running: float | None = None

    def __post_init__(self) -> None:
        given = [v for v in (self.bins, self.running) if v is not None]
        if self.width < 2 or not given or not all(0 < v < np.inf for v in given):
            raise QueryError("a level of smoothed counts measures nothing", fix="use a width above 1 and variances")


@dataclass(frozen=True)
class SmoothFit(LinearFit):
    """Counts of single values, with variance `leaves`, and at some widths the bins of `Hats` or the sums of `Ramps`.

    Widths divide each other, so that bins of any width are sums of those of the finest; and running sums, each less the
    one before, are bins with correlated noise. With h = H x the finest bins, M h all that was measured of them and N
    the covariance of its noise over `leaves`,

        Cov(x) = leaves (1 - H'M' S^-1 M H),    S = M H H' M' + N,

    before a total is used: a sparse system, about as long as there are bins.
    """

    size: int
    leaves: float
    levels: tuple[Level, ...]
    total: float | None = 0.0

    def __post_init__(self) -> None:
        widths = [level.width for level in self.levels]
        if not widths or any(b % a or a == b for a, b in pairwise(widths)):
            raise QueryError("widths of smoothed counts do not divide each other", fix="use multiples, finest first")

    def counts(
        self, leaves: Floats, bins: Mapping[int, Floats], running: Mapping[int, Floats], total: Floats
    ) -> Floats:
        """The counts that fit all measurements best; measurements by width, one row each, in records.

        Pre   the last axis of everything but `total` runs along the attribute; all others agree.
        """
        given = []
        for level in self.levels:
            given += [] if level.bins is None else [bins[level.width]]
            given += [] if level.running is None else [np.diff(running[level.width], axis=-1, prepend=0.0)]
        rows = self._measured[0] @ self._hats
        pull = self._solver.solve(np.concatenate(given, axis=-1).T[self._order] - rows @ leaves.T)
        return self._with_sums(leaves + (rows.T @ pull).T, total)

    def free_times(self, rows: Floats) -> Floats:
        """For more rows than there are counts it is quicker to write the covariance out, and for many rows, to know
        what the finest bins ask of each other ([HMD14] leaves this inference open).
        """
        if len(rows) > self.size <= WRITTEN_OUT:
            return np.asarray(rows @ self._free)
        bins = self._hats @ rows.T
        pull = self._pulls @ bins if len(bins) <= min(MOST_KNOTS, PULLED * len(rows)) else self._pull(bins)
        return np.asarray(self.leaves * (rows - (self._hats.T @ pull).T))

    @cached_property
    def ones(self) -> Floats:
        return np.asarray(self.free_times(np.ones((1, self.size)))[0])

    @cached_property
    def _free(self) -> Floats:
        return self.free_times(np.eye(self.size))

    def running_variances(self, positions: Ints) -> Floats:
        """Variances of the running counts at given codes.

        Why   for many codes, it is quicker to know what the finest bins ask of each other than to solve for each code.
        """
        ends, knots, width = np.asarray(positions), self._hats.shape[0], self.levels[0].width
        if knots < len(ends) and knots <= MOST_KNOTS:
            told = prefix_forms(self._pulls, ends, width)
        else:
            told, together = np.empty(len(ends)), max(1, min(64, NUMBERS // self._measured[0].shape[0]))
            for start in range(0, len(ends), together):
                part = slice(start, start + together)
                bins = prefix_bins(ends[part], width, knots)
                told[part] = np.einsum("ij,ij->j", bins, self._pull(bins))
        found = self.leaves * (ends + 1 - told)
        if self.total is not None:
            found -= np.cumsum(self.ones)[ends] ** 2 / (self.ones.sum() + self.total)
        return np.maximum(found, 0.0)

    def steps(self, width: int) -> int:
        """How many running sums there are at a width."""
        return -(-(self.size - 1) // width)

    @cached_property
    def _hats(self) -> Any:
        return hats_matrix(self.size, self.levels[0].width)

    @cached_property
    def _measured(self) -> tuple[Any, Any]:
        """M and N."""
        from scipy import sparse

        rows, noise = [], []
        for level in self.levels:
            bins = hats_matrix(self._hats.shape[0], level.width // self.levels[0].width)
            if level.bins is not None:
                rows.append(bins)
                noise.append(level.bins / self.leaves * sparse.identity(bins.shape[0]))
            if level.running is not None:
                steps = bins.shape[0] - 1
                less = sparse.diags([1.0, -1.0], [0, -1], shape=(steps, steps))
                rows.append(bins[:-1])
                noise.append(level.running / self.leaves * (less @ less.T))
        order = self._order
        return sparse.vstack(rows, format="csr")[order], sparse.block_diag(noise, format="csr")[order][:, order]

    @cached_property
    def _order(self) -> Ints:
        """Everything measured by where it ends along the attribute, so that nothing is far from what it meets."""
        ends = []
        for level in self.levels:
            every = (np.arange(self.steps(level.width) + 1) + 1) * level.width
            ends += [every] * (level.bins is not None) + [every[:-1]] * (level.running is not None)
        return np.argsort(np.concatenate(ends), kind="stable")

    @cached_property
    def _solver(self) -> Any:
        from scipy.sparse.linalg import splu

        rows, noise = self._measured
        seen = (rows @ (self._hats @ self._hats.T) @ rows.T + noise).tocsc()
        return splu(seen, permc_spec="NATURAL", diag_pivot_thresh=0.0, options={"SymmetricMode": True})

    def _pull(self, bins: Floats) -> Floats:
        """M' S^-1 M times columns of bins."""
        rows = self._measured[0]
        return np.asarray(rows.T @ self._solver.solve(rows @ bins))

    @cached_property
    def _pulls(self) -> Floats:
        """What the finest bins ask of each other: M' S^-1 M."""
        knots = self._hats.shape[0]
        parts = [self._pull(np.eye(knots, min(64, knots - start), -start)) for start in range(0, knots, 64)]
        return np.concatenate(parts, axis=1)


def prefix_bins(positions: Ints, width: int, rows: int) -> Floats:
    """The bins, in records, of one record of every code up to a position; a column for each position.

    Pre   the width is at least 2.

    Why   a bin takes (width + 1) / 2 from its knot onwards and (width - 1) / 2 from before it.
    """
    full, rest = np.divmod(np.asarray(positions) + 1, width)
    columns = np.arange(len(full))
    row = np.arange(rows)[:, None]
    bins = np.where(row < full, float(width), 0.0)
    bins[0, full > 0] = (width + 1) / 2
    moved_on = rest * (rest - 1) / 2 / width
    bins[full, columns] = np.where(full > 0, (width - 1) / 2, 0.0) + rest - moved_on
    inside = full + 1 < rows
    bins[(full + 1)[inside], columns[inside]] += moved_on[inside]
    return bins


def prefix_forms(pulls: Floats, positions: Ints, width: int) -> Floats:
    """b' P b for b the columns of `prefix_bins` and P a symmetric matrix over bins, without writing b out.

    Why   b is w from the second bin on, (w + 1) / 2 in the first and (w - 1) / 2 in the last that is passed, and moves
          along two unit vectors from there. So cumulative sums of P, along both sides, hold all that is needed.
    """
    knots = len(pulls)

    def up_to(rows: Floats) -> Floats:
        """Sums of rows with the weights of a prefix that ends at each knot."""
        passed = width * (np.cumsum(rows, axis=0) - rows) + (width - 1) / 2 * rows - (width - 1) / 2 * rows[0]
        passed[0] = 0.0
        return np.asarray(passed)

    half = up_to(pulls)  # row f is P times the prefix that ends at knot f
    whole = np.diagonal(up_to(half.T))
    full, rest = np.divmod(np.asarray(positions) + 1, width)
    after = np.minimum(full + 1, knots - 1)
    on = np.where(full + 1 < knots, rest * (rest - 1) / 2 / width, 0.0)
    here = rest - rest * (rest - 1) / 2 / width
    squares = here**2 * pulls[full, full] + 2 * here * on * pulls[full, after] + on**2 * pulls[after, after]
    return np.asarray(whole[full] + 2 * (here * half[full, full] + on * half[full, after]) + squares)


def hats_matrix(size: int, width: int) -> Any:
    """The bins of `Hats` as a sparse matrix, in records."""
    from scipy import sparse

    code = np.arange(size)
    k, r = np.divmod(code, width)
    inner = r > 0
    rows = np.concatenate([k, k[inner] + 1])
    values = np.concatenate([1 - r / width, r[inner] / width])
    return sparse.csr_matrix((values, (rows, np.concatenate([code, code[inner]]))), (-(-(size - 1) // width) + 1, size))


def levels_of(bins: Sequence[tuple[int, float]], running: Sequence[tuple[int, float]]) -> tuple[Level, ...]:
    """Levels by width, finest first, from (width, variance) pairs."""
    hats, ramps = dict(bins), dict(running)
    return tuple(Level(width, hats.get(width), ramps.get(width)) for width in sorted(hats.keys() | ramps.keys()))
