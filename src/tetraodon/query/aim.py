"""Adaptively chosen marginals, and the cliques of the graphical model that joins them.

This is no linear query. First every attribute is counted by itself, with noise; then, round by round, a table of
attributes is drawn with chances that rise with how far off its counts still are, and counted, with noise
(`mechanism/aim.py`). What that costs is at most what linear queries cost (`certificate/nonlinear_loss.py`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import isqrt
from typing import TYPE_CHECKING, ClassVar, TypeAlias

import numpy as np

from tetraodon.errors import QueryError
from tetraodon.exact.arrays import Ints
from tetraodon.noise.laws import Currency, NoiseLaw
from tetraodon.query.number import NotLinear

if TYPE_CHECKING:
    from tetraodon.query.linear import Split


# -- cliques ----------------------------------------------------------------------------------------
# Which tables a model of some tables has to hold: they are joined until they hang together like a tree.

Places: TypeAlias = tuple[int, ...]
"""Places among attributes, the smallest first."""


def cliques_of(tables: Iterable[Places], sizes: Sequence[int]) -> list[Places]:
    """The parts of a junction tree in which every table lies.

    Why   attributes go one by one, the one whose neighbours have the fewest cells first, and leave their neighbours
          joined: that is a triangulation, and greedy ones are near to the best.

    >>> cliques_of([(0, 1), (1, 2), (2, 3), (0, 3)], [2, 2, 2, 2])
    [(0, 1, 3), (1, 2, 3)]
    """
    near = {place: {place} for place in range(len(sizes))}
    for table in tables:
        for place in table:
            near[place].update(table)
    found: list[set[int]] = []
    while near:
        gone = min(near, key=lambda place: math.prod(sizes[one] for one in near[place]))
        around = near.pop(gone)
        if not any(around <= one for one in found):
            found.append(around)
        for place in around - {gone}:
            near[place] = (near[place] | around) - {gone}
    return [tuple(sorted(one)) for one in found]


def cells_of(tables: Iterable[Places], sizes: Sequence[int]) -> int:
    """How many cells a model of these tables has."""
    return sum(math.prod(sizes[place] for place in one) for one in cliques_of(tables, sizes))


# -- chosen tables ----------------------------------------------------------------------------------

MOST_CELLS = {2: 10_000, 3: 1_000}
"""A table of so many attributes with more cells than this is never chosen: noise would drown it."""
WAYS, FEW = 3, 18
"""The most attributes of a table that is chosen; of more attributes than these in all there is no model."""
MOST_MODEL = 2**18
"""Cells of a model of all that was told (`inference/graphical_model.py`). Nothing is chosen that needs more."""
NOTHING: Ints = np.zeros(0, np.int64)
WIDER = {Currency.PURE: (Fraction(4), Fraction(9)), Currency.ZCDP: (Fraction(2), Fraction(5, 2))}
"""How much wider than the noise on a chosen table that on one attribute is, and that in the choice of a table."""


@dataclass(frozen=True)
class ChosenTables(NotLinear):
    """Counts by each of some attributes, then by `rounds` twos or threes of them that are chosen.

    free:  places of attributes that no secret changes. They are told exactly, alone and two by two.
    total: whether the number of records is told exactly. Without it nothing is free.
    most:  how many of these may share an attribute that is not free; 0 means any number.
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
        if not 0 <= self.rounds <= len(self.candidates) or self.most < 0:
            raise QueryError("so many tables cannot be chosen", fix=f"choose up to {len(self.candidates)}")

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(split.name for split in self.splits)

    @property
    def secret(self) -> tuple[int, ...]:
        """Places of the attributes that are not free."""
        return tuple(place for place in range(len(self.splits)) if place not in self.free)

    @cached_property
    def candidates(self) -> tuple[Places, ...]:
        """What can be chosen."""
        places = range(len(self.splits))
        every = self._small(places, 2) + (self._small(places, WAYS) if self.modelled else [])
        return tuple(p for p in every if not set(p) <= set(self.free))

    def _small(self, places: Iterable[int], ways: int) -> list[Places]:
        return [p for p in combinations(places, ways) if self.cells(p) <= MOST_CELLS[ways]]

    @cached_property
    def modelled(self) -> bool:
        """Whether there is a model of the tables; else records are made up that have about their counts."""
        return len(self.splits) <= FEW and cells_of(self.given, self.sizes) <= MOST_MODEL

    @property
    def given(self) -> tuple[tuple[int, ...], ...]:
        """Places of the attributes of every table that is not chosen, in their order; none for the total."""
        alone = [(place,) for place in range(len(self.splits))]
        return (*((),) * self.total, *alone, *self._small(self.free, 2))

    def cells(self, places: tuple[int, ...]) -> int:
        """How many cells a table of some attributes has."""
        found = 1
        for place in places:
            found *= self.sizes[place]
        return found

    @cached_property
    def longest(self) -> int:
        """The cells of the largest table that can be chosen; all are told as if they had so many."""
        return max(map(self.cells, self.candidates), default=0)

    @cached_property
    def rows(self) -> int:
        """How many numbers are told: the tables that are given; then for each round a table's places, and its cells."""
        return sum(map(self.cells, self.given)) + self.rounds * (WAYS + self.longest)

    def open(self, chosen: list[Places]) -> list[Places]:
        """What can be chosen after others."""
        able = self._able(chosen)
        return [table for table in self.candidates if able(table)]

    def _able(self, chosen: list[Places]) -> Callable[[Places], bool]:
        """What tells whether a table can be chosen after others: from what was told, and from nothing else."""
        often = [sum(place in table for table in chosen) for place in range(len(self.splits))]
        full = {place for place in self.secret if self.most and often[place] >= self.most}
        there = cliques_of([*self.given, *chosen], self.sizes) if self.modelled else []
        parts = [set(one) for one in there]

        def able(table: Places) -> bool:
            if table in chosen or not full.isdisjoint(table):
                return False
            held = not self.modelled or any(part.issuperset(table) for part in parts)
            return held or cells_of([*there, table], self.sizes) <= MOST_MODEL

        return able

    def wider(self, noise: NoiseLaw) -> tuple[Fraction, Fraction]:
        """The scales of the noise on one attribute, and in a choice, in multiples of that on a chosen table.

        Why   where few of the chosen tables move at once each has less noise, and choices would cost most of all.
        """
        alone, choice = WIDER[noise.currency]
        times = Fraction(self.rounds, self.most) if self.most else Fraction(1)
        root = times if noise.currency is Currency.PURE else Fraction(isqrt(int(100 * times)), 10)
        return alone, choice * max(root, Fraction(1))

    def read(self, told: Ints) -> tuple[list[tuple[tuple[int, ...], Ints]], list[tuple[Places, Ints]]]:
        """The tables that are given, and those that were chosen, from the numbers told.

        Raises ValueError where no such numbers could have been told.
        """
        flat, at, given = told.ravel(), 0, []
        for places in self.given:
            given.append((places, flat[at : at + self.cells(places)]))
            at += self.cells(places)
        chosen: list[tuple[Places, Ints]] = []
        known = set(self.candidates)
        for line in flat[at:].reshape(self.rounds, WAYS + self.longest):
            table = tuple(place for place in line[:WAYS].tolist() if place >= 0)
            before = [one for one, _ in chosen]
            if self.open(before) if not table else table not in known or not self._able(before)(table):
                raise ValueError("a table that could not have been chosen")
            cells = line[WAYS : WAYS + self.cells(table)] if table else NOTHING
            if not np.array_equal(line, self.line(table, cells)):
                raise ValueError("more cells than a table has")
            chosen += [(table, cells)] if table else []
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

    def line(self, table: Places, cells: Ints) -> Ints:
        """What is told of one round: no places and no cells where nothing was left to choose."""
        found = np.zeros(WAYS + self.longest, np.int64)
        found[:WAYS] = (*table, *(-1 for _ in range(WAYS - len(table))))
        found[WAYS : WAYS + len(cells)] = cells
        return found
