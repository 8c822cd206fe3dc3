"""How many rows fall in each cell: the only thing an engine says about a table, unless its records forbid to count."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tetraodon.arrays import Ints
from tetraodon.domain import Domain
from tetraodon.errors import DataRefusal, QueryError, did_you_mean
from tetraodon.whole_sums import MOST_ROWS


@dataclass(frozen=True)
class Counts:
    """Exact counts by some attributes; cells that hold nobody are left out.

    Attributes
    ----------
    names:  the attributes, in the order of the columns of `codes`.
    codes:  one row per cell, in lexicographic order; int64.
    counts: how many rows of the table are in that cell; int64. Without attributes, one cell holds all.
    sums:   for attributes that were to be added up, the sum of their codes over the rows of that cell; int64.

    >>> counts = Counts(("a", "b"), np.array([[0, 1], [2, 0]]), np.array([3, 4]))
    >>> counts.total, counts.by(()).counts.tolist(), counts.by(("b",)).codes.tolist()
    (7, [7], [[0], [1]])
    """

    names: tuple[str, ...]
    codes: Ints
    counts: Ints
    sums: Mapping[str, Ints] = field(default_factory=dict)

    def __post_init__(self) -> None:
        fits = all(len(sums) == len(self.counts) for sums in self.sums.values())
        if not fits or self.codes.shape != (len(self.counts), len(self.names)):
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
        return summed(wanted, self.codes[:, [self.names.index(name) for name in wanted]], self.counts, self.sums)


def summed(
    names: tuple[str, ...],
    codes: Ints,
    counts: Ints,
    sums: Mapping[str, Ints] | None = None,
) -> Counts:
    """Counts and sums from cells in any order, equal cells added up and empty ones dropped."""
    given = sums or {}
    if not names:
        totals = {name: np.array([values.sum()], np.int64) for name, values in given.items()}
        return Counts((), np.zeros((1, 0), np.int64), np.array([counts.sum()], np.int64), totals)
    order = np.lexsort(codes.T[::-1])
    order = order[counts[order] != 0]
    codes, counts = codes[order], counts[order]
    fresh = np.ones(len(codes), dtype=bool)
    fresh[1:] = (codes[1:] != codes[:-1]).any(axis=1)
    starts = np.flatnonzero(fresh)
    added = {name: _added(values[order], starts) for name, values in given.items()}
    return Counts(names, np.ascontiguousarray(codes[starts]), _added(counts, starts), added)


def require_sound(counted: Counts, domain: Domain) -> None:
    """Refuse an endless table, and never let a code out that the domain does not have."""
    if counted.total > MOST_ROWS:
        raise DataRefusal("the table has more rows than can be added up exactly", fix="release parts of it")
    for name, codes in zip(counted.names, counted.codes.T, strict=True):
        if len(codes) and (int(codes.min()) < 0 or int(codes.max()) >= domain[name].size):
            raise DataRefusal("a row was numbered outside the domain", fix="report this as a bug", where=name)


def _added(values: Ints, starts: NDArray[np.intp]) -> Ints:
    return np.asarray(np.add.reduceat(values, starts) if len(starts) else values, np.int64)
