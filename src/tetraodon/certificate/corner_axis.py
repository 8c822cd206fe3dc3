"""Several attributes with complete, distance or empty graphs, of any size: the worst step is at a corner."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from tetraodon.arrays import Ints
from tetraodon.certificate.axis import UNCHANGED, JointAxis, Pattern, Peak, Term, longest_reach
from tetraodon.policy.attribute_graph import Everything, Public, Within
from tetraodon.policy.secret_graph import Factor


@dataclass(frozen=True)
class CornerAxis(JointAxis):
    """Attributes tied by weighted sums, each with its own graph of pairs at most so far apart.

    Why   with the other attributes held, what a step moves is convex in the pair (x, y) of one attribute: a sum of
          absolute values of linear functions. So its maximum over x = y, or over 1 <= |x - y| <= reach, sits at a
          corner of that region, for one attribute after the other.
    """

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
        sets = [()] if pattern.cost == 0 else self._kinds[pattern]
        return max((self._best(changed, crossed) for changed in sets), key=lambda peak: peak.value)

    def _best(self, changed: tuple[str, ...], crossed: frozenset[int]) -> Peak:
        pairs = [list(_corners(factor, factor.names[0] in changed)) for factor in self._ordered]
        x = np.array(list(product(*([a for a, _ in corner] for corner in pairs))), np.int64)
        y = np.array(list(product(*([b for _, b in corner] for corner in pairs))), np.int64)
        total = np.zeros(len(x), object)
        for term in self.terms:
            here, there = self._cells(term, x), self._cells(term, y)
            contribution = term.contribution
            if term.number in crossed:
                moved = contribution.alone(here).astype(object) + contribution.alone(there)
            else:
                moved = contribution.apart(here, there).astype(object)
            total = total + term.weight * moved
        top = int(np.argmax(total))
        cell = self.graph.domain.cell_of
        return Peak(int(total[top]), cell([int(c) for c in x[top]]), cell([int(c) for c in y[top]]))

    @cached_property
    def _ordered(self) -> list[Factor]:
        return [self.graph.factor_of(name) for name in self.names]

    def _cells(self, term: Term, codes: Ints) -> Ints:
        cell = np.zeros(len(codes), np.int64)
        for name in term.contribution.names:
            cell = cell * self.graph.domain[name].size + codes[:, self.names.index(name)]
        return cell

    def peak_alone(self) -> Peak:
        everything = frozenset(term.number for term in self.terms)
        peak = self._best((), everything)
        return Peak(peak.value // 2, peak.x, peak.x)


def _corners(factor: Factor, changed: bool) -> Iterator[tuple[int, int]]:
    last = factor.graph.size - 1
    if not changed:
        yield from {(0, 0), (last, last)}
        return
    assert isinstance(factor.graph, Everything | Within)
    reach = longest_reach(factor.graph)
    for a, b in {(0, 1), (0, reach), (last - 1, last), (last - reach, last)}:
        yield a, b
        yield b, a


def fits(factors: Sequence[Factor]) -> bool:
    """Whether every factor is one attribute with a graph whose pairs are all those at most so far apart."""
    return all(len(f.names) == 1 and isinstance(f.graph, Everything | Within | Public) for f in factors)
