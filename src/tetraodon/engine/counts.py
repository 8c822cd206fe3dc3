"""How many rows fall in each cell: the only thing an engine says about a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tetraodon.errors import QueryError, did_you_mean


@dataclass(frozen=True)
class Counts:
    """Exact counts by some attributes; cells that hold nobody are left out.

    Attributes
    ----------
    names:  the attributes, in the order of the columns of `codes`.
    codes:  one row per cell, in lexicographic order; int64.
    counts: how many rows of the table are in that cell; int64. Without attributes, one cell holds all.

    >>> counts = Counts(("a", "b"), np.array([[0, 1], [2, 0]]), np.array([3, 4]))
    >>> counts.total, counts.by(()).counts.tolist(), counts.by(("b",)).codes.tolist()
    (7, [7], [[0], [1]])
    """

    names: tuple[str, ...]
    codes: NDArray[np.int64]
    counts: NDArray[np.int64]

    def __post_init__(self) -> None:
        if self.codes.shape != (len(self.counts), len(self.names)):
            raise QueryError("codes and counts do not fit together", fix="give one row of codes per count")

    @property
    def total(self) -> int:
        """How many rows were counted."""
        return int(self.counts.sum())

    def by(self, names: Sequence[str]) -> Counts:
        """The same counts by fewer attributes, or by the same ones in another order."""
        wanted = tuple(names)
        if wanted == self.names:
            return self
        for name in wanted:
            if name not in self.names:
                raise QueryError(f"these counts are not by {name!r}", fix=did_you_mean(name, self.names)) from None
        return summed(wanted, self.codes[:, [self.names.index(name) for name in wanted]], self.counts)


def summed(names: tuple[str, ...], codes: NDArray[np.int64], counts: NDArray[np.int64]) -> Counts:
    """Counts from cells in any order, equal cells added up and empty ones dropped."""
    if not names:
        return Counts((), np.zeros((1, 0), np.int64), np.array([counts.sum()], np.int64))
    held = counts != 0
    codes, counts = codes[held], counts[held]
    order = np.lexsort(codes.T[::-1])
    codes, counts = codes[order], counts[order]
    fresh = np.ones(len(codes), dtype=bool)
    fresh[1:] = (codes[1:] != codes[:-1]).any(axis=1)
    starts = np.flatnonzero(fresh)
    sums = np.add.reduceat(counts, starts) if len(starts) else counts
    return Counts(names, np.ascontiguousarray(codes[starts]), sums.astype(np.int64))
