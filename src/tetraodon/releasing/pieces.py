"""What the items of a release measured, as blocks for least squares: tables of counts, and sums that got noise."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import TypeAlias

import numpy as np

from tetraodon.arrays import Floats, Ints
from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.inference.combination import Block, TableLink
from tetraodon.inference.consistency import Margin
from tetraodon.inference.meeting import EstimatedTable
from tetraodon.mechanism.strategy import Measured
from tetraodon.releasing.plan import PlannedItem
from tetraodon.workload.contribution import Answerers, Contribution, One, Table
from tetraodon.workload.each_person import EachPerson
from tetraodon.workload.linear import Measurement, Split
from tetraodon.workload.number import Number

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
