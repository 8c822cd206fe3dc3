"""Many cells that the queries cannot tell apart: compare classes of cells instead of cells.

Every pair of cells counts as a step here. That is exact for the complete graph, and a safe upper bound for any other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tetraodon.arrays import Ints
from tetraodon.certificate.axis import (
    EDGE_LIMIT,
    UNCHANGED,
    Crossing,
    Pattern,
    Peak,
    Term,
    best_edge,
    crossed_numbers,
    masks_between,
    weighted,
)
from tetraodon.errors import Refused
from tetraodon.policy.secret_graph import SecretGraph

CLASS_LIMIT = 4096


@dataclass(frozen=True)
class ClassAxis:
    """Cells grouped by what the queries see of them. `exact` says whether every pair of cells really is a step."""

    graph: SecretGraph
    terms: tuple[Term, ...]
    crossings: tuple[Crossing, ...]
    exact: bool

    @property
    def names(self) -> tuple[str, ...]:
        return self.graph.domain.names

    @cached_property
    def _codes(self) -> dict[str, Ints]:
        size = self.graph.domain.size
        if size > EDGE_LIMIT:
            raise self._too_many()
        return dict(zip(self.names, np.unravel_index(np.arange(size), self.graph.domain.shape), strict=True))

    def _too_many(self) -> Refused:
        return Refused(
            f"{', '.join(self.names)} together have too many values to be compared",
            fix="use coarser attributes, or fewer of them in one query",
        )

    @cached_property
    def _cells(self) -> Ints:
        """One or two cells of every class: two where the class has more than one, since it holds a step then."""
        rows = [self._local_columns(term) for term in self.terms]
        rows += [crossing.split.of(self._codes[crossing.split.name])[None, :] for crossing in self.crossings]
        label = np.zeros(self.graph.domain.size, np.int64)
        for row in np.concatenate(rows):
            kinds, kind = np.unique(row, return_inverse=True)  # entries may be long: number them first
            _, label = np.unique(label * len(kinds) + kind, return_inverse=True)
            if int(label.max()) >= CLASS_LIMIT:
                raise self._too_many()
        order = np.argsort(label, kind="stable")
        starts = np.flatnonzero(np.diff(label[order], prepend=-1))
        seconds = starts + 1
        double = np.append(np.diff(starts), len(order) - starts[-1]) > 1
        return np.sort(np.concatenate([order[starts], order[seconds[double]]]))

    def _local_columns(self, term: Term) -> Ints:
        return np.asarray(term.contribution.columns()[:, self._local(term)])

    def _local(self, term: Term) -> Ints:
        names = term.contribution.names
        return np.asarray(np.ravel_multi_index([self._codes[n] for n in names], self.graph.domain.project(names).shape))

    def _pairs(self) -> Iterator[tuple[Ints, Ints]]:
        cells = self._cells
        for position in range(len(cells) - 1):
            others = cells[position + 1 :]
            yield np.full(len(others), cells[position]), others

    @cached_property
    def _numbers(self) -> list[int]:
        return crossed_numbers(self.crossings)

    def _mask(self, x: Ints, y: Ints) -> Ints:
        return masks_between(self.crossings, self._codes, x, y)

    @cached_property
    def _kinds(self) -> dict[Pattern, int]:
        masks = set()
        for x, y in self._pairs():
            masks |= set(np.unique(self._mask(x, y)).tolist())
        return {Pattern(1, frozenset(n for bit, n in enumerate(self._numbers) if m >> bit & 1)): m for m in masks}

    def patterns(self) -> Sequence[Pattern]:
        return (UNCHANGED, *self._kinds)

    def _alone(self, terms: Sequence[Term]) -> Ints:
        return weighted(terms, [t.contribution.alone(self._local(t)) for t in terms], self.graph.domain.size)

    def peak(self, pattern: Pattern, crossed: frozenset[int]) -> Peak:
        alone = self._alone([term for term in self.terms if term.number in crossed])
        if pattern.cost == 0:
            top = int(np.argmax(alone))
            return Peak(2 * int(alone[top]), top, top)
        same = [(term, self._local(term)) for term in self.terms if term.number not in crossed]
        wanted = self._kinds[pattern]
        chosen = ((x[good], y[good]) for x, y in self._pairs() if (good := self._mask(x, y) == wanted).any())
        found = best_edge(chosen, same, alone)
        assert found is not None
        return Peak(found.value, found.x, found.y, self.exact)

    def peak_alone(self) -> Peak:
        alone = self._alone(self.terms)
        top = int(np.argmax(alone))
        return Peak(int(alone[top]), top, top)
