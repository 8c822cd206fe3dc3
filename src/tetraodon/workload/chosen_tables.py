"""Tables of two attributes at a time, chosen one after the other for what those before do not tell.

This is no linear query. First every attribute is counted by itself, with noise; then, round by round, a pair of
attributes is drawn with chances that rise with how far off its counts still are, and counted, with noise
(`mechanism/chosen_tables.py`). What that costs is at most what linear queries cost (`certificate/choice_loss.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import isqrt
from typing import TYPE_CHECKING, ClassVar, TypeAlias

import numpy as np

from tetraodon.arrays import Ints
from tetraodon.errors import QueryError
from tetraodon.noise.laws import Currency, NoiseLaw
from tetraodon.workload.not_linear import NotLinear

if TYPE_CHECKING:
    from tetraodon.workload.linear import Split

Pair: TypeAlias = tuple[int, int]
"""Two places among the attributes, the smaller first."""
MOST_CELLS = 10_000
"""A pair with more cells than this is never chosen: noise would drown it."""
WIDER = {Currency.PURE: (Fraction(4), Fraction(9)), Currency.ZCDP: (Fraction(2), Fraction(5, 2))}
"""How much wider than the noise on a chosen table that on one attribute is, and that in the choice of a pair."""


@dataclass(frozen=True)
class ChosenTables(NotLinear):
    """Counts by each of some attributes, then by `rounds` pairs of them that are chosen.

    free:  places of attributes that no secret changes. They are told exactly, alone and two by two.
    total: whether the number of records is told exactly. Without it nothing is free.
    most:  how many of the pairs may share an attribute that is not free; 0 means any number.
    """

    splits: tuple[Split, ...]
    sizes: tuple[int, ...]
    rounds: int
    most: int = 0
    free: tuple[int, ...] = ()
    total: bool = False
    unit: Fraction = Fraction(1)

    refusal: ClassVar = (QueryError, "tables that are chosen are no sums over records", "certify what dominates them")

    def __post_init__(self) -> None:
        places = range(len(self.splits))
        fits = len(self.sizes) == len(self.splits) > len(self.free) and min(self.sizes) >= 1
        if not fits or list(self.free) != sorted(set(self.free) & set(places)) or (self.free and not self.total):
            raise QueryError("no tables can be chosen of these attributes", fix="name some that are secret, each once")
        if not 0 <= self.rounds <= len(self.pairs) or self.most < 0:
            raise QueryError("so many tables cannot be chosen", fix=f"choose up to {len(self.pairs)}")

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(split.name for split in self.splits)

    @property
    def secret(self) -> tuple[int, ...]:
        """Places of the attributes that are not free."""
        return tuple(place for place in range(len(self.splits)) if place not in self.free)

    @cached_property
    def pairs(self) -> tuple[Pair, ...]:
        """What can be chosen."""
        every = combinations(range(len(self.splits)), 2)
        return tuple(p for p in every if self.cells(p) <= MOST_CELLS and not set(p) <= set(self.free))

    @property
    def given(self) -> tuple[tuple[int, ...], ...]:
        """Places of the attributes of every table that is not chosen, in their order; none for the total."""
        alone = [(place,) for place in range(len(self.splits))]
        both = [pair for pair in combinations(self.free, 2) if self.cells(pair) <= MOST_CELLS]
        return (*((),) * self.total, *alone, *both)

    def cells(self, places: tuple[int, ...]) -> int:
        """How many cells a table of some attributes has."""
        found = 1
        for place in places:
            found *= self.sizes[place]
        return found

    @cached_property
    def longest(self) -> int:
        """The cells of the largest table that can be chosen; all are told as if they had so many."""
        return max((self.cells(pair) for pair in self.pairs), default=0)

    @cached_property
    def rows(self) -> int:
        """How many numbers are told: the tables that are given; then for each round a pair, and its cells."""
        return sum(map(self.cells, self.given)) + self.rounds * (2 + self.longest)

    def open(self, chosen: list[Pair]) -> list[Pair]:
        """What can be chosen after others."""
        often = [sum(place in pair for pair in chosen) for place in range(len(self.splits))]
        full = {place for place in self.secret if self.most and often[place] >= self.most}
        return [pair for pair in self.pairs if pair not in chosen and full.isdisjoint(pair)]

    def wider(self, noise: NoiseLaw) -> tuple[Fraction, Fraction]:
        """The scales of the noise on one attribute, and in a choice, in multiples of that on a chosen table.

        Why   where few of the chosen tables move at once each has less noise, and choices would cost most of all.
        """
        alone, choice = WIDER[noise.currency]
        times = Fraction(self.rounds, self.most) if self.most else Fraction(1)
        root = times if noise.currency is Currency.PURE else Fraction(isqrt(int(100 * times)), 10)
        return alone, choice * max(root, Fraction(1))

    def read(self, told: Ints) -> tuple[list[tuple[tuple[int, ...], Ints]], list[tuple[Pair, Ints]]]:
        """The tables that are given, and those that were chosen, from the numbers told.

        Raises ValueError where no such numbers could have been told.
        """
        flat, at, given = told.ravel(), 0, []
        for places in self.given:
            given.append((places, flat[at : at + self.cells(places)]))
            at += self.cells(places)
        chosen: list[tuple[Pair, Ints]] = []
        for line in flat[at:].reshape(self.rounds, 2 + self.longest):
            first, second = line[:2].tolist()
            if (first, second) == (-1, -1) and not line[2:].any() and not self.open([pair for pair, _ in chosen]):
                continue
            if (first, second) not in self.open([pair for pair, _ in chosen]):
                raise ValueError("a pair that could not have been chosen")
            cells = self.cells((first, second))
            if line[2 + cells :].any():
                raise ValueError("more cells than a pair has")
            chosen.append(((first, second), line[2 : 2 + cells]))
        return given, chosen

    def counted(self, codes: Ints, counts: Ints) -> Ints:
        """Records as rows: the bin of each attribute, and how many have these."""
        bins = [split.of(codes[:, place]) for place, split in enumerate(self.splits)]
        return np.column_stack([*bins, counts]).astype(np.int64)

    def told(self, numbers: Ints) -> bool:
        """Whether these could have been told."""
        try:
            given, _ = self.read(numbers)
        except ValueError:
            return False
        exact = [table for places, table in given if set(places) <= set(self.free)]
        return all((table >= 0).all() for table in exact) and len({int(table.sum()) for table in exact}) <= 1

    def line(self, pair: Pair | None, cells: Ints) -> Ints:
        """What is told of one round; None where nothing was left to choose."""
        found = np.zeros(2 + self.longest, np.int64)
        found[:2] = (-1, -1) if pair is None else pair
        found[2 : 2 + len(cells)] = cells
        return found
