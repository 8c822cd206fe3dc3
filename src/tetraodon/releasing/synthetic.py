"""A table of made-up records whose counts are those of a release: nothing is measured anew, so it costs no privacy.

Records start with attributes that are independent of each other, each spread as it was released. Then table after table
is brought nearer to its released counts: records in cells that have too many are moved to cells that have too few, some
by becoming a copy of a record there, which keeps what goes together in it, the others by taking over the values of that
cell alone, which keeps what goes together in them. This is the gradual update of PrivSyn (Zhang and others, 2021).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tetraodon.arrays import Floats, Ints
from tetraodon.domain import Attribute, Domain
from tetraodon.errors import QueryError, Refused, ReleaseError
from tetraodon.releasing.answer import Answer, frame_of
from tetraodon.releasing.column_files import harmless_cell
from tetraodon.releasing.release import Release
from tetraodon.wording import listing
from tetraodon.workload.linear import Split

if TYPE_CHECKING:
    import polars

ROUNDS, SLOWER, SLOWEST = 18, 0.88, 0.04
"""How often every table has its turn, and the share of what is amiss that is moved in later and later rounds."""
COPIES = 0.3
"""The share of moved records that become copies of others."""
MOST_VALUES = 200_000_000


@dataclass(frozen=True, eq=False)
class Synthetic:
    """Made-up records.

    Attributes
    ----------
    codes:    the place of each record's value, by attribute.
    distance: by item of the release, the share of records that would have to move for its released counts.
    left_out: attributes of the policy that no table of the release is about.
    """

    domain: Domain
    codes: Mapping[str, Ints]
    distance: Mapping[str, float]
    left_out: tuple[str, ...]

    def __len__(self) -> int:
        return len(next(iter(self.codes.values())))

    def __repr__(self) -> str:
        return f"<Synthetic table of {len(self):,} made-up records: {listing([*self.codes])}>"

    @property
    def columns(self) -> dict[str, NDArray[Any]]:
        """The values, missing ones empty."""
        return {name: _values(self.domain[name])[codes] for name, codes in self.codes.items()}

    def to_polars(self) -> polars.DataFrame:
        """The records as a polars frame."""
        frame: polars.DataFrame = frame_of("polars", self.columns)
        return frame


def synthesize(
    release: Release, records: int | None = None, *, progress: Callable[[str], None] = lambda _: None
) -> Synthetic:
    """Made-up records that have about the counts of all tables of a release.

    records: how many; about as many as the release says that there are, if not given.

    Post  the same release gives the same records. What no table tells, such as how three attributes go together that
          were only released two by two, is made up and means nothing.
    Raises QueryError where the release has no table of all records.
    """
    tables = [_Table.of(answer) for answer in release if answer.values is not None and not answer.item.strategy.among]
    if not tables:
        raise QueryError("the release has no table of counts", fix="release a histogram, a cdf or ranges as well")
    domain = release.plan.policy.domain
    names = [name for name in domain.names if any(name in table.names for table in tables)]
    n = _number(tables) if records is None else records
    if not 1 <= n <= MOST_VALUES // len(names):
        most = MOST_VALUES // len(names)
        raise Refused(f"a table of so many records cannot be made up ({n:,})", fix=f"ask for 1 to {most:,} records")
    rng = np.random.default_rng(n)  # of made-up records; what they follow is public by then
    codes = {name: rng.permutation(_spread(domain[name], tables, n)) for name in names}
    for number in range(ROUNDS):
        progress(f"round {number + 1} of {ROUNDS}")
        share = max(SLOWER**number, SLOWEST)
        for place in rng.permutation(len(tables)).tolist():
            _bring_nearer(codes, tables[place], n, share, domain, rng)
    distance = {table.name: table.distance(codes, n) for table in tables}
    left_out = tuple(name for name in domain.names if name not in names)
    return Synthetic(domain, codes, distance, left_out)


@dataclass(frozen=True, eq=False)
class _Table:
    """A released table: its counts, none below zero."""

    name: str
    splits: tuple[Split, ...]
    counts: Floats

    @classmethod
    def of(cls, answer: Answer) -> _Table:
        return cls(answer.name, answer.item.strategy.table, np.maximum(answer.table.values, 0.0))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(split.name for split in self.splits)

    def cells(self, codes: Mapping[str, Ints]) -> Ints:
        """The cell of each record."""
        found: Ints = np.ravel_multi_index([split.of(codes[split.name]) for split in self.splits], self.counts.shape)
        return found

    def wanted(self, n: int) -> Floats:
        """How many of `n` records each cell should have; all alike where nobody was counted."""
        total = self.counts.sum()
        flat = self.counts.ravel()
        return flat * (n / total) if total > 0 else np.full(flat.size, n / flat.size)

    def distance(self, codes: Mapping[str, Ints], n: int) -> float:
        there = np.bincount(self.cells(codes), minlength=self.counts.size)
        return float(np.abs(there - self.wanted(n)).sum()) / (2 * n)


def _number(tables: Sequence[_Table]) -> int:
    """About how many records there are: the middle of what the tables add up to."""
    return max(1, round(float(np.median([table.counts.sum() for table in tables]))))


def _spread(attribute: Attribute, tables: Sequence[_Table], n: int) -> Ints:
    """Values of `n` records, sorted, as the finest and then smallest table tells them; within a bin evenly."""
    about = [table for table in tables if attribute.name in table.names]
    table = min(about, key=lambda one: (one.splits[one.names.index(attribute.name)].bins is not None, one.counts.size))
    axis = table.names.index(attribute.name)
    rest = tuple(other for other in range(table.counts.ndim) if other != axis)
    counts, bins = table.counts.sum(axis=rest), table.splits[axis].of(np.arange(attribute.size))
    chances = counts[bins] / np.bincount(bins, minlength=len(counts))[bins]
    chances = chances if chances.sum() > 0 else np.ones(attribute.size)
    ends = np.round(np.cumsum(chances) * (n / chances.sum())).astype(np.int64)
    return np.repeat(np.arange(attribute.size), np.diff(ends, prepend=0))


def _bring_nearer(
    codes: dict[str, Ints], table: _Table, n: int, share: float, domain: Domain, rng: np.random.Generator
) -> None:
    """Move a share of the records in cells with too many to cells with too few."""
    cells, wanted = table.cells(codes), table.wanted(n)
    there = np.bincount(cells, minlength=len(wanted))
    amiss = wanted - there
    taken = np.minimum((np.maximum(-amiss, 0) * share + rng.random(len(wanted))).astype(np.int64), there)
    lacking = np.maximum(amiss, 0)
    moved = int(taken.sum())
    if moved == 0 or lacking.sum() == 0:
        return
    order = np.argsort(cells + rng.random(n), kind="stable")  # by cell, in any order within it
    first = np.cumsum(there) - there
    within = np.arange(n) - np.repeat(first, there)
    who = rng.permutation(order[within < np.repeat(taken, there)])
    ends = np.cumsum(lacking) * (moved / lacking.sum())
    where = np.minimum(np.searchsorted(ends, np.arange(moved) + rng.random(), side="right"), len(wanted) - 1)
    copied = (there[where] > 0) & (rng.random(moved) < COPIES)
    like = order[first[where[copied]] + (rng.random(int(copied.sum())) * there[where[copied]]).astype(np.int64)]
    for name in codes:
        codes[name][who[copied]] = codes[name][like]
    rest, into = who[~copied], np.unravel_index(where[~copied], table.counts.shape)
    for split, bins in zip(table.splits, into, strict=True):
        codes[split.name][rest] = _one_of(split, domain[split.name], bins, codes[split.name][rest], rng)


def _one_of(split: Split, attribute: Attribute, bins: Ints, codes: Ints, rng: np.random.Generator) -> Ints:
    """A value in each bin: the one that is there if it lies in it, else any."""
    if split.bins is None and split.ends is None:
        return bins
    members = np.argsort(split.of(np.arange(attribute.size)), kind="stable")
    sizes = np.bincount(split.of(np.arange(attribute.size)), minlength=int(bins.max(initial=0)) + 1)
    first = np.cumsum(sizes) - sizes
    drawn = members[first[bins] + (rng.random(len(bins)) * sizes[bins]).astype(np.int64)]
    return np.where(split.of(codes) == bins, codes, drawn)


def _values(attribute: Attribute) -> NDArray[Any]:
    """All values of an attribute as a column; None where it is missing."""
    there = [attribute.value(code) for code in range(attribute.size - attribute.separate)]
    plain = [float(value) if isinstance(value, Fraction) else value for value in there]
    return np.array([*plain, *([None] if attribute.separate else [])], object)


def write_table(synthetic: Synthetic, path: Path) -> None:
    """Write made-up records as a CSV or Parquet file. Raises ReleaseError when the disk does not take it."""
    import pyarrow
    from pyarrow import csv, parquet

    columns = {name: pyarrow.array(column) for name, column in synthetic.columns.items()}
    try:
        if path.suffix.lower() == ".parquet":
            parquet.write_table(pyarrow.table(columns), path, compression="zstd")
            return
        spelt = {
            harmless_cell(name): pyarrow.array(
                [None if one is None else harmless_cell(one) for one in cells.to_pylist()]
            )
            if pyarrow.types.is_string(cells.type)
            else cells
            for name, cells in columns.items()
        }
        csv.write_csv(pyarrow.table(spelt), path)
    except OSError:
        raise ReleaseError("the file cannot be written", fix="check the folder and the disk", where=str(path)) from None
