"""Several attributes with complete, distance or empty graphs, of any size: the worst step is at a corner."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import numpy as np

from tetraodon.certificate.axis import UNCHANGED, JointAxis, Pattern, Peak, Term, longest_reach, weighted
from tetraodon.errors import Refused
from tetraodon.exact.arrays import Ints
from tetraodon.policy.attribute_graph import Everything, Public, Within
from tetraodon.policy.secret_graph import Factor, SecretGraph
from tetraodon.query.number import Number

STEPS_LIMIT = 50_000
"""Steps that are looked at one by one, for every set of attributes that can change."""


@dataclass(frozen=True)
class CornerAxis(JointAxis):
    """Attributes tied by weighted sums or products, each with its own graph of pairs at most so far apart.

    `exact` says whether every pair that the graphs have is a secret.

    Why   with the other attributes held, what a step moves is convex in the pair (x, y) of one attribute: a sum of
          absolute values of linear functions. So its maximum over x = y, or over 1 <= |x - y| <= reach, sits at a
          corner of that region, for one attribute after the other.
          Where squares of distances from the middle are measured too, this holds for pairs of each length g. A pair
          at an end of N values moves the square by 4 g (N - 1 - g), which lies above the chord over d lengths by d^2 at
          most, and anything else by a convex function of g. So it is enough to look at some lengths, d apart, and to
          add d^2: nothing, if no length is left out. The square of it lies above its chord by 2 (N - 1)^2 d^2 at most.
    """

    exact: bool = True

    def patterns(self) -> Sequence[Pattern]:
        return (UNCHANGED, *self._kinds)

    @cached_property
    def _kinds(self) -> dict[Pattern, list[tuple[str, ...]]]:
        """Patterns, with the sets of attributes whose change shows each."""
        kinds: dict[Pattern, list[tuple[str, ...]]] = {}
        able = [f.names[0] for f in self.graph.factors if f.graph.edge_count]
        for flags in product((False, True), repeat=len(able)):
            changed = tuple(name for name, flag in zip(able, flags, strict=True) if flag)
            if 1 <= len(changed) <= self.graph.at_most:
                crossed = frozenset(c.number for c in self.crossings if c.split.name in changed)
                kinds.setdefault(Pattern(len(changed), crossed), []).append(changed)
        return kinds

    def peak(self, pattern: Pattern, crossed: frozenset[int]) -> Peak:
        if pattern.cost == 0:
            return self._best((), crossed)
        found = max((self._best(changed, crossed) for changed in self._kinds[pattern]), key=lambda peak: peak.value)
        return replace(found, exact=found.exact and self.exact)

    def _best(self, changed: tuple[str, ...], crossed: frozenset[int]) -> Peak:
        curved = [term for term in self.terms if term.number not in crossed and _squares(term).intersection(changed)]
        squares = frozenset[str]().union(*(_squares(term) for term in curved))
        sides = [_Side.of(self.graph.factor_of(name), name in changed, name in squares) for name in self.names]
        fixed = int(np.prod([side.steps for side in sides if not side.squares]))
        room = int((STEPS_LIMIT / fixed) ** (1 / max(1, len(squares)))) // 4
        if fixed > STEPS_LIMIT or room < 2:
            raise Refused(
                f"{', '.join(self.names)} are too many attributes to be multiplied with each other",
                fix="ask about fewer of them at once",
            )
        pairs = [side.pairs(room) for side in sides]
        place = np.indices([len(x) for x, _ in pairs]).reshape(len(pairs), -1)
        x, y = (np.stack([pair[end][at] for pair, at in zip(pairs, place, strict=True)], axis=1) for end in (0, 1))
        moved = [self._moved(term, x, y, term.number in crossed) for term in self.terms]
        total = weighted(self.terms, moved, len(x))
        top = int(np.argmax(total))
        apart = {name: side.apart(room) for name, side in zip(self.names, sides, strict=True)}
        above = sum(term.weight * _above_chord(term, apart[name]) for term in curved for name in _squares(term))
        cell = self.graph.domain.cell_of
        ends = cell([int(c) for c in x[top]]), cell([int(c) for c in y[top]])
        return Peak(int(total[top]) + above, *ends, exact=not above)

    def _moved(self, term: Term, x: Ints, y: Ints, crossed: bool) -> Ints:
        here, there = self._cells(term, x), self._cells(term, y)
        return term.alone(here) + term.alone(there) if crossed else term.apart(here, there)

    def _cells(self, term: Term, codes: Ints) -> Ints:
        cell = np.zeros(len(codes), np.int64)
        for name in term.names:
            cell = cell * self.graph.domain[name].size + codes[:, self.names.index(name)]
        return cell

    def peak_alone(self) -> Peak:
        everything = frozenset(term.number for term in self.terms)
        peak = self._best((), everything)
        return Peak(peak.value // 2, peak.x, peak.x)


@dataclass(frozen=True)
class _Side:
    """One attribute of a step: how far it may move, 0 if it does not, and whether squares are measured of it."""

    last: int
    reach: int
    squares: bool

    @staticmethod
    def of(factor: Factor, changed: bool, squares: bool) -> _Side:
        assert isinstance(factor.graph, Everything | Within | Public)
        reach = longest_reach(factor.graph) if changed and not isinstance(factor.graph, Public) else 0
        return _Side(factor.graph.size - 1, reach, squares)

    @property
    def steps(self) -> int:
        """How many steps are looked at where only corners matter."""
        return len(self.pairs(2)[0])

    def lengths(self, room: int) -> Ints:
        """The lengths that are looked at: the ends of what there is, and with squares `room` of them, or all."""
        if not self.squares:
            return np.unique(np.array([min(1, self.reach), self.reach]))
        return np.unique(np.linspace(1, self.reach, min(room, self.reach)).astype(np.int64))

    def apart(self, room: int) -> int:
        """How far apart these lengths are."""
        return int(np.diff(self.lengths(room)).max(initial=1))

    def pairs(self, room: int) -> tuple[Ints, Ints]:
        """Steps of these lengths, up and down, from the first value and to the last."""
        length = self.lengths(room)
        low = np.concatenate([np.zeros_like(length), self.last - length])
        high = low + np.tile(length, 2)
        both = np.unique(np.stack([np.append(low, high), np.append(high, low)]), axis=1)
        return both[0], both[1]


def _squares(term: Term) -> frozenset[str]:
    """The attribute whose squares a term adds up, if it does."""
    kind = term.contribution
    return frozenset(kind.names if isinstance(kind, Number) and kind.squared else ())


def _above_chord(term: Term, apart: int) -> int:
    """How far what a step moves is above its chord between lengths that are so far apart."""
    number = term.contribution
    assert isinstance(number, Number)
    if apart == 1:
        return 0
    return apart**2 if term.power == 1 else 2 * number.longest * apart**2


def fits(factors: Sequence[Factor]) -> bool:
    """Whether every factor is one attribute with a graph whose pairs are all those at most so far apart."""
    return all(len(f.names) == 1 and isinstance(f.graph, Everything | Within | Public) for f in factors)


def widened(graph: SecretGraph) -> SecretGraph:
    """A graph with more secrets that fits. Pre: every factor is one attribute."""
    factors = tuple(f if fits([f]) else Factor(f.names, Everything(f.graph.size)) for f in graph.factors)
    return replace(graph, factors=factors)
