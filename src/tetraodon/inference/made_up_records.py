"""Made-up records that have about the counts of some tables.

Records start with attributes that are independent of each other, each spread as its tables say. Then table after table
is brought nearer to its counts: records in cells that have too many are moved to cells that have too few, some by
becoming a copy of a record there, which keeps what goes together in it, the others by taking over the values of that
cell alone, which keeps what goes together in them. This is the gradual update of PrivSyn (Zhang and others, 2021).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tetraodon.arrays import Floats, Ints
from tetraodon.domain import Attribute, Domain
from tetraodon.workload.linear import Split

ROUNDS, SLOWER, SLOWEST = 18, 0.88, 0.04
"""How often every table has its turn, and the share of what is amiss that is moved in later and later rounds."""
COPIES = 0.3
"""The share of moved records that become copies of others."""


def make_up(
    tables: Sequence[TargetTable], domain: Domain, n: int, *, progress: Callable[[str], None] = lambda _: None
) -> dict[str, Ints]:
    """The codes of `n` records by attribute, of every attribute that some table is about.

    Post  the same tables give the same records.
    """
    names = [name for name in domain.names if any(name in table.names for table in tables)]
    rng = np.random.default_rng(n)  # of made-up records; what they follow is public by then
    codes = {name: rng.permutation(_spread(domain[name], tables, n)) for name in names}
    for number in range(ROUNDS):
        progress(f"round {number + 1} of {ROUNDS}")
        bring_all_nearer(codes, tables, domain, max(SLOWER**number, SLOWEST), rng)
    return codes


def bring_all_nearer(
    codes: dict[str, Ints], tables: Sequence[TargetTable], domain: Domain, share: float, rng: np.random.Generator
) -> None:
    """Move a share of the records that are amiss, table by table in any order."""
    n = len(next(iter(codes.values())))
    for place in rng.permutation(len(tables)).tolist():
        _bring_nearer(codes, tables[place], n, share, domain, rng)


@dataclass(frozen=True, eq=False)
class TargetTable:
    """Counts that records are to have, none below zero."""

    name: str
    splits: tuple[Split, ...]
    counts: Floats

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


def _spread(attribute: Attribute, tables: Sequence[TargetTable], n: int) -> Ints:
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
    codes: dict[str, Ints], table: TargetTable, n: int, share: float, domain: Domain, rng: np.random.Generator
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
    mixed = rng.permutation(n)
    short = cells[mixed].astype(np.uint16 if len(wanted) <= 2**16 else np.int64)  # these are sorted digit by digit
    order = mixed[np.argsort(short, kind="stable")]  # by cell, in any order within it
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
        codes[split.name][rest] = one_of(split, domain[split.name], bins, codes[split.name][rest], rng)


def one_of(split: Split, attribute: Attribute, bins: Ints, codes: Ints, rng: np.random.Generator) -> Ints:
    """A value in each bin: the one that is there if it lies in it, else any."""
    if split.bins is None and split.ends is None:
        return bins
    members = np.argsort(split.of(np.arange(attribute.size)), kind="stable")
    sizes = np.bincount(split.of(np.arange(attribute.size)), minlength=int(bins.max(initial=0)) + 1)
    first = np.cumsum(sizes) - sizes
    drawn = members[first[bins] + (rng.random(len(bins)) * sizes[bins]).astype(np.int64)]
    return np.where(split.of(codes) == bins, codes, drawn)
