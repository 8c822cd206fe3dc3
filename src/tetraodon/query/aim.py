"""Adaptively chosen marginals, and the cliques of the graphical model that joins them.

This is no linear query. First every attribute is counted by itself, with noise; then, round by round, a table of
attributes is drawn with chances that rise with how far off its counts still are, and counted, with noise
(`mechanism/aim.py`).

Of two data sets that differ in one record, let H_q be the L1 distance of their tables q, and H that of the table of all
attributes that are not free. No H_q is larger than H. A table q is chosen with a chance proportional to e^(w S_q / b),
where S_q is the L1 distance of its counts from numbers that follow from what was told before, less a constant, and w is
its number of attributes over the most that a table has, at most 1:

- w S_q differs by at most H_q, by the triangle inequality. So every weight, and the sum of all, changes by a factor of
  e^(H / b) at most, and a chance by e^(2H / b): the loss of Laplace noise of scale b / 2 on the table of everything.
  The log of the ratio lies in an interval of length 2H / b, so that by Hoeffding's lemma the choice is
  (H / b)^2 / 2-zCDP ([CR21]). Where a record is replaced H^2 is at most twice the squared L2 distance: the loss of
  Gaussian noise of scale b / sqrt(2). Where one comes or goes both are 1: that of scale b. So if presence alone is a
  secret, choices cost half as much.
- The table chosen then gets noise of scale s. It moves only where one of its attributes does, and by as much as one
  attribute by itself. So `rounds` of them lose no more than that many tables of everything; and if at most d of them
  share an attribute, no more than d tables of each attribute by itself.

What comes later depends on what was told before and on nothing else, so that on every way the losses add up; for zCDP
that is [FZ21]. One row changes at a time: several rows of a person are several such steps. Where counts are known,
neighbours differ in several records whose single tables may cancel while larger ones do not, and this is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import combinations
from math import isqrt
from typing import Any, ClassVar, TypeAlias

import numpy as np

from tetraodon.domain import Domain
from tetraodon.errors import QueryError, Refused
from tetraodon.exact.arrays import Ints
from tetraodon.noise.laws import Currency, NoiseLaw
from tetraodon.query.contribution import Among, NotLinear, One, Steps, whole
from tetraodon.query.linear import LinearQuery, Measurement, Split, split_document, split_from

# ruff: noqa: ARG002 - every contribution is asked in the same way

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

    def unpriced(self, measurement: Measurement) -> str:
        return "" if measurement.scale else "tables chosen without noise"

    def dominating(self, measurement: Measurement, steps: Steps) -> list[Measurement]:
        if isinstance(measurement.query.contribution, Among):
            self._refuse()
        if steps.known:
            raise Refused(
                "tables that are chosen are not priced beside known counts", fix="release histograms, or no `synthetic`"
            )
        pure, secret = measurement.noise.currency is Currency.PURE, [self.splits[place] for place in self.secret]
        alone, choice = (measurement.scale * wider for wider in self.wider(measurement.noise))

        def copies(query: LinearQuery, scale: Fraction, times: int) -> list[Measurement]:
            """What loses as much as so many measurements of a query, exactly: losses add up, or their squares do."""
            return [
                Measurement(query, scale / part, measurement.noise)
                for part in ((times,) if pure else four_squares(times))
            ]

        found = []
        for split in secret:
            single = LinearQuery(One(), (split,))
            found.append(Measurement(single, alone, measurement.noise))
            found += copies(single, measurement.scale, self.most) if self.most else []
        if self.rounds:
            everything, times = LinearQuery(One(), tuple(secret)), 1 if steps.presence_alone and not pure else 2
            found += copies(everything, choice, times * self.rounds)
            found += [] if self.most else copies(everything, measurement.scale, self.rounds)
        if self.total:
            free = tuple(self.splits[place] for place in self.free)
            found.append(Measurement(LinearQuery(One(), free), Fraction(0)))
        return found

    def attained(self, measurement: Measurement, steps: Steps) -> bool:
        return False

    def document(self) -> dict[str, Any]:
        return {
            "kind": "chosen tables",
            "of": [split_document(split) for split in self.splits],
            "tables": self.rounds,
            "most": self.most,
            "free": list(self.free),
            "total": self.total,
        }

    @classmethod
    def read(cls, document: Mapping[str, Any], domain: Domain) -> ChosenTables:
        of = tuple(split_from(split, domain) for split in document["of"])
        sizes = tuple(split.size(domain) for split in of)
        rounds, most = (whole(document[key], 0, len(of) ** 3) for key in ("tables", "most"))
        free = tuple(whole(place, 0, len(of) - 1) for place in document["free"])
        if type(document["total"]) is not bool:
            raise ValueError("a total that is neither told nor not")
        return cls(of, sizes, rounds, most, free, document["total"])

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

    def tables(self, told: Ints) -> tuple[list[tuple[tuple[int, ...], Ints]], list[tuple[Places, Ints]]]:
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

    def counted(self, query: LinearQuery, domain: Domain, codes: Ints, counts: Ints) -> Ints:
        """Records as rows: the bin of each attribute, and how many have these."""
        bins = [split.of(codes[:, place]) for place, split in enumerate(self.splits)]
        return np.column_stack([*bins, counts]).astype(np.int64)

    def could_tell(self, numbers: Ints, scale: Fraction) -> bool:
        try:
            given, _ = self.tables(numbers)
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


@lru_cache(maxsize=1024)
def four_squares(number: int, parts: int = 4) -> tuple[int, ...]:
    """Whole numbers, four at most, whose squares add up to a number, as there always are (Lagrange); else none.

    >>> four_squares(19), four_squares(7), four_squares(7, parts=3)
    ((4, 1, 1, 1), (2, 1, 1, 1), ())
    """
    for first in range(isqrt(number), 0, -1):
        rest = number - first**2
        if not rest:
            return (first,)
        if parts > 1 and (found := four_squares(rest, parts - 1)):
            return (first, *found)
    return ()
