"""Least squares over single values and any sums of them, with every matrix written out: for short attributes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tetraodon.arrays import Floats, Ints


@dataclass(frozen=True, eq=False)
class WrittenOutFit:
    """Values of an attribute, each times a weight, and sums of them: the rows of `weights`, with variance `spread`.

    `total` is 0 where the sum of all values is known, as in `SmoothFit`; None where it is not.
    """

    weights: Floats
    spread: float
    total: float | None = None
    inverse: Floats | None = None
    """That of W'W, where it is known from another scale of noise."""

    @property
    def size(self) -> int:
        return int(self.weights.shape[1])

    @property
    def leaves(self) -> Floats:
        """The variance of each value by itself."""
        return np.asarray(self.spread / np.diag(self.weights) ** 2)

    def counts(self, measured: Floats, total: Floats | None) -> Floats:
        """The estimates of all values, a row for each row of single values and sums; `total` where it is known."""
        found = measured @ self.weights / self.spread @ self._free
        if total is None:
            return np.asarray(found)
        along = self._free.sum(axis=0)
        return np.asarray(found + np.outer(total - found.sum(axis=1), along / along.sum()))

    def covariance_times(self, functionals: Floats) -> Floats:
        """Cov(x) f for every row f."""
        return np.asarray(functionals @ self._covariance)

    def running_variances(self, positions: Ints) -> Floats:
        """The variance of the running count up to each position, itself included."""
        return np.asarray(np.diag(self._covariance.cumsum(axis=0).cumsum(axis=1))[positions])

    @cached_property
    def _free(self) -> Floats:
        """The covariance before the total is used."""
        inverse = inverse_of_squares(self.weights) if self.inverse is None else self.inverse
        return np.asarray(inverse * self.spread)

    @cached_property
    def _covariance(self) -> Floats:
        if self.total is None:
            return self._free
        along = self._free.sum(axis=0)
        return np.asarray(self._free - np.outer(along, along) / along.sum())


def inverse_of_squares(weights: Floats) -> Floats:
    """The inverse of W'W."""
    return np.asarray(np.linalg.inv(weights.T @ weights))
