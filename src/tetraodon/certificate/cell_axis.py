"""Several attributes that have to be looked at together, cell by cell: along edges, or between classes of cells."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain

import numpy as np

from tetraodon.arrays import Ints
from tetraodon.certificate.axis import (
    EDGE_LIMIT,
    UNCHANGED,
    JointAxis,
    Pattern,
    Peak,
    Term,
    best_edge,
    crossed_numbers,
    masks_between,
    weighted,
)
from tetraodon.errors import Refused
from tetraodon.policy.secret_graph import Factor

CLASS_LIMIT = 4096
LISTED_LIMIT = 100_000_000
"""Numbers that are listed to tell classes of cells apart: what each query sees of every cell."""
PIECE = 2**16
"""Steps that are looked at together: few enough to stay in fast memory."""


@dataclass(frozen=True)
class CellAxis(JointAxis, ABC):
    """Cells, and the steps between them, one by one. `exact` says whether every step that is looked at is one."""

    exact: bool = True

    @abstractmethod
    def _steps(self) -> Iterator[tuple[int, Ints, Ints]]:
        """Every step, in pieces: how many factors each changes, and its two cells."""

    def _too_many(self) -> Refused:
        return Refused(
            f"{', '.join(self.names)} together have too many values to be compared",
            fix="use coarser attributes, or fewer of them in one query",
        )

    @cached_property
    def _codes(self) -> dict[str, Ints]:
        size, shape = self.graph.domain.size, self.graph.domain.shape
        if size > EDGE_LIMIT:
            raise self._too_many()
        return dict(zip(self.names, np.unravel_index(np.arange(size), shape), strict=True))

    def _local(self, term: Term) -> Ints:
        """The cell of a term's contribution that each cell lies in."""
        names = term.contribution.names
        shape = self.graph.domain.project(names).shape
        return np.asarray(np.ravel_multi_index([self._codes[name] for name in names], shape))

    def _alone(self, terms: Sequence[Term]) -> Ints:
        return weighted(terms, [t.contribution.alone(self._local(t)) for t in terms], self.graph.domain.size)

    @cached_property
    def _kinds(self) -> dict[Pattern, tuple[int, int]]:
        """Patterns, with a step that shows each."""
        kinds: dict[Pattern, tuple[int, int]] = {}
        numbers = crossed_numbers(self.crossings)
        signed = any(crossing.signed for crossing in self.crossings)
        for cost, x, y in self._steps():
            masks = masks_between(self.crossings, self._codes, x, y)
            for mask, first in zip(*np.unique(masks, return_index=True), strict=True):
                crossed = frozenset(n for bit, n in enumerate(numbers) if int(mask) >> bit & 1)
                kinds.setdefault(Pattern(cost, crossed), (int(x[first]), int(y[first])))
            if not self.terms and not signed and Pattern(1, frozenset(numbers)) in kinds:
                break  # no other step can do more where nothing else is measured
        return kinds

    def patterns(self) -> Sequence[Pattern]:
        return (UNCHANGED, *self._kinds)

    def peak(self, pattern: Pattern, crossed: frozenset[int]) -> Peak:
        alone = self._alone([term for term in self.terms if term.number in crossed])
        if pattern.cost == 0:
            top = int(np.argmax(alone))
            return Peak(2 * int(alone[top]), top, top)
        if not self.terms:
            return Peak(0, *self._kinds[pattern], self.exact)
        same = [(term, self._local(term)) for term in self.terms if term.number not in crossed]
        found = best_edge(self._steps_of(pattern), same, alone)
        assert found is not None
        return replace(found, exact=self.exact)

    def _steps_of(self, pattern: Pattern) -> Iterator[tuple[Ints, Ints]]:
        wanted = sum(1 << bit for bit, n in enumerate(crossed_numbers(self.crossings)) if n in pattern.crossed)
        for cost, x, y in self._steps():
            if cost == pattern.cost:
                good = masks_between(self.crossings, self._codes, x, y) == wanted
                if good.any():
                    yield x[good], y[good]

    def peak_alone(self) -> Peak:
        alone = self._alone(self.terms)
        top = int(np.argmax(alone))
        return Peak(int(alone[top]), top, top)


@dataclass(frozen=True)
class GridAxis(CellAxis):
    """Attributes tied by a joint metric, by a predicate over several of them, or by a weight: every edge is a step."""

    def _steps(self) -> Iterator[tuple[int, Ints, Ints]]:
        factors = self.graph.factors
        if len(factors) == 1:
            if factors[0].graph.edge_count > EDGE_LIMIT:
                raise Refused(f"too many secrets over {', '.join(self.names)}", fix="coarsen the grid")
            order = self._cells_of(factors[0])
            for x, y in factors[0].graph.edges():
                yield 1, order[x], order[y]
            return
        found = self.graph.remembered.get("steps")
        if found is None:  # cells of lists of all pairs have short numbers: `MATRIX_LIMIT`
            found = [(cost, x.astype(np.uint16), y.astype(np.uint16)) for cost, x, y in self._by_cost()]
            self.graph.remembered["steps"] = found
        for cost, x, y in found:
            for start in range(0, len(x), PIECE):
                part = slice(start, start + PIECE)
                yield cost, x[part].astype(np.int64), y[part].astype(np.int64)

    def _by_cost(self) -> Iterator[tuple[int, Ints, Ints]]:
        """Edges between records, by how many factors they change."""
        x, y = self.graph.edge_cells()
        cost = np.zeros(len(x), np.int64)
        for factor in self.graph.factors:
            cost += np.logical_or.reduce([self._codes[n][x] != self._codes[n][y] for n in factor.names])
        for changed in np.unique(cost):
            yield int(changed), x[cost == changed], y[cost == changed]

    def _cells_of(self, factor: Factor) -> Ints:
        """The local cell of each vertex of a factor that covers all attributes, maybe in another order."""
        shape = self.graph.domain.project(factor.names).shape
        vertex = np.ravel_multi_index([self._codes[name] for name in factor.names], shape)
        return np.asarray(np.argsort(vertex))


@dataclass(frozen=True)
class ClassAxis(CellAxis):
    """Many cells, grouped by what the queries see of them, so that classes are compared instead of cells.

    Every pair of cells counts as a step. That is `exact` for the complete graph, and a safe upper bound for any other.
    """

    def _steps(self) -> Iterator[tuple[int, Ints, Ints]]:
        cells = self._cells
        for position in range(len(cells) - 1):
            others = cells[position + 1 :]
            yield 1, np.full(len(others), cells[position]), others

    @cached_property
    def _cells(self) -> Ints:
        """One or two cells of every class: two where the class has more than one, since it holds a step then."""
        terms = sorted(self.terms, key=lambda term: len(term.contribution.names))
        # what is too large is refused before cells are listed
        written = [(term.contribution.columns(), term) for term in terms]
        count = sum(len(table) for table, _ in written) + len(self.crossings)
        if count * self.graph.domain.size > LISTED_LIMIT:
            raise self._too_many()
        label = np.zeros(self.graph.domain.size, np.int64)
        rows = chain(
            (np.asarray(row)[local] for table, term in written for local in [self._local(term)] for row in table),
            (crossing.split.of(self._codes[crossing.split.name]) for crossing in self.crossings),
        )
        for row in rows:
            kinds, kind = np.unique(row, return_inverse=True)  # entries may be long: number them first
            _, label = np.unique(label * len(kinds) + kind, return_inverse=True)
            if int(label.max()) >= CLASS_LIMIT:
                raise self._too_many()
        order = np.argsort(label, kind="stable")
        starts = np.flatnonzero(np.diff(label[order], prepend=-1))
        seconds = starts + 1
        double = np.append(np.diff(starts), len(order) - starts[-1]) > 1
        return np.sort(np.concatenate([order[starts], order[seconds[double]]]))
