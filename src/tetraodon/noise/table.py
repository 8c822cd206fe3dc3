"""Exact and fast sampling from a law: a guide table on the first bits, more bits only where needed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tetraodon.errors import NoiseError
from tetraodon.noise.coins import Coins, Words
from tetraodon.noise.law import Law
from tetraodon.noise.threshold import floors, settle

Integers = NDArray[np.int64]

_MARK = -(1 << 15)  # in the guide: the first bits do not decide


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A law laid out on [0, 1), and the outcome each first word decides.

    A uniform number U picks the outcome i with P(outcome < i) <= U < P(outcome <= i). Its bits are drawn
    in three stages, each only when the one before leaves two outcomes possible:

    1. `lead` bits: `guide` holds the value when no threshold lies in the word's cell, else a mark.
    2. `rest` more bits, v in all: `floor[i]`, the whole part of the i-th threshold, decides unless
       v is equal to it.
    3. `settle`: further bits against ever narrower integer bounds.

    Post  the values have exactly the law's distribution if the coins are fair; no float is involved.
    Why   stage 1 is the same work for every word. A few per cent of the words go on, so that the time a
          batch takes tells at most how many of its words did, not which.
    """

    law: Law
    lead: int
    rest: int
    guide: NDArray[np.int16]
    first: NDArray[np.int32]
    floor: NDArray[np.uint64]

    def draw(self, count: int, coins: Coins) -> Integers:
        """`count` independent values of the law."""
        words = coins.draw(count, self.lead)
        known = self.guide.take(words, mode="wrap")
        marked = np.flatnonzero(known == _MARK)
        values = known.astype(np.int64)
        if marked.size:
            values[marked] = self._second(words[marked], coins)
        return values

    def _second(self, words: Words, coins: Coins) -> Integers:
        more = coins.draw(len(words), self.rest).astype(np.uint64)
        drawn = words.astype(np.uint64) << np.uint64(self.rest) | more
        # Few cells hold two thresholds: a step past the cell's first one is nearly always the answer.
        outcome = self.first[words].astype(np.int64)
        outcome += self.floor[outcome] < drawn
        late = np.flatnonzero(self.floor[outcome] < drawn)
        outcome[late] = np.searchsorted(self.floor, drawn[late], side="left")
        for tie in np.flatnonzero(self.floor[outcome] == drawn):
            width = self.lead + self.rest
            outcome[tie] = settle(self.law, int(drawn[tie]), width, coins, self.rest)
        return _values(self.law, outcome)


def build(law: Law, *, lead: int = 16, rest: int = 48) -> Table:
    """The table of a law on words of `lead` bits, with `rest` more for the words that need them.

    Pre   lead <= 16, lead + rest <= 64.
    """
    floor = np.array(floors(law, lead + rest), dtype=np.uint64)
    start = np.arange(1 << lead, dtype=np.uint64) << np.uint64(rest)
    end = start + np.uint64((1 << rest) - 1)
    first = np.searchsorted(floor, start, side="left")
    cut = np.searchsorted(floor, end, side="right") > first
    guide = np.where(cut, _MARK, _values(law, first))
    if np.abs(guide[~cut]).max(initial=0) >= -_MARK:
        raise NoiseError("a table is too wide for its guide", fix="use blocks of neighbours")
    return Table(law, lead, rest, guide.astype(np.int16), first.astype(np.int32), floor)


def _values(law: Law, outcome: NDArray[np.signedinteger]) -> Integers:
    if not law.two_sided:
        return outcome.astype(np.int64)
    return (outcome >> 1) ^ -(outcome & 1)
