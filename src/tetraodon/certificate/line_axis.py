"""Exact maxima along one ordered attribute, up to millions of values."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from tetraodon.certificate.axis import (
    EDGE_LIMIT,
    UNCHANGED,
    Crossing,
    Pattern,
    Peak,
    Term,
    best_edge,
    best_step,
    crossed_numbers,
    has,
    longest_reach,
    masks_between,
    weighted,
)
from tetraodon.errors import Refused
from tetraodon.exact.arrays import Ints
from tetraodon.policy.attribute_graph import AttributeGraph, Blocks, Everything, Within
from tetraodon.query.contribution import Among, Traits

# -- line maxima ------------------------------------------------------------------------------------
# Maxima of a(x) + a(y) + |h(x) - h(y)| over pairs in a sliding window or in the same block, in linear time.


def best_in_window(alone: Ints, height: Ints, reach: int) -> Peak:
    """Over pairs with 1 <= y - x <= reach.

    Pre   at least two values; reach >= 1.
    Why   |h(x) - h(y)| is the larger of two signs; for each, the best partner of y is a sliding maximum.
    """
    size = len(alone)
    reach = min(reach, size - 1)
    best: Peak | None = None
    for sign in (1, -1):
        partner = _sliding_argmax(alone - sign * height, reach)
        y = np.arange(1, size)
        x = partner[: size - 1]
        value = alone[x] + alone[y] + sign * (height[y] - height[x])
        top = int(np.argmax(value))
        if best is None or int(value[top]) > best.value:
            best = Peak(int(value[top]), int(x[top]), int(y[top]))
    assert best is not None
    return best


def _sliding_argmax(values: Ints, width: int) -> Ints:
    """Position of the largest of values[i - width + 1 : i + 1] for every i, by maxima within fixed-size pieces.

    Each window meets at most two pieces: the tail of one and the head of the next.
    """
    size = len(values)
    order = np.argsort(values, kind="stable")
    rank = np.empty(size, np.int64)
    rank[order] = np.arange(size)
    padded = np.full(-(-size // width) * width, -1)
    padded[:size] = rank
    pieces = padded.reshape(-1, width)
    head = np.maximum.accumulate(pieces, axis=1).ravel()[:size]
    tail = np.maximum.accumulate(pieces[:, ::-1], axis=1)[:, ::-1].ravel()
    start = np.arange(size) - width + 1
    best = np.where(start >= 0, np.maximum(head, tail[np.maximum(start, 0)]), head)
    return np.asarray(order[best])


def best_in_blocks(alone: Ints, height: Ints, blocks: Ints) -> Peak:
    """Over pairs of different values in the same block.

    Why   within a block the best pair takes one of the two largest a + h and one of the two largest a - h.
    """
    up, down = _top_two(alone + height, blocks), _top_two(alone - height, blocks)
    best: Peak | None = None
    for x in down:
        for y in up:
            good = (x >= 0) & (y >= 0) & (x != y)
            if not good.any():
                continue
            a, b = x[good], y[good]
            value = alone[a] + alone[b] + height[b] - height[a]
            top = int(np.argmax(value))
            if best is None or int(value[top]) > best.value:
                best = Peak(int(value[top]), int(a[top]), int(b[top]))
    assert best is not None
    return best


def _top_two(values: Ints, blocks: Ints) -> tuple[Ints, Ints]:
    """Positions of the largest and second largest value of every block; -1 where there is none."""
    if len(values) > 1 and not blocks.any():  # one block: without sorting
        top = int(np.argmax(values))
        next_top = int(np.argmax(np.delete(values, top)))
        return np.array([top]), np.array([next_top + (next_top >= top)])
    labels, block = np.unique(blocks, return_inverse=True)
    by_value = np.argsort(values, kind="stable")
    order = by_value[np.argsort(block[by_value], kind="stable")]
    ends = np.searchsorted(block[order], np.arange(len(labels)), side="right")
    starts = np.searchsorted(block[order], np.arange(len(labels)), side="left")
    first = order[ends - 1]
    second = np.where(ends - starts > 1, order[np.maximum(ends - 2, 0)], -1)
    return first, second


def runs_of_equal_columns(matrix: Ints) -> tuple[Ints, Ints]:
    """First and last position of every maximal stretch of equal columns."""
    change = np.flatnonzero((matrix[:, 1:] != matrix[:, :-1]).any(axis=0)) + 1
    starts = np.concatenate([[0], change])
    return starts, np.concatenate([change - 1, [matrix.shape[1] - 1]])


# -- line axis --------------------------------------------------------------------------------------

ARRAY_LIMIT = 20_000_000
LISTED = 200_000
"""Edges that are looked at one by one rather than bounded."""


@dataclass(frozen=True)
class LineAxis:
    """One attribute with its own graph."""

    name: str
    graph: AttributeGraph
    terms: tuple[Term, ...]
    crossings: tuple[Crossing, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name,)

    # -- patterns ------------------------------------------------------------------------------

    def patterns(self) -> Sequence[Pattern]:
        if self.graph.edge_count == 0:
            return (UNCHANGED,)
        return (UNCHANGED, *(Pattern(1, crossed) for crossed, _, _ in self._kinds))

    @cached_property
    def _kinds(self) -> list[tuple[frozenset[int], tuple[int, int], bool]]:
        """Sets of crossed queries, an edge that shows each, and whether its edges are all there are of the kind.

        Splits by value are crossed by every edge. Splits by bins are looked at edge by edge, or, on an attribute with
        too many edges, taken to be crossed together wherever each can be crossed (an upper bound unless an edge
        is found that crosses them all).
        """
        always = frozenset(c.number for c in self.crossings if c.split.bins is None)
        binned = [c for c in self.crossings if c.split.bins is not None]
        if not binned:
            return [(always, self._some_edge(), True)]
        kinds: dict[frozenset[int], tuple[int, int]] = {}
        if self.graph.edge_count <= EDGE_LIMIT:
            codes, numbers = np.arange(self.graph.size), crossed_numbers(binned)
            for x, y in self.graph.edges():
                mask = masks_between(binned, {self.name: codes}, x, y)
                for value, first in zip(*np.unique(mask, return_index=True), strict=True):
                    crossed = always | {n for bit, n in enumerate(numbers) if int(value) >> bit & 1}
                    kinds.setdefault(crossed, (int(x[first]), int(y[first])))
            return [(crossed, edge, True) for crossed, edge in kinds.items()]
        if any(crossing.signed for crossing in binned):
            raise self._too_many_pairs()
        crossable = always | {c.number for c in binned if self._can_cross(c)}
        edge = self._edge_across(binned, crossable)
        return [(crossable, edge or self._some_edge(), edge is not None and not self.terms)]

    def _can_cross(self, crossing: Crossing) -> bool:
        bins = np.asarray(crossing.split.bins, np.int64)
        labels = self.graph.components()
        # an edge crosses the bins exactly when some connected part holds two bins
        low = np.full(int(labels.max()) + 1, np.iinfo(np.int64).max)
        high = np.full(int(labels.max()) + 1, -1)
        np.minimum.at(low, labels, bins)
        np.maximum.at(high, labels, bins)
        return bool((high > low).any())

    def _edge_across(self, binned: Sequence[Crossing], crossable: frozenset[int]) -> tuple[int, int] | None:
        x = np.arange(self.graph.size - 1)
        for y in (x + 1, np.full_like(x, self.graph.size - 1)):
            good = self.graph.adjacent(x, y)
            for crossing in binned:
                if crossing.number in crossable:
                    good &= crossing.split.of(x) != crossing.split.of(y)
            if good.any():
                first = int(np.argmax(good))
                return first, int(y[first])
        return None

    def _some_edge(self) -> tuple[int, int]:
        if isinstance(self.graph, Everything | Within):
            return 0, 1  # without listing anything: the attribute may be of any size
        x, y = next(self.graph.edges())
        return int(x[0]), int(y[0])

    # -- peaks ---------------------------------------------------------------------------------

    def peak(self, pattern: Pattern, crossed: frozenset[int]) -> Peak:
        lone = [term for term in self.terms if term.number in crossed]
        same = [term for term in self.terms if term.number not in crossed]
        if pattern.cost == 0:
            peak = self._top(lone)
            return replace(peak, value=2 * peak.value, y=peak.x)
        kinds = {kind: (edge, whole) for kind, edge, whole in self._kinds}
        edge, whole = kinds[pattern.crossed]
        if not self.terms:
            return Peak(0, *edge, whole)
        if len(kinds) > 1:
            return self._edge_by_edge(pattern, lone, same)
        found = self._of_few_steps(lone, same) or self._about_a_part({term.number for term in lone})
        found = found or self._longest_step(lone, same) or self._by_structure(lone, same)
        return found if whole else replace(found, exact=False)

    def peak_alone(self) -> Peak:
        return self._top(self.terms)

    def _top(self, lone: Sequence[Term]) -> Peak:
        if not lone:
            return Peak(0, 0, 0)
        if has(Traits.CONVEX, *lone):
            cells = np.unique(np.array([0, self.graph.size - 1]))
        else:
            cells = self._cells()
        arrays = [term.alone(cells) for term in lone]
        few, _ = runs_of_equal_columns(np.stack(arrays))  # adding Python integers is slow
        few = few if len(cells) < 5 or not all(map(_convex, arrays)) else _ends(len(cells))
        total = weighted(lone, [array[few] for array in arrays], len(few))
        top = int(np.argmax(total))
        cell = int(cells[few[top]])
        return Peak(int(total[top]), cell, cell)

    def _of_few_steps(self, lone: Sequence[Term], same: Sequence[Term]) -> Peak | None:
        """The worst step where it is one of a few for each length.

        Why   linear terms are convex in both values: the maximum sits at a corner of {1 <= y - x <= reach}. A step of
              length g from x moves the square d(x)^2 of a distance from the middle by |d(x + g)^2 - d(x)^2|, the
              absolute value of a linear function of x, and d(x)^2 itself is convex: so for each g the step begins or
              ends at an end, as it may where all steps of a length move alike. With a last value that is missing, the
              worst of all steps joins two numbers at the ends, or it and a number at an end: what is moved is convex in
              each number.
        """
        if not isinstance(self.graph, Everything | Within):
            return None
        last, reach = self.graph.size - 1, longest_reach(self.graph)
        if has(Traits.LINEAR, *self.terms):
            gap = np.array([1, reach])
        elif has(Traits.ANSWERED, *self.terms) and isinstance(self.graph, Everything) and last > 1:
            x, y = np.array([[0, 1], [0, last - 1], [last - 2, last - 1], [0, last], [last - 1, last]]).T
            return best_step(lone, same, x, y)
        elif has(Traits.CONVEX, *lone) and all(has(Traits.CONVEX, t) or has(Traits.BY_GAP, t) for t in same):
            if reach > EDGE_LIMIT:
                return None
            gap = np.arange(1, reach + 1)
        else:
            return None
        x = np.concatenate([np.zeros_like(gap), last - gap])
        return best_step(lone, same, x, x + np.tile(gap, 2))

    def _about_a_part(self, crossed: Collection[int]) -> Peak | None:
        """Any two values are a secret, and every term is about those of one stretch, the others being missing ones.

        Why   a step inside is one of the attribute that has this stretch alone; one that leaves it moves what each term
              adds for the value inside, whether a split is crossed or not.
        """
        parts = [one for term in self.terms if isinstance(one := term.contribution, Among)]
        if not isinstance(self.graph, Everything) or len(parts) < len(self.terms):
            return None
        inside = parts[0].holds([np.arange(self.graph.size)])
        low, size = int(np.argmax(inside)), int(inside.sum())
        if not 2 <= size < self.graph.size or not inside[low : low + size].all():
            return None
        if any(
            part.truth != parts[0].truth or part.first not in ((), (low,)) or part.within not in ((), (size,))
            for part in parts
        ):
            return None
        terms = [replace(term, contribution=part.inner) for term, part in zip(self.terms, parts, strict=True)]
        axis = replace(self, graph=Everything(size), terms=tuple(terms), crossings=())
        found, out = axis.peak(Pattern(1, frozenset()), frozenset(crossed)), axis.peak_alone()
        if out.value > found.value:
            return replace(out, x=low + out.x, y=int(np.argmin(inside)))
        return replace(found, x=low + found.x, y=low + found.y)

    def _by_structure(self, lone: Sequence[Term], same: Sequence[Term]) -> Peak:
        cells = self._cells()
        arrays = [t.alone(cells) for t in lone]
        potentials = [p for t in same if t.power == 1 and (p := t.contribution.potential(cells)) is not None]
        if len(potentials) == len(same) and isinstance(self.graph, Everything) and self._at_ends(arrays, potentials):
            few = _ends(len(cells))
            alone = weighted(lone, [array[few] for array in arrays], len(few))
            height = weighted(same, [p[few] for p in potentials], len(few))
            best = best_in_blocks(alone, height, np.zeros_like(few))
            return replace(best, x=int(few[best.x]), y=int(few[best.y]))
        alone = weighted(lone, arrays, len(cells))
        if len(potentials) == len(same):
            height = weighted(same, potentials, len(cells))
            match self.graph:
                case Within():
                    return best_in_window(alone, height, self.graph.reach)
                case Everything() | Blocks():
                    return best_in_blocks(alone, height, self.graph.components())
                case _:
                    pass
        if self.graph.edge_count > min(LISTED, EDGE_LIMIT) and (runs := self._by_runs(alone, same)) is not None:
            return runs
        if self.graph.edge_count <= EDGE_LIMIT:
            found = best_edge(self.graph.edges(), [(t, cells) for t in same], alone)
            assert found is not None
            return found
        return self._term_by_term(lone)

    def _at_ends(self, alone: Sequence[Ints], potentials: Sequence[Ints]) -> bool:
        """Whether the two largest of alone + height, and of alone - height, are among the two values at each end.

        Why   so it is for any convex sequence, and a height of linear potentials leaves alone convex.
        """
        linear = all(_convex(one) and _convex(-one) for one in potentials)
        return self.graph.size > 4 and linear and all(map(_convex, alone))

    def _longest_step(self, lone: Sequence[Term], same: Sequence[Term]) -> Peak | None:
        """Smoothed counts, beside terms that longer steps move no less ([HMD14] section 7.2, for bins whose borders are
        not sharp): the longest step from code 0, or from elsewhere.

        Post  exact where a step from code 0 attains every term's own maximum, where all steps of the greatest length
              or the few edges are looked at; else a bound.
        """
        smoothed = [term for term in same if has(Traits.SMOOTHED, term)]
        if not isinstance(self.graph, Everything | Within) or not smoothed or not has(Traits.FIRST, *lone):
            return None
        if not has(Traits.LINEAR, *(term for term in same if term not in smoothed)):
            return None
        reach, first = longest_reach(self.graph), np.array([0])
        gap = np.unique(np.concatenate([t.contribution.worst_lengths(reach, t.power) for t in same]))
        found = best_step(lone, same, np.zeros_like(gap), gap)
        bound = sum(2 * term.weight * int(term.alone(first)[0]) for term in lone)
        bound += sum(term.weight * int(term.most_moved(np.array([reach]))[0]) for term in same)
        if found.value == bound:
            return found
        if has(Traits.BY_LENGTH, *same):
            starts = self._cells()[: self.graph.size - reach]
            return best_step(lone, same, starts, starts + reach)
        if self.graph.edge_count <= LISTED:
            cells = self._cells()
            alone = weighted(lone, [term.alone(cells) for term in lone], len(cells))
            return best_edge(self.graph.edges(), [(term, cells) for term in same], alone)
        return replace(found, value=bound, exact=False)

    def _by_runs(self, alone: Ints, same: Sequence[Term]) -> Peak | None:
        """Values that are alike over long stretches: compare stretches, not values. None where they are not."""
        rows = [term.contribution.alike for term in self.terms]
        if not isinstance(self.graph, Everything | Within) or any(one is None for one in rows):
            return None
        starts, ends = runs_of_equal_columns(np.concatenate([one for one in rows if one is not None]))
        if len(starts) ** 2 > min(EDGE_LIMIT, self.graph.edge_count):
            return None
        x, y = np.triu_indices(len(starts), k=1)
        near = starts[y] - ends[x] <= (self.graph.reach if isinstance(self.graph, Within) else self.graph.size)
        pair = (ends[x[near]], starts[y[near]])
        long = ends > starts
        inside = (starts[long], starts[long] + 1)
        every = iter([p for p in (pair, inside) if len(p[0])])
        return best_edge(every, [(t, np.arange(self.graph.size)) for t in same], alone)

    def _term_by_term(self, lone: Sequence[Term]) -> Peak:
        """A bound on each term apart."""
        if len(self.terms) == 1:
            raise self._too_many_pairs()
        parts = [replace(self, terms=(term,)) for term in self.terms]
        some = Pattern(1, self._kinds[0][0])
        crossed = frozenset(term.number for term in lone)
        peaks = [part.peak(some, crossed) for part in parts]
        return Peak(sum(peak.value for peak in peaks), peaks[0].x, peaks[0].y, exact=False)

    def _too_many_pairs(self) -> Refused:
        what = f"the loss on {self.name} cannot be computed for so many pairs"
        return Refused(what, fix="use fewer values or a simpler query")

    def _edge_by_edge(self, pattern: Pattern, lone: Sequence[Term], same: Sequence[Term]) -> Peak:
        cells = self._cells()
        alone = weighted(lone, [t.alone(cells) for t in lone], len(cells))
        binned = [one for one in self.crossings if one.split.bins is not None]
        wanted = sum(1 << bit for bit, number in enumerate(crossed_numbers(binned)) if number in pattern.crossed)
        kept = []
        for x, y in self.graph.edges():
            good = masks_between(binned, {self.name: cells}, x, y) == wanted
            if good.any():
                kept.append((x[good], y[good]))
        found = best_edge(iter(kept), [(t, cells) for t in same], alone)
        assert found is not None
        return found

    def _cells(self) -> Ints:
        if self.graph.size > ARRAY_LIMIT:
            raise Refused(f"{self.name} has more than {ARRAY_LIMIT:,} values", fix="use a coarser grid for it")
        return np.arange(self.graph.size)


def _convex(values: Ints) -> bool:
    return bool((np.diff(values, 2) >= 0).all())


def _ends(size: int) -> Ints:
    """The two values at each end."""
    return np.array([0, 1, size - 2, size - 1])
