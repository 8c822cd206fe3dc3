"""What is asked of the values of an attribute, as a matrix W'W: for every pair, how many answers hold both."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np

from tetraodon.arrays import Floats
from tetraodon.questions.query import EveryRange, ListedRanges, RunningCounts

Sought: TypeAlias = RunningCounts | EveryRange | ListedRanges


@dataclass(frozen=True)
class AskedPairs:
    """W'W for a question about an attribute of some `size`; written out only where ranges are listed.

    Why   values i <= j are both in n - j running counts, and in (i + 1)(n - j) ranges: a product of one factor for each
          end, so that multiplying by it takes two running sums.
    """

    reading: Sought
    size: int

    def times(self, rows: Floats) -> Floats:
        """Every row times W'W."""
        if isinstance(self.reading, ListedRanges):
            return np.asarray(rows @ self._written)
        before, after = self._factors
        below = np.cumsum(rows * before, axis=1)
        above = np.cumsum((rows * after)[:, ::-1], axis=1)[:, ::-1]
        return np.asarray(below * after + (above - rows * after) * before)

    @cached_property
    def diagonal(self) -> Floats:
        """How many answers hold each value."""
        if isinstance(self.reading, ListedRanges):
            return np.diag(self._written)
        before, after = self._factors
        return before * after

    @cached_property
    def _factors(self) -> tuple[Floats, Floats]:
        codes = np.arange(self.size, dtype=np.float64)
        return (codes + 1 if isinstance(self.reading, EveryRange) else np.ones(self.size)), self.size - codes

    @cached_property
    def _written(self) -> Floats:
        assert isinstance(self.reading, ListedRanges)
        codes = np.arange(self.size)
        rows = np.array([(a <= codes) & (codes <= b) for a, b in self.reading.ends], np.float64)
        return np.asarray(rows.T @ rows)
