"""Tables of counts under known counts, without listing their cells: how far sequences of moves push them, exactly.

Let the tables tell all classes of values apart, and let every class have two records that every table counts in
different rows. Those who leave a class leave one of the two, those who enter it become the other: no count that goes
down goes up, and a sequence of n moves pushes every table by 2 n.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TypeAlias

import numpy as np

from tetraodon.arrays import Ints
from tetraodon.certificate.certificate import Dataset
from tetraodon.certificate.edge_loss import Loss
from tetraodon.certificate.known.classes import Classes
from tetraodon.certificate.known.farthest_sequence import Farthest
from tetraodon.certificate.known.largest_push import farthest_together
from tetraodon.certificate.known.push_bounds import PushBounds
from tetraodon.certificate.known.sign_patterns import Arc, Reach
from tetraodon.workload.contribution import One
from tetraodon.workload.linear import LinearQuery

Codes: TypeAlias = Mapping[str, int]


@dataclass(frozen=True, eq=False)
class UnlistedSpace(PushBounds):
    """Classes of values, and the largest pushes of a move inside one of them, of any move, and of a secret one."""

    over: Classes
    inside: int
    between: int
    secret: int

    @property
    def classes(self) -> Classes:
        return self.over

    @cached_property
    def widest(self) -> Ints:
        return np.broadcast_to(np.int64(self.between), (self.over.count, self.over.count))

    @property
    def diameters(self) -> Ints:
        return np.broadcast_to(np.int64(self.inside), (self.over.count,))

    @cached_property
    def secret_moves(self) -> Mapping[Arc, int]:
        return {self.over.arcs[0]: self.secret}  # no other is known to do less


@dataclass(frozen=True, eq=False)
class TwoRows:
    """Tables that tell the classes apart, and two records of every class that each of them counts in different rows."""

    classes: Classes
    queries: tuple[LinearQuery, ...]

    def other(self, cell: int, codes: Codes) -> Codes | None:
        """A record of the same class as a record of a cell, in another row of every table."""
        return next((one for one in self._candidates(cell, codes) if self._apart(codes, one)), None)

    def _apart(self, one: Codes, other: Codes) -> bool:
        return all(self._row(query, one) != self._row(query, other) for query in self.queries)

    @staticmethod
    def _row(query: LinearQuery, codes: Codes) -> list[int]:
        return [int(split.of(np.array(codes.get(split.name, 0)))) for split in query.by]

    def _candidates(self, cell: int, codes: Codes) -> Iterator[Codes]:
        """Changes of what the facts do not look at, of values inside their segments, and of cells inside the class."""
        yield {**self._beyond, **codes}
        segments = {} if self.classes.coarse is None else self.classes.coarse.segments
        for name, segment in segments.items():
            for code in np.flatnonzero(segment == segment[codes[name]])[[0, -1]].tolist():
                yield {**codes, name: code}
        for member in self.classes.members[int(self.classes.class_of[cell])][:2].tolist():
            yield self.classes.codes(member)

    @cached_property
    def _beyond(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for query in self.queries:
            for split in query.by:
                if split.name not in self.classes.graph.domain.names and not found.get(split.name):
                    bins = split.bins or range(min(2, self.classes.whole[split.name].size))
                    found[split.name] = next((code for code, one in enumerate(bins) if one != bins[0]), 0)
        return found


def two_rows(classes: Classes, queries: Sequence[LinearQuery]) -> TwoRows | None:
    """The tables, if they are such; None otherwise."""
    absent = classes.graph.absent
    size = classes.graph.domain.size
    if absent and int(classes.sizes[classes.class_of[size]]) > 1:
        return None  # somebody absent shares a class with records: a secret move may gain less than others
    if not all(isinstance(query.contribution, One) and _told(classes, query) for query in queries):
        return None
    rows = TwoRows(classes, tuple(queries))
    heads = [int(cells[0]) for cells in classes.members]
    found = all(rows.other(cell, classes.codes(cell)) is not None for cell in heads if cell < size)
    return rows if found else None


def _told(classes: Classes, query: LinearQuery) -> bool:
    """Whether the row of a record says which class it is in."""
    domain = classes.graph.domain
    by = {split.name: split for split in query.by}
    if classes.coarse is not None:  # enough: every row lies in one segment of every attribute
        for name, segment in classes.coarse.segments.items():
            bins = by[name].of(np.arange(len(segment))) if name in by else np.zeros_like(segment)
            if len(np.unique(bins)) < len(np.unique(np.stack([bins, segment]), axis=1).T):
                return False
        return True
    cells = np.arange(domain.size)
    row = np.zeros(domain.size, np.int64)
    for name, codes in zip(domain.names, np.unravel_index(cells, domain.shape), strict=True):
        if name in by:
            row = row * by[name].size(classes.whole) + by[name].of(codes)
    return len(np.unique(row)) == len(np.unique(np.stack([row, classes.class_of[: domain.size]]), axis=1).T)


def of_tables(rows: TwoRows, weight: Fraction) -> Loss:
    """The largest push of tables of some weight in all. Being absent is in no table."""
    classes = rows.classes
    unit = np.ones((1, classes.count), np.int64)
    if classes.graph.absent:
        unit[0, classes.class_of[-1]] = 0
    arcs = classes.arcs if classes.count > classes.dimension + 1 else classes.arcs[:1]
    space = UnlistedSpace(classes, 2, 2, 2)
    reach = Reach(space, unit, -unit, {(a, b): unit[:, b] + unit[:, a] for a, b in arcs}, True, None)
    found, exact, method = farthest_together(reach, None)
    assert found is not None
    exact = exact and (classes.coarse is None or classes.coarse.exact)
    witness = _datasets(rows, found.moves) if exact and isinstance(found, Farthest) else None
    return Loss(weight * found.value, witness, witness is not None, method)


def _datasets(rows: TwoRows, moves: Sequence[Arc]) -> tuple[Dataset, Dataset] | None:
    """Two datasets that attain it; None where the ends of no secret move have another row in their class."""
    classes, (a, b) = rows.classes, moves[0]
    size = classes.graph.domain.size
    heads: list[Codes | None] = [None if c[0] == size else classes.codes(int(c[0])) for c in classes.members]
    loses = list(heads)
    gains = [None if h is None else rows.other(int(c[0]), h) for h, c in zip(heads, classes.members, strict=True)]
    x, y = classes.crossing
    for here in np.flatnonzero((classes.class_of[x] == a) & (classes.class_of[y] == b))[:100].tolist():
        first, second = classes.secret_pair(int(x[here]), int(y[here]))
        after_first = None if first is None else rows.other(int(x[here]), first)
        before_second = None if second is None else rows.other(int(y[here]), second)
        if (first is None) == (after_first is None) and (second is None) == (before_second is None):
            loses[a], gains[a], gains[b], loses[b] = first, after_first, second, before_second
            before = [loses[a], *(loses[source] for source, _ in moves[1:])]
            after = [gains[b], *(gains[target] for _, target in moves[1:])]
            return Dataset(tuple(map(classes.record_of, before))), Dataset(tuple(map(classes.record_of, after)))
    return None
