"""Values that the known counts cannot tell apart, the vectors of moves between them, and where the secrets lie."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from tetraodon.arrays import Ints
from tetraodon.certificate.known.segments import Coarse, coarse
from tetraodon.certificate.known.zero_sum import Vector, independent_coordinates
from tetraodon.domain import Domain
from tetraodon.errors import Refused
from tetraodon.policy.known import Known, known_names, labels_at
from tetraodon.policy.secret_graph import ABSENT, MATRIX_LIMIT, SecretGraph


@dataclass(frozen=True, eq=False)
class Classes:
    """The cells of the attributes that matter, grouped by what they add to the known counts.

    `graph` is the secret graph on those attributes, `class_of` the class of every cell; where people may be absent,
    the last cell is ABSENT, which adds nothing. `counted` has one row for each class and one column for each known
    count; `vectors` keeps only columns that are independent of each other and of the number of records. `ends` says
    behind which column each fact ends. `x`, `y` list the secret pairs of cells. Where the cells would be too
    many, they are those of a `coarse` graph, in which values are taken as one that no fact tells apart.
    """

    whole: Domain
    graph: SecretGraph
    class_of: Ints
    counted: tuple[Vector, ...]
    vectors: tuple[Vector, ...]
    ends: tuple[int, ...]
    x: Ints
    y: Ints
    coarse: Coarse | None = None

    @property
    def count(self) -> int:
        return len(self.vectors)

    @property
    def dimension(self) -> int:
        """How many known counts are independent of each other and of the number of records."""
        return len(self.vectors[0])

    @cached_property
    def beside(self) -> list[tuple[int, tuple[Vector, ...]]]:
        """For each fact, into how many parts it splits the classes, and what they add to counts that it leaves open.

        Where it leaves more than two open, what they add is not told.
        """
        found = []
        table = np.array(self.counted, np.int64)
        for start, end in itertools.pairwise((0, *self.ends)):
            parts = len(np.unique(table[:, start:end], axis=0))
            order = [*range(start, end), *range(start), *range(end, table.shape[1])]
            kept: list[int] = []
            if self.dimension - parts + 1 <= 2:
                kept = independent_coordinates((table[:, order] - table[:1, order]).T.tolist())
            others = np.unique(table[:, [order[k] for k in kept if k >= end - start]], axis=0)
            found.append((parts, _rows(others)))
        return found

    @cached_property
    def sizes(self) -> Ints:
        return np.bincount(self.class_of, minlength=self.count)

    @cached_property
    def members(self) -> list[Ints]:
        order = np.argsort(self.class_of, kind="stable")
        return np.split(order, np.cumsum(self.sizes)[:-1])

    @cached_property
    def crossing(self) -> tuple[Ints, Ints]:
        """Secret pairs that some known count tells apart, in both directions."""
        apart = self.class_of[self.x] != self.class_of[self.y]
        x, y = self.x[apart], self.y[apart]
        return np.concatenate([x, y]), np.concatenate([y, x])

    @cached_property
    def arcs(self) -> list[tuple[int, int]]:
        """Pairs of different classes that a secret move joins, in both directions."""
        x, y = self.crossing
        ends = np.unique(self.class_of[x] * self.count + self.class_of[y])
        return [divmod(int(end), self.count) for end in ends]

    @cached_property
    def inside(self) -> tuple[Ints, Ints]:
        """Secret pairs that no known count tells apart: such a move is a neighbour by itself."""
        same = self.class_of[self.x] == self.class_of[self.y]
        return self.x[same], self.y[same]

    def codes(self, cell: int) -> dict[str, int]:
        """The codes of a record of a cell, on the attributes that matter."""
        named = dict(zip(self.graph.domain.names, self.graph.domain.codes_of(int(cell)), strict=True))
        return named if self.coarse is None else {n: int(self.coarse.codes[n][code]) for n, code in named.items()}

    def record(self, cell: int) -> Any:
        """A cell as a whole record: the first value of every attribute that does not matter."""
        return self.record_of(None if cell == self.graph.domain.size else self.codes(cell))

    def record_of(self, codes: Mapping[str, int] | None) -> Any:
        """A record with some codes, and the first value of every other attribute; ABSENT for None."""
        if codes is None:
            return ABSENT
        return self.whole.value_of(tuple(codes.get(name, 0) for name in self.whole.names))

    def secret_pair(self, x: int, y: int) -> tuple[dict[str, int] | None, dict[str, int] | None]:
        """The codes of two records of cells that a secret joins, which it joins themselves; None for ABSENT."""
        size = self.graph.domain.size
        if x == size or y == size:
            return (None if x == size else self.codes(x)), (None if y == size else self.codes(y))
        first, second = self.codes(x), self.codes(y)
        if self.coarse is not None:
            here, there = (self.graph.domain.codes_of(int(cell)) for cell in (x, y))
            group = None
            if self.graph.groups is not None:
                code = here[self.graph.domain.position(self.graph.groups.by)]
                group = code if code in dict(self.graph.groups.own) else None
            for name, u, v in zip(self.graph.domain.names, here, there, strict=True):
                if u != v:
                    first[name], second[name] = self.coarse.links[group, name][u, v]
        return first, second


def classes_of(graph: SecretGraph, known: tuple[Known, ...], names: tuple[str, ...] = ()) -> Classes:
    """The classes under some known facts, on the attributes that the facts look at and on `names`.

    Why  a move that changes nothing but other attributes moves no known count and no answer; and an edge that changes
         some of these attributes stays an edge when the others are left alone. So nothing else matters.
    """
    wanted = {*names, *known_names(known, graph.domain)} or {graph.domain.names[0]}
    part = graph.part(wanted)
    large = part.domain.size > MATRIX_LIMIT
    return _classes(graph.domain, part, known, large, large and bool(names))


@lru_cache(maxsize=64)
def _classes(every: Domain, whole: SecretGraph, known: tuple[Known, ...], large: bool, asked: bool) -> Classes:
    """Plans ask for them again and again, with other names."""
    small = coarse(whole, known, MATRIX_LIMIT) if large and not asked else None
    if large and small is None:
        raise Refused(
            f"with known counts, more than {MATRIX_LIMIT:,} cells of {', '.join(whole.domain.names)} would have to be "
            "compared",
            fix="use fewer or coarser attributes together with what is known",
        )
    part = small.graph if small else whole
    domain = part.domain
    cells = np.arange(domain.size)
    codes = dict(zip(domain.names, np.unravel_index(cells, domain.shape), strict=True))
    if small:
        codes = {name: small.codes[name][code] for name, code in codes.items()}
    x, y = part.edge_cells()
    columns: list[Ints] = []
    ends = []
    for entry in known:
        label = labels_at(entry, whole.domain, codes)
        columns += [(label == row).astype(np.int64) for row in range(int(label.max(initial=-1)) + 1)]
        ends.append(len(columns))
    table = np.array(columns, np.int64).reshape(len(columns), domain.size)
    if whole.absent:
        table = np.concatenate([table, np.zeros((len(columns), 1), np.int64)], axis=1)
        leaving = part.absent_cells()
        x = np.concatenate([x, leaving])
        y = np.concatenate([y, np.full(len(leaving), domain.size)])
    distinct, class_of = np.unique(table, axis=1, return_inverse=True)
    steps = distinct - distinct[:, :1]
    keep = independent_coordinates(steps.tolist())
    return Classes(
        every,
        part,
        np.asarray(class_of.ravel(), np.int64),
        _rows(distinct.T),
        _rows(distinct[keep].T),
        tuple(ends),
        x,
        y,
        small,
    )


def _rows(table: Ints) -> tuple[Vector, ...]:
    return tuple(tuple(row) for row in table.tolist())
