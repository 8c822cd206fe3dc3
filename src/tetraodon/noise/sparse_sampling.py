"""Records that lie at random places of their codes: drawn as far as somebody asks, and never twice."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tetraodon.exact.arrays import Bools, Ints
from tetraodon.noise.coins import Coins

STEP, STEPS = 16, 2
PLACES = 2 ** (STEP * STEPS)
"""Places in a code."""
MOST_VALUES = 2**30
"""So many codes have places that 64 bits can number."""
CHUNK = 1 << 22


@dataclass
class ScatteredRecords:
    """Records in rising order. The rank of a place is how many of them lie before it.

    `start` and `span` say where records may lie of which no more is known, `count` how many these are.
    """

    start: Ints
    span: Ints
    count: Ints
    size: int
    coins: Coins

    @classmethod
    def of(cls, codes: Ints, counts: Ints, size: int, coins: Coins) -> ScatteredRecords:
        """Pre   codes rise, and counts are above zero."""
        return cls(codes.astype(np.int64) * PLACES, np.full(len(codes), PLACES, np.int64), counts, size, coins)

    @property
    def total(self) -> int:
        return int(self.count.sum())

    def widths(self, low: int, high: int, together: int = 1) -> list[int]:
        """How many places have the ranks of each step from `low` to `high`, a step being so many ranks `together`."""
        ranks = np.minimum(np.arange(low, high + 2) * together, self.total + 1)
        while True:
            upto = np.cumsum(self.count)
            near = np.searchsorted(upto, ranks[(ranks > 0) & (ranks <= self.total)])
            if not self._drawn_at(near):
                break
        last, known = self.size * PLACES - 1, np.full(len(ranks), -1)
        known[(ranks > 0) & (ranks <= self.total)] = self.start[near]
        known[ranks > self.total] = last
        return [int(width) for width in np.diff(known)]

    def ranks(self, places: list[int]) -> list[int]:
        """The ranks of some places."""
        at = np.array(places, np.int64)
        while True:
            before = np.searchsorted(self.start, at)
            near = before[before > 0] - 1
            if not self._drawn_at(near[at[before > 0] < self.start[near] + self.span[near]]):
                return [int(rank) for rank in np.append(0, np.cumsum(self.count))[before]]

    def first(self, rank: int) -> int:
        """The first place with a rank. Pre   `widths` was asked for it."""
        return int(self.start[np.searchsorted(np.cumsum(self.count), rank)]) + 1 if rank else 0

    def _drawn_at(self, near: Ints) -> bool:
        """Whether more had to be drawn of some stretches."""
        which = np.zeros(len(self.count), np.bool_)
        which[near] = self.span[near] > 1
        if which.any():
            self._draw(which)
        return bool(which.any())

    def _draw(self, which: Bools) -> None:
        """Draw where the records of some stretches lie in them, a few bits each, not too many at once."""
        start, span, upto = self.start[which], self.span[which] >> STEP, np.cumsum(self.count[which])
        parts = [(self.start[~which], self.span[~which], self.count[~which])]
        for begin in range(0, int(upto[-1]), CHUNK):
            own = np.searchsorted(upto, np.arange(begin, min(begin + CHUNK, int(upto[-1]))), side="right")
            drawn = start[own] + self.coins.draw(len(own), STEP).astype(np.int64) * span[own]
            places, at, many = np.unique(drawn, return_index=True, return_counts=True)
            parts.append((places, span[own][at], many))
        starts, spans, counts = (np.concatenate(part) for part in zip(*parts, strict=True))
        self.start, at, same = np.unique(starts, return_index=True, return_inverse=True)
        self.span, self.count = spans[at], np.zeros(len(at), np.int64)
        np.add.at(self.count, same, counts)
