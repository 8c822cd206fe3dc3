"""An axis of several attributes that have to be looked at together, edge by edge."""

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
from tetraodon.policy.attribute_graph import Codes
from tetraodon.policy.secret_graph import Factor, SecretGraph


@dataclass(frozen=True)
class GridAxis:
    """Attributes tied by a joint metric, by a predicate over several of them, or by a weight.

    `graph` is the secret graph over just these attributes; local cells are its domain's cells.
    """

    graph: SecretGraph
    terms: tuple[Term, ...]
    crossings: tuple[Crossing, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return self.graph.domain.names

    @cached_property
    def _codes(self) -> dict[str, Ints]:
        size, shape = self.graph.domain.size, self.graph.domain.shape
        if size > EDGE_LIMIT:
            raise Refused(
                f"{', '.join(self.names)} together have too many values to be looked at one by one",
                fix="use coarser attributes, or fewer of them in one query",
            )
        return dict(zip(self.names, np.unravel_index(np.arange(size), shape), strict=True))

    def _edges(self) -> Iterator[tuple[Codes, Codes]]:
        """Every edge, in pieces that each change the same number of factors."""
        factors = self.graph.factors
        if len(factors) == 1:
            if factors[0].graph.edge_count > EDGE_LIMIT:
                raise Refused(f"too many secrets over {', '.join(self.names)}", fix="coarsen the grid")
            order = self._cells_of(factors[0])
            for x, y in factors[0].graph.edges():
                yield order[x], order[y]
            return
        x, y = self.graph.edge_cells()
        cost = self._cost(x, y)
        for changed in np.unique(cost):
            yield x[cost == changed], y[cost == changed]

    def _cells_of(self, factor: Factor) -> Ints:
        """The local cell of each vertex of a factor that covers all attributes, maybe in another order."""
        shape = self.graph.domain.project(factor.names).shape
        vertex = np.ravel_multi_index([self._codes[name] for name in factor.names], shape)
        return np.asarray(np.argsort(vertex))

    def _cost(self, x: Codes, y: Codes) -> Ints:
        cost = np.zeros(len(x), np.int64)
        for factor in self.graph.factors:
            cost += np.logical_or.reduce([self._codes[n][x] != self._codes[n][y] for n in factor.names])
        return cost

    @cached_property
    def _numbers(self) -> list[int]:
        return crossed_numbers(self.crossings)

    def _mask(self, x: Codes, y: Codes) -> Ints:
        """One bit for every query with a split here: whether the step crosses any of its splits."""
        return masks_between(self.crossings, self._codes, x, y)

    @cached_property
    def _kinds(self) -> dict[Pattern, tuple[int, int]]:
        kinds: dict[Pattern, tuple[int, int]] = {}
        everything = frozenset(self._numbers)
        signed = any(crossing.signed for crossing in self.crossings)
        for x, y in self._edges():
            cost = int(self._cost(x[:1], y[:1])[0])
            for value, first in zip(*np.unique(self._mask(x, y), return_index=True), strict=True):
                crossed = frozenset(n for bit, n in enumerate(self._numbers) if int(value) >> bit & 1)
                kinds.setdefault(Pattern(cost, crossed), (int(x[first]), int(y[first])))
            if not self.terms and not signed and Pattern(1, everything) in kinds:
                break  # no other step can do more where nothing else is measured
        return kinds

    def patterns(self) -> Sequence[Pattern]:
        return (UNCHANGED, *self._kinds)

    def _local(self, term: Term) -> Ints:
        names = term.contribution.names
        shape = self.graph.domain.project(names).shape
        return np.asarray(np.ravel_multi_index([self._codes[name] for name in names], shape))

    def _alone(self, terms: Sequence[Term]) -> Ints:
        return weighted(terms, [t.contribution.alone(self._local(t)) for t in terms], self.graph.domain.size)

    def peak(self, pattern: Pattern, crossed: frozenset[int]) -> Peak:
        alone = self._alone([term for term in self.terms if term.number in crossed])
        if pattern.cost == 0:
            top = int(np.argmax(alone))
            return Peak(2 * int(alone[top]), top, top)
        if not self.terms:
            return Peak(0, *self._kinds[pattern])
        same = [(term, self._local(term)) for term in self.terms if term.number not in crossed]
        found = best_edge(self._edges_of(pattern), same, alone)
        assert found is not None
        return found

    def _edges_of(self, pattern: Pattern) -> Iterator[tuple[Codes, Codes]]:
        want = sum(1 << bit for bit, n in enumerate(self._numbers) if n in pattern.crossed)
        for x, y in self._edges():
            if int(self._cost(x[:1], y[:1])[0]) == pattern.cost:
                good = self._mask(x, y) == want
                if good.any():
                    yield x[good], y[good]

    def peak_alone(self) -> Peak:
        alone = self._alone(self.terms)
        top = int(np.argmax(alone))
        return Peak(int(alone[top]), top, top)
