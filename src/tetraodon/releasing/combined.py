"""One release, one truth: everything that was measured is estimated together, and how far that can be off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np

from tetraodon.arrays import Bools, Floats
from tetraodon.components import components
from tetraodon.domain import Domain
from tetraodon.inference.combination import Combination, Remembered, TableLink
from tetraodon.inference.consistency import meetings
from tetraodon.inference.meeting import EstimatedTable, Meeting
from tetraodon.mechanism.strategy import NOTHING, Measured
from tetraodon.noise.laws.weighted_sum import weighted_reach
from tetraodon.releasing.pieces import MeasuredPiece, Place, links_of, people_domain, people_of, pieces_of
from tetraodon.releasing.plan import PlannedItem

WORK = 2**20
"""Numbers that least squares for many answers may hold at once: rows of weights times the numbers of all tables."""
LONGEST = 2**22
"""Numbers of all tables together for which the weights of one answer are worked out."""


@dataclass(frozen=True, eq=False)
class CombinedGroup:
    """Pieces that have something in common, directly or through others; `exact` is what nothing is to be found of."""

    pieces: tuple[MeasuredPiece, ...]
    exact: tuple[MeasuredPiece, ...]
    links: tuple[TableLink, ...]
    domain: Domain
    remembered: Remembered
    kept: dict[tuple[int, Fraction], tuple[Floats, Floats] | None] = field(default_factory=dict)

    @property
    def alone(self) -> bool:
        """Whether one measurement is all there is: nothing can be added to what it says about itself."""
        return len(self.pieces) == 1 and len(self.pieces[0].sources) == 1 and not self.links

    @cached_property
    def combination(self) -> Combination:
        return Combination([piece.block(self.domain) for piece in self.pieces], self._meetings(), self.links)

    def _meetings(self) -> list[Meeting]:
        kinds = dict.fromkeys(piece.kind for piece in self.pieces)
        every = [[p.table for p in (*self.exact, *self.pieces) if p.kind == kind] for kind in kinds]
        return [meeting for tables in every for meeting in meetings(tables, self.domain)]

    @cached_property
    def estimates(self) -> list[Floats]:
        return self.combination.estimates()

    @cached_property
    def numbers(self) -> int:
        """How many numbers are estimated together."""
        return sum(piece.table.values.size for piece in self.pieces)

    @cached_property
    def alike(self) -> bool:
        """Whether all cells of a table are as well known as each other: noise on each cell, and the same splits of an
        attribute wherever it is split.

        Why   then any values of an attribute can be swapped, and nothing in what was measured changes but their names.
        """
        splits = {(s.name, s.bins) for piece in (*self.pieces, *self.exact) for s in piece.table.splits}
        single = all(s.place is not None or s.item.strategy.mechanism.each_cell for p in self.pieces for s in p.sources)
        return single and not self.links and len({name for name, _ in splits}) == len(splits)

    def sums(self, place: int, rows: Floats, confidence: Fraction) -> tuple[Floats, Floats] | None:
        """The unbiased estimates of weighted sums of a piece, a row of weights each, and how far they can be off.

        None where it is too much work, or where a mechanism does not say what its noise does.
        """
        if not self.affordable(len(rows)):
            return None
        asked = self._asked(place, rows)
        weights, reach = self._by_the_plan(place, asked, confidence)
        if reach is None:
            return None
        found = np.zeros(len(rows))
        for piece, estimate, ask, taken in zip(self.pieces, self.estimates, asked, weights, strict=True):
            found += taken @ piece.table.values.ravel() + (ask - taken) @ estimate.ravel()
        return found, reach

    def variances(self, place: int, rows: Floats) -> Floats:
        """The variances of those estimates, which the plan alone decides."""
        weights = self.combination.weights(self._asked(place, rows))
        return self.combination.covariance(weights, weights)

    def certain(self, place: int, row: Floats | Bools) -> bool:
        """Whether no noise is left in a weighted sum of counts."""
        return float(self.variances(place, np.asarray(row, np.float64))[0]) < NOTHING**2

    @cached_property
    def first_variances(self) -> Floats | None:
        """The variance of the first number of every piece; None where that is too much work."""
        if len(self.pieces) * self.numbers > WORK:
            return None
        every = range(len(self.pieces))
        asked = [np.outer(np.arange(len(every)) == n, np.eye(1, self.pieces[n].table.values.size)) for n in every]
        weights = self.combination.weights([rows.astype(np.float64) for rows in asked])
        return self.combination.covariance(weights, weights)

    def _asked(self, place: int, rows: Floats) -> list[Floats]:
        """Weights of a piece as weights of all of them."""
        asked = [np.zeros((len(rows), piece.table.values.size)) for piece in self.pieces]
        asked[place] = np.asarray(rows, np.float64)
        return asked

    def _by_the_plan(
        self, place: int, asked: Sequence[Floats], confidence: Fraction
    ) -> tuple[list[Floats], Floats | None]:
        """The weights of sums of a piece, and how far they can be off."""
        key = self.pieces[place].sources[0].key, asked[place].tobytes(), confidence
        if key not in self.remembered.found:
            weights = self.combination.weights(asked)
            reach = self._reach(weights, confidence)
            self.remembered.keep(key, weights, reach)
            return weights, reach
        return self.remembered.found[key]

    def affordable(self, rows: int) -> bool:
        """Whether so many sums are worked out together."""
        return self.numbers <= LONGEST and (rows == 1 or rows * self.numbers <= WORK)

    def each(self, place: int, confidence: Fraction) -> tuple[Floats, Floats] | None:
        """Every number of a piece, flat, and how far it can be off; None as for `sums`, and where it stands alone.

        Why   where all numbers of a piece are as well known as each other, the first speaks for all.
        """
        key, size = (place, confidence), self.pieces[place].table.values.size
        if key not in self.kept:
            first = np.eye(1, size)
            if self.alone or not self.affordable(1 if self.alike else size):
                self.kept[key] = None
            elif self.alike and (found := self.sums(place, first, confidence)):
                self.kept[key] = self.estimates[place].ravel(), np.full(size, found[1][0])
            else:
                self.kept[key] = self.sums(place, np.eye(size), confidence)
        return self.kept[key]

    def _reach(self, weights: Sequence[Floats], confidence: Fraction) -> Floats | None:
        """How far weighted sums of what was measured can be off: the noisy numbers in them are independent."""
        parts, laws = [], set()
        for piece, rows in zip(self.pieces, weights, strict=True):
            for source in piece.sources:
                found = source.parts(rows, self.domain)
                if found is None:
                    return None
                parts += found
                laws.add(source.item.strategy.noise)
        if len(laws) != 1:
            return None
        (law,) = laws
        return np.array(
            [
                weighted_reach(law, [(_settled(part[row]), scale) for part, scale in parts], confidence)
                for row in range(len(weights[0]))
            ]
        )


def _settled(weights: Floats) -> Floats:
    """Weights without those that only floats left."""
    return np.where(np.abs(weights) < 1e-9 * np.abs(weights).max(initial=0.0), 0.0, weights)


@dataclass(frozen=True, eq=False)
class Combined:
    """All that a release measured, estimated together; nothing more is looked at, so this costs no privacy."""

    groups: tuple[CombinedGroup, ...]
    exact: tuple[MeasuredPiece, ...]

    @cached_property
    def places(self) -> Mapping[Place, tuple[CombinedGroup, int]]:
        """Where each measurement of an item is estimated."""
        return {
            source.key: (group, place)
            for group in self.groups
            for place, piece in enumerate(group.pieces)
            for source in piece.sources
        }

    @cached_property
    def tables(self) -> dict[Place, EstimatedTable]:
        """The unbiased estimate of every noisy measurement, by itself: tables, counts and other sums."""
        found = {}
        for key, (group, place) in self.places.items():
            table = group.pieces[place].table
            found[key] = EstimatedTable(table.splits, group.estimates[place].copy(), table.variance, table.rows)
        return found


def joined(parts: Sequence[Combined]) -> Combined:
    """What was measured about different records, side by side."""
    return Combined(
        tuple(group for part in parts for group in part.groups), tuple(piece for part in parts for piece in part.exact)
    )


def combine(
    items: Sequence[PlannedItem],
    measured: Mapping[str, Measured],
    domain: Domain,
    remembered: Remembered | None = None,
) -> Combined:
    """Pieces that share a margin, or that are read from each other, are estimated together.

    Pre   the items are about the same records, of that domain; what is remembered is of releases of the same items.
    """
    pieces, remembered = pieces_of(items, measured, domain), remembered or Remembered()
    rows = _grouped(pieces, links_of(pieces, domain), domain, remembered)
    return joined([rows, _grouped(people_of(items, measured), [], people_domain(items), remembered)])


def _grouped(
    pieces: Sequence[MeasuredPiece], links: Sequence[TableLink], domain: Domain, remembered: Remembered
) -> Combined:
    noisy = [piece for piece in pieces if piece.table.variance > 0]
    exact = tuple(piece for piece in pieces if piece.table.variance == 0)
    number = {id(piece.table): place for place, piece in enumerate(noisy)}
    tied = [(link.counts, link.sums) for link in links]
    for kind in dict.fromkeys(piece.kind for piece in noisy):
        tables = [piece.table for piece in pieces if piece.kind == kind]
        for meeting in meetings(tables, domain):
            if all(table.variance > 0 for table in meeting.tables):  # what is exact ties nobody to anybody
                tied += [(meeting.tables[0], table) for table in meeting.tables[1:]]
    places = [(number.get(id(one)), number.get(id(other))) for one, other in tied]
    parts = components(len(noisy), [(a, b) for a, b in places if a is not None and b is not None])
    groups = []
    for part in dict.fromkeys(parts):
        mine = tuple(piece for place, piece in enumerate(noisy) if parts[place] == part)
        ours = {id(piece.table) for piece in mine}
        theirs = tuple(link for link in links if id(link.counts) in ours or id(link.sums) in ours)
        groups.append(CombinedGroup(mine, exact, theirs, domain, remembered))
    return Combined(tuple(groups), exact)
