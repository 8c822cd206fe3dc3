"""Estimating everything measured together, in numbers that agree with each other and with known totals."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from fractions import Fraction
from functools import cached_property, partial
from typing import TypeAlias

import numpy as np

from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.exact.arrays import Bools, Floats, Ints, components
from tetraodon.exact.one_thread import on_one_thread
from tetraodon.inference.consistency import (
    EstimatedTable,
    Margin,
    agree,
    agrees,
    follow,
    meetings,
    monotone_counts,
    shared_margins,
)
from tetraodon.inference.controlled_rounding import whole_tables
from tetraodon.inference.estimate import CONFIDENCE, Estimate
from tetraodon.inference.least_squares import Block, Combination, Remembered, TableLink
from tetraodon.mechanism.strategy import NOTHING, Measured, asked_along
from tetraodon.noise.weighted_sums import weighted_reach
from tetraodon.query.contribution import Answerers, Contribution, One, Table
from tetraodon.query.linear import Measurement, Split
from tetraodon.query.number import EachPerson, Number
from tetraodon.query.query import Cells, EveryRange, ListedRanges, RunningCounts, ends_of_counts
from tetraodon.releases.plan import Plan, PlannedItem

# -- pieces -----------------------------------------------------------------------------------------
# What the items of a release measured, as blocks for least squares: tables of counts, and sums that got noise.

Place: TypeAlias = tuple[str, int | None]
"""An item, and which of its measurements; None for its table of counts."""
ROWS = "rows"
LEAST = 1e-24
"""The least variance of noise, so that a table with next to none is not taken for one that is exact."""
WRITTEN = 5_000_000
"""Weights of sums that are written out to read the sums from a table."""
SEARCHED = 2**16
"""Weights among which those are looked for that a table with bins tells, although it does not tell all."""
ROUNDED = 1e-9
"""The part of what bins hide that is nothing but rounding."""


@dataclass(frozen=True, eq=False)
class PieceSource:
    """A measurement of an item that a piece is made of, and its share where equal measurements are averaged."""

    item: PlannedItem
    place: int | None
    share: float = 1.0

    @property
    def key(self) -> Place:
        return self.item.name, self.place

    def covariance(self, domain: Domain) -> Callable[[Floats], Floats]:
        """Cov(x) f of what is measured here, for rows f."""
        if self.place is None:
            return partial(self.item.strategy.mechanism.covariance_times, self.item.scaled(domain))
        variance = _variance(self.item, self.place)
        return lambda weights: weights * variance

    def parts(self, weights: Floats, domain: Domain) -> list[tuple[Floats, Fraction]] | None:
        """How much of each noisy number is in weighted sums, with the scale of its noise; None where nobody says."""
        if self.place is None:
            mechanism, at = self.item.strategy.mechanism, self.item.scaled(domain)
            found = mechanism.parts(at, weights * self.share)
            return None if found is None else list(zip(found, mechanism.part_scales(at), strict=True))
        measurement = _stated(self.item)[self.place]
        return [(weights * (self.share * float(measurement.query.contribution.unit)), measurement.scale)]


@dataclass(frozen=True, eq=False)
class MeasuredPiece:
    """Numbers known without bias: counts, or sums of what `contribution` says, for every cell of some splits."""

    table: EstimatedTable
    contribution: Contribution
    sources: tuple[PieceSource, ...]

    @property
    def kind(self) -> Hashable:
        """What is added up: pieces of one kind agree on the margins that they share."""
        match self.contribution:
            case Table(names=names, matrix=matrix, unit=unit):
                return names, matrix.shape, matrix.tobytes(), unit
            case _:
                return self.contribution

    @property
    def people(self) -> bool:
        """Whether it counts people."""
        return isinstance(self.contribution, EachPerson)

    @property
    def counts(self) -> bool:
        """Whether it is a table of counts of all records."""
        return isinstance(self.contribution, One)

    def block(self, domain: Domain) -> Block:
        each = [(source.share**2, source.covariance(domain)) for source in self.sources]
        return Block(self.table, lambda weights: np.asarray(sum(share * of(weights) for share, of in each)))


def pieces_of(items: Sequence[PlannedItem], measured: Mapping[str, Measured], domain: Domain) -> list[MeasuredPiece]:
    """Everything that items about the same records measured, exact figures too, each table once."""
    found: list[MeasuredPiece] = []
    for item in items:
        found += _tables(item, measured[item.name], domain)
        own = 1 if item.strategy.mechanism.read_together else len(item.strategy.noisy)
        first = own if item.strategy.table else 0
        for place, measurement in enumerate(_stated(item)[first:], start=first):
            if isinstance(measurement.query.contribution, One | Answerers | Number | Table):
                found.append(_sums(item, place, measured[item.name][place]))
    return [_averaged(alike) for alike in _alike(found)]


def people_of(items: Sequence[PlannedItem], measured: Mapping[str, Measured]) -> list[MeasuredPiece]:
    """Counts of people, of all or by their rows: tables of `people_domain`, which agree as those of records do."""
    found = []
    for item in items:
        for place, measurement in enumerate(_stated(item)):
            one = measurement.query.contribution
            if isinstance(one, EachPerson) and one.attribute is None:
                values = measured[item.name][place].astype(np.float64)
                by = (Split(ROWS),) if one.rows > 1 else ()
                table = EstimatedTable(by, values if by else values[..., 0], _variance(item, place))
                found.append(MeasuredPiece(table, EachPerson(), (PieceSource(item, place),)))
    return [_averaged(alike) for alike in _alike(found)]


def people_domain(items: Sequence[PlannedItem]) -> Domain:
    """What is counted of people: how many rows each has."""
    counted = (m.query.contribution for item in items for m in item.measurements)
    most = max((one.rows for one in counted if isinstance(one, EachPerson)), default=1)
    return Domain((Attribute(ROWS, Integers(1, most)),))


def _tables(item: PlannedItem, measured: Measured, domain: Domain) -> list[MeasuredPiece]:
    strategy = item.strategy
    if not strategy.table or not strategy.noisy or not strategy.mechanism.adds_noise:
        return []
    at = item.scaled(domain)
    values = strategy.mechanism.fit(at, measured)
    table = EstimatedTable(strategy.table, values, max(strategy.mechanism.cell_variance(at), LEAST))
    return [MeasuredPiece(table, One(), (PieceSource(item, None),))]


def _sums(item: PlannedItem, place: int, numbers: Ints) -> MeasuredPiece:
    query = _stated(item)[place].query
    values = numbers.astype(np.float64) * float(query.contribution.unit)
    rows = query.contribution.rows
    table = EstimatedTable(query.by, values[..., 0] if rows == 1 else values, _variance(item, place), rows)
    return MeasuredPiece(table, query.contribution, (PieceSource(item, place),))


def _stated(item: PlannedItem) -> tuple[Measurement, ...]:
    """What an item measured, of the records that it is about."""
    return item.strategy.stated(item.scale)


def _variance(item: PlannedItem, place: int) -> float:
    measurement = _stated(item)[place]
    if not measurement.scale:
        return 0.0
    return max(measurement.noise.variance(measurement.scale) * float(measurement.query.contribution.unit) ** 2, LEAST)


def _alike(pieces: Sequence[MeasuredPiece]) -> list[list[MeasuredPiece]]:
    """Pieces that were measured in the same way, up to the scale of noise, together; exact ones of one form too."""
    groups: dict[Hashable, list[MeasuredPiece]] = {}
    for piece in pieces:
        (source,) = piece.sources
        strategy = source.item.strategy if source.place is None else None
        how = (strategy.mechanism, strategy.noisy, strategy.exact, strategy.weights) if strategy else None
        groups.setdefault((piece.kind, piece.table.splits, how, piece.table.variance == 0), []).append(piece)
    return list(groups.values())


def _averaged(alike: Sequence[MeasuredPiece]) -> MeasuredPiece:
    """One piece for all that were measured in the same way: their average by precision.

    Why   their covariances are alike up to a factor, so that nothing is lost, and what is long need be solved for once.
    """
    first, *others = alike
    if not others or first.table.variance == 0:
        return replace(first, sources=tuple(s for piece in alike for s in piece.sources))
    shares = np.array([1 / piece.table.variance for piece in alike])
    shares /= shares.sum()
    values = np.asarray(sum(share * piece.table.values for share, piece in zip(shares, alike, strict=True)))
    variance = float(sum(share**2 * piece.table.variance for share, piece in zip(shares, alike, strict=True)))
    sources = [replace(s, share=float(share)) for share, p in zip(shares, alike, strict=True) for s in p.sources]
    return MeasuredPiece(replace(first.table, values=values, variance=variance), first.contribution, tuple(sources))


def links_of(pieces: Sequence[MeasuredPiece], domain: Domain) -> list[TableLink]:
    """Sums and the tables that they can be read from: one that tells all of them, or every one that tells a part."""
    found = []
    for piece in pieces:
        if piece.counts:
            continue
        links = [link for counts in pieces if counts.counts and (link := _link(counts.table, piece, domain))]
        whole = [link for link in links if tells_all(link)]
        found += [min(whole, key=lambda link: len(link.counted))] if whole else links
    return [link for link in found if link.counts.variance or link.sums.variance]


def tells_all(link: TableLink) -> bool:
    """Whether every sum can be read from the table by itself."""
    return len(link.summed) == link.groups * len(link.matrix)


def _link(counts: EstimatedTable, sums: MeasuredPiece, domain: Domain) -> TableLink | None:
    names = sums.contribution.names
    splits = {split.name: split for split in counts.splits}
    if not all(name in splits for name in names):
        return None
    found = _readable(sums.contribution, [splits[name] for name in names], domain)
    if found is None:
        return None
    taken, matrix = found
    others = tuple(split for split in counts.splits if split.name not in names)
    margin, rows = Margin.of(others).meet(Margin.of(sums.table.splits)), taken.shape[1]
    counted = margin.places(counts.splits, domain) * matrix.shape[1] + _kinds(counts.splits, names, domain)
    summed = margin.places(sums.table.splits, domain)[:, None] * rows + np.arange(rows)
    return TableLink(counts, sums.table, taken, matrix, margin.cells(domain), counted, summed.ravel())


def _readable(contribution: Contribution, splits: Sequence[Split], domain: Domain) -> tuple[Floats, Floats] | None:
    """What of a contribution's rows can be read from a table, as orthonormal sums of them, and these over its cells.

    None where bins hide all of it, or where they are too long.
    """
    rows, sizes = contribution.rows, [domain[split.name].size for split in splits]
    if rows * int(np.prod(sizes, dtype=np.int64)) > WRITTEN:
        return None
    written = (contribution.columns() * float(contribution.unit)).reshape(rows, *sizes)
    by_bin, spread = written, written
    for axis, split in enumerate(splits, start=1):
        if split.bins is not None:
            first, bins = np.unique(split.bins, return_index=True, return_inverse=True)[1:]
            by_bin, spread = by_bin.take(first, axis), spread.take(first[bins], axis)
    taken, hidden = np.eye(rows), (written - spread).reshape(rows, -1)
    if hidden.any():
        if rows == 1 or hidden.size > SEARCHED:
            return None
        directions, lengths, _ = np.linalg.svd(hidden)
        taken = directions[:, np.count_nonzero(lengths > ROUNDED * lengths[0]) :].T
    return (taken, np.asarray(taken @ by_bin.reshape(rows, -1), np.float64)) if len(taken) else None


def _kinds(table: Sequence[Split], names: Sequence[str], domain: Domain) -> Ints:
    """For every cell of a table, row by row, the cell of some of its attributes, in the order of the names."""
    shape = [split.size(domain) for split in table]
    place = np.zeros([1] * len(table), np.int64)
    for name in names:
        axis = next(axis for axis, split in enumerate(table) if split.name == name)
        codes = np.arange(shape[axis]).reshape([-1 if a == axis else 1 for a in range(len(table))])
        place = place * shape[axis] + codes
    return np.asarray(np.broadcast_to(place, shape).ravel())


# -- combined ---------------------------------------------------------------------------------------
# One release, one truth: everything that was measured is estimated together, and how far that can be off.

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
        kinds = dict.fromkeys(piece.kind for piece in self.pieces)
        every = [[p.table for p in (*self.exact, *self.pieces) if p.kind == kind] for kind in kinds]
        agreeing = [meeting for tables in every for meeting in meetings(tables, self.domain)]
        return Combination([piece.block(self.domain) for piece in self.pieces], agreeing, self.links)

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
    items: Sequence[PlannedItem], measured: Mapping[str, Measured], domain: Domain, remembered: Remembered | None = None
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


# -- estimates --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Estimated:
    """A table of counts as all measurements together tell it, and as it is published."""

    unbiased: Floats
    published: Floats


WHOLE = "whole"
ROUNDS, STILL = 100, 1e-9
"""How often sums of which several tables know a part are taken to the nearest that agree with each; when it ends."""


class Inference(Enum):
    """How answers follow from measurements, as release.json says it. What was released once is inferred so for ever."""

    AVERAGED = "margins averaged by precision; running counts made non-decreasing between 0 and their total"
    COMBINED = (
        "least squares over all measurements; running counts made non-decreasing between 0 and their total; "
        "counts made whole and not negative, unless an item wants none"
    )


@dataclass(frozen=True, eq=False)
class Estimates:
    """Every table, and every sum that was measured with noise; and what they were made from.

    `combined` are the estimates without bias that intervals are about; None where each item stands for itself.
    """

    tables: Mapping[Place, Estimated]
    combined: Combined | None


def raw_table(item: PlannedItem, measured: Measured, domain: Domain) -> Floats:
    """The table of counts as the noise left it."""
    return item.strategy.mechanism.fit(item.scaled(domain), measured)


def estimate(plan: Plan, measured: Mapping[str, Measured], inference: Inference = Inference.COMBINED) -> Estimates:
    """Best numbers for every item; those about the same records agree."""
    found: dict[Place, Estimated] = {}
    combined = []
    for those in dict.fromkeys(item.strategy.among for item in plan):
        items = {item.name: item for item in plan if item.strategy.among == those}
        inside = plan.policy.domain if those is None else those.inside
        one = _estimates(items, measured, inside, inference, plan._estimators)
        found |= one.tables
        combined += [one.combined] if one.combined else []
    return Estimates(found, joined(combined) if combined else None)


def _estimates(
    items: Mapping[str, PlannedItem],
    measured: Mapping[str, Measured],
    domain: Domain,
    inference: Inference,
    remembered: Remembered,
) -> Estimates:
    """Best numbers for items about the same records, agreeing wherever one determines the other.

    First least squares over everything; then never-falling running counts where an item is about order, which the other
    tables follow. Where that cannot be had together, running counts may fall: agreement wins, and there always is an
    answer. Last come whole counts that are not negative, unless an item wants none. Sums are read from the tables that
    tell them.
    """
    exact: dict[Place, Floats] = {
        (item.name, None): raw_table(item, measured[item.name], domain)
        for item in items.values()
        if item.strategy.table and not item.strategy.noisy
    }
    if inference is Inference.AVERAGED:
        tables = _noisy_tables(items, measured, domain)
        pieces = pieces_of(list(items.values()), measured, domain)
        known = [piece.table for piece in pieces if piece.counts and piece.table.variance == 0]
        agree([*known, *tables.values()], domain)
        return Estimates(_both(exact, exact) | _publish(items, tables, known, domain), None)
    combined = combine(list(items.values()), measured, domain, remembered)
    of = {key: group.pieces[place] for key, (group, place) in combined.places.items()}
    counts = {key: table for key, table in combined.tables.items() if of[key].counts}
    people = {key: table for key, table in combined.tables.items() if of[key].people}
    sums = {key: table for key, table in combined.tables.items() if key not in counts and key not in people}
    known = [piece.table for piece in combined.exact if piece.counts]
    told = _publish(items, counts, known, domain)
    exact_people = [piece.table for piece in combined.exact if piece.people]
    told |= _publish(items, people, exact_people, people_domain(list(items.values())))
    for key, table in _noisy_tables(items, measured, domain).items():
        if not items[key[0]].strategy.mechanism.adds_noise:  # these agree with what is exact, and with no other
            told |= _publish(items, {key: table}, known, domain)
    read = {key: _read(key, table, counts, combined) for key, table in sums.items()}
    found = _both({key: table.values for key, table in sums.items()}, read)
    return Estimates(_both(exact, exact) | told | found, combined)


def _both(unbiased: Mapping[Place, Floats], published: Mapping[Place, Floats]) -> dict[Place, Estimated]:
    return {key: Estimated(values, published[key]) for key, values in unbiased.items()}


def _publish(
    items: Mapping[str, PlannedItem],
    tables: Mapping[Place, EstimatedTable],
    known: Sequence[EstimatedTable],
    domain: Domain,
) -> dict[Place, Estimated]:
    """From tables of counts that agree to those that are published, which agree too."""
    agreed = {key: table.values for key, table in tables.items()}
    if any(_about_order(items, key, domain) for key in tables) and not _never_fall(items, tables, known, domain):
        for key, values in agreed.items():
            tables[key].values = values
    # but for tables that nobody asked for, measured because they tell of others
    together = {key for key in tables if key[1] is not None and items[key[0]].strategy.mechanism.read_together}
    wanted = [key for key in tables if _whole(items, key) and key not in together]
    if wanted:
        made = whole_tables([*known, *(tables[key] for key in wanted)], domain)[len(known) :]
        for key, values in zip(wanted, made, strict=True):
            tables[key].values = values
    return _both(agreed, {key: table.values for key, table in tables.items()})


def _whole(items: Mapping[str, PlannedItem], key: Place) -> bool:
    """Whether a table is published whole; counts behind a mean, say, are where all tables are."""
    item = items[key[0]].item
    if key[1] is None or WHOLE in item.query.keys:
        return item.whole
    return all(one.item.whole for one in items.values() if one.strategy.table)


def _read(key: Place, sums: EstimatedTable, counts: Mapping[Place, EstimatedTable], combined: Combined) -> Floats:
    """Sums as the published tables tell them; where no table tells all of them, the nearest that agree with all."""
    group, place = combined.places[key]
    piece = group.pieces[place]
    links = [link for link in group.links if link.sums is piece.table]
    for link in links:
        told = _published(link, counts, combined)
        if tells_all(link):
            return np.asarray(link.read(told)[0][link.summed]).reshape(sums.values.shape)
    values, tables = sums.values, [_published(link, counts, combined) for link in links]
    for _ in range(ROUNDS):
        before = values
        for link, table in zip(links, tables, strict=True):
            moved = link.back(link.gap(table, values))[1] / np.bincount(link.summed)[link.summed]
            values = np.asarray(values - moved.reshape(values.shape))
        if len(links) < 2 or np.allclose(values, before, rtol=0, atol=STILL):
            break
    return values


def _published(link: TableLink, counts: Mapping[Place, EstimatedTable], combined: Combined) -> Floats:
    """The counts of a link as they are published."""
    for key, (group, place) in combined.places.items():
        if group.pieces[place].table is link.counts:
            return counts[key].values
    return link.counts.values


def _noisy_tables(
    items: Mapping[str, PlannedItem], measured: Mapping[str, Measured], domain: Domain
) -> dict[Place, EstimatedTable]:
    tables: dict[Place, EstimatedTable] = {}
    for item in items.values():
        if item.strategy.table and item.strategy.noisy:
            variance = item.strategy.mechanism.cell_variance(item.scaled(domain))
            values = raw_table(item, measured[item.name], domain)
            tables[item.name, None] = EstimatedTable(item.strategy.table, values, variance)
    return tables


def _never_fall(
    items: Mapping[str, PlannedItem],
    tables: Mapping[Place, EstimatedTable],
    known: Sequence[EstimatedTable],
    domain: Domain,
) -> bool:
    """Running counts that never fall, and all other tables following; whether they could."""
    leaders = list(known)
    for key in sorted(tables, key=lambda key: not _about_order(items, key, domain)):
        item, table = items[key[0]], tables[key]
        if not follow(table, leaders, domain):
            return False
        others = leaders[len(known) :]
        shared = {name for one in others for m in shared_margins([table, one], domain) for name, _ in m.groups}
        if _about_order(items, key, domain) and table.splits[-1].name not in shared:
            before, table.values = table.values, monotone_counts(table.values, _known_starts(item))
            if not agrees(table, leaders, domain):
                table.values = before
        leaders.append(table)
    return True


def _known_starts(item: PlannedItem) -> list[int]:
    """Where the parts begin, along the last attribute of an item, whose totals it knows exactly."""
    *by, last = item.strategy.table
    for query in item.strategy.exact:
        bins = next((split.bins for split in query.by if split.name == last.name), None)
        if bins is not None and set(query.by) - set(by) == {s for s in query.by if s.name == last.name}:
            starts = [0, *(np.flatnonzero(np.diff(bins)) + 1).tolist()]
            if len(query.by) == len(by) + 1 and len(starts) == max(bins) + 1:
                return starts
    return [0]


def _about_order(items: Mapping[str, PlannedItem], key: Place, domain: Domain) -> bool:
    if key[1] is not None:
        return False
    item = items[key[0]]
    asked = isinstance(item.item.query.reading(domain), RunningCounts | EveryRange | ListedRanges)
    return item.strategy.mechanism.about_order or asked


# -- counted ----------------------------------------------------------------------------------------
# Conditions that an item has counted, or whose attributes an item has counted by, where no table tells them.


def count_of(
    estimates: Estimates, names: tuple[str, ...], holds: Bools, domain: Domain, confidence: Fraction = CONFIDENCE
) -> Estimate | None:
    """How many records satisfy a condition, by the items that counted them; None where none did."""
    if estimates.combined is None:
        return None
    for piece in estimates.combined.exact:
        mask = _counted(piece, names, holds, domain)
        if mask is not None:
            return Estimate.certain(float(piece.table.values.ravel() @ mask)).of(piece.sources[0].item.name)
    for key, (group, place) in estimates.combined.places.items():
        mask = None if key[1] is None else _counted(group.pieces[place], names, holds, domain)
        found = None if mask is None else group.sums(place, mask[None, :].astype(np.float64), confidence)
        if mask is not None and found is not None:
            centre, reach = float(found[0][0]), float(found[1][0])
            if reach < NOTHING and group.certain(place, mask[None, :]):
                return Estimate.certain(float(round(centre))).of(key[0])
            value = float(estimates.tables[key].published.ravel() @ mask)
            lower, upper = ends_of_counts(np.asarray(centre), reach, np.asarray(value))
            return Estimate(value, float(lower), float(upper), confidence).of(key[0])
    return None


def _counted(piece: MeasuredPiece, names: tuple[str, ...], holds: Bools, domain: Domain) -> Bools | None:
    """Which numbers of a piece add up to the records that satisfy a condition; None where they do not tell."""
    if (those := piece.sources[0].item.strategy.among) is not None:
        known = {split.name for split in piece.table.splits} | {*piece.contribution.names}
        if (told := those.inside_of(names, holds, known)) is None:
            return None
        (names, holds), domain = told, those.inside
    shaped = holds.reshape([domain[name].size for name in names])
    splits = {split.name: axis for axis, split in enumerate(piece.table.splits)}
    sizes = [split.size(domain) for split in piece.table.splits]
    if piece.counts and set(names) <= splits.keys():
        if any(piece.table.splits[splits[name]].bins is not None for name in names):
            return None
        order = sorted(range(len(names)), key=lambda place: splits[names[place]])
        view = [size if split.name in names else 1 for split, size in zip(piece.table.splits, sizes, strict=True)]
        return np.broadcast_to(shaped.transpose(order).reshape(view), sizes).ravel()
    if isinstance(piece.contribution, Table | Answerers) and set(names) == set(piece.contribution.names):
        order = [names.index(name) for name in piece.contribution.names]
        same = (piece.contribution.columns() == shaped.transpose(order).ravel()).all(axis=1)
        if same.any() and piece.contribution.unit == 1:
            row = np.arange(piece.table.rows) == np.argmax(same)
            return np.broadcast_to(row, (*sizes, piece.table.rows)).ravel()
    return None


# -- joint errors ------------------------------------------------------------------------------------
# How far off answers are once everything that a release measures is estimated together: the plan alone says it.

MOST_WORK = 2**18
"""Numbers that least squares for the answers of an item may hold at once; beyond that its error is not told."""
MOST_NUMBERS = 2**20
"""Numbers that all items measure together, beyond which none is told."""
CHANGED = 1e-6
"""An error that is smaller by less than this part of it is the same."""


@on_one_thread
def joint_errors(plan: Plan) -> dict[str, float]:
    """The root mean squared errors per answer of items that others make better, as `expected_error` is for each alone.

    Post  none is larger than the error alone. An item is left out where nothing else is told of what it asks, where
          it would be too much work, and where its answers are not read from counts or sums that are combined.
    """
    found: dict[str, float] = {}
    for those in dict.fromkeys(item.strategy.among for item in plan):
        items = [item for item in plan if item.strategy.among == those]
        domain = plan.policy.domain if those is None else those.inside
        shapes = {i.name: [m.query.shape(domain) for m in i.strategy.stated(i.scale)] for i in items}
        if len(items) < 2 or sum(math.prod(one) for each in shapes.values() for one in each) > MOST_NUMBERS:
            continue
        nobody = {name: tuple(np.zeros(one, np.int64) for one in each) for name, each in shapes.items()}
        combined = combine(items, nobody, domain)
        errors = {item.name: _error_together(item, combined, domain) for item in items}
        found |= {name: error for name, error in errors.items() if error is not None}
    return found


def _error_together(item: PlannedItem, combined: Combined, domain: Domain) -> float | None:
    """The error of an item's answers as all measurements together tell them; None where it is left out, where nobody
    knows it, or where it is too much work.

    Pre   `domain` is what the records can be like that the item is about.
    """
    group, place = combined.places.get((item.name, None if item.strategy.table else 0), (None, 0))
    if group is None or (group.alone and not any(one.kind == group.pieces[place].kind for one in group.exact)):
        return None
    shape, size = group.pieces[place].table.values.shape, group.pieces[place].table.values.size
    reading = item.item.query.reading(domain) if item.strategy.table else Cells()
    answers = size * max(1, len(reading.ends)) if isinstance(reading, ListedRanges) else size
    if isinstance(reading, Cells) and group.alike:
        if group.first_variances is None:
            return None
        variance = float(group.first_variances[place])
    elif reading is None or answers * group.numbers > MOST_WORK:
        return None
    else:
        rows: Floats = np.eye(1)
        for one in asked_along(reading, shape or (1,)):
            rows = np.asarray(np.kron(rows, one.rows), np.float64)
        variance = float(group.variances(place, rows).mean())
    error = math.sqrt(max(0.0, variance))
    return error if error < item.expected_error * (1 - CHANGED) else None
