"""Noise along the edges of a secret graph: trees and maps, after [HMD16].

A rectangle is off by what flows across its borders, and a border is a range of places. Where only near cells are a
secret, ranges of places need far less noise than all cells of the rectangle.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np

from tetraodon.certificate.kernel import certify_measurements, sensitivity_of
from tetraodon.domain import Domain
from tetraodon.errors import QueryError
from tetraodon.exact.arrays import Bools, Floats, Ints
from tetraodon.mechanism.grid import EVERY_RANGE, Side
from tetraodon.mechanism.one_scale import OneScale, free_totals
from tetraodon.mechanism.strategy import Ends, Measured, Mechanism, Scaled, Strategy, lengths
from tetraodon.policy.attribute_graph import Pairs
from tetraodon.policy.policy import Policy
from tetraodon.query.contribution import Beyond, One, Prefix
from tetraodon.query.edge_flows import LONGEST, PARTS, FlowLine, Flows
from tetraodon.query.linear import LinearQuery, Measurement, Split
from tetraodon.query.query import Cells, EveryRectangle, Query

# -- branches ---------------------------------------------------------------------------------------
# Noise along the steps of a tree: on how many records there are beyond each of them, after [HMD16].
#
# Where pairs of values are a secret and the pairs form a tree, a step of a record changes how many are beyond that one
# step, by one, and nothing else. So these counts need half of the noise of single values, and a value is the difference
# of the few of them that meet there. With a few pairs more than a tree has, steps along them change several.

LARGEST = 256
"""Values of an attribute whose branches are written out."""


@dataclass(frozen=True)
class Branches(OneScale):
    """Totals of the parts that no step joins are exact; what is beyond each step of a tree in a part has noise."""

    name = "branches"
    answers = (Cells,)
    words = "noise along the steps of a tree"

    def propose(self, query: Query, policy: Policy) -> Iterator[Strategy]:
        """Trees of the pairs of one attribute each, where the totals of their parts are public."""
        if not policy.size_is_public:
            return
        table = query.table(policy.domain)
        for position, split in enumerate(table):
            graph = policy.graph.factor_of(split.name).graph
            if isinstance(graph, Pairs) and split == Split(split.name) and graph.size <= LARGEST and graph.pairs:
                by = (*table[:position], *table[position + 1 :])
                parts = np.unique(graph.components(), return_inverse=True)[1].tolist()
                totals = LinearQuery(One(), (*by, *((Split(split.name, tuple(parts)),) if max(parts) else ())))
                if sensitivity_of(policy.graph, totals).value == 0:
                    beyond = LinearQuery(Beyond.of(split.name, tree_of(graph)), by)
                    yield Strategy(self, (beyond,), (totals,), (*by, split))

    def variance_factor(self, query: Query, strategy: Strategy, domain: Domain) -> float:
        return float(np.abs(used_of(strategy)).sum(axis=1).mean())

    def most_terms(self, query: Query, at: Scaled) -> int:
        return int(np.abs(used_of(at.strategy)).sum(axis=1).max())

    def fit(self, at: Scaled, measured: Measured) -> Floats:
        strategy = at.strategy
        cells = measured[0] @ used_of(strategy).T
        last = strategy.table[-1].name
        roots = np.array([value for value, parent in enumerate(_measured(strategy).parents) if value == parent])
        part = next((split.of(roots) for split in strategy.exact[0].by if split.name == last), np.zeros_like(roots))
        cells[..., roots] += measured[1].reshape(*at.shape[:-1], -1)[..., part]
        return np.asarray(cells, np.float64)

    def cell_variance(self, at: Scaled) -> float:
        return super().cell_variance(at) * float(np.abs(used_of(at.strategy)).sum(axis=1).mean())

    def covariance_times(self, at: Scaled, weights: Floats) -> Floats:
        moved = self._used(at, weights) @ used_of(at.strategy).T
        return np.asarray(moved * at.strategy.noise.variance(at.scale)).reshape(weights.shape)

    def parts(self, at: Scaled, weights: Floats) -> tuple[Floats, ...]:
        return (self._used(at, weights).reshape(len(weights), -1),)

    @staticmethod
    def _used(at: Scaled, weights: Floats) -> Floats:
        return np.asarray(weights.reshape(len(weights), -1, at.shape[-1]) @ used_of(at.strategy))

    def box_terms(self, at: Scaled, low: Ends, high: Ends) -> Ints:
        before = np.concatenate([np.zeros_like(used_of(at.strategy)[:1]), np.cumsum(used_of(at.strategy), axis=0)])
        each = np.abs(before[None, 1:] - before[:-1, None]).sum(axis=-1)  # from every value to every other
        return np.asarray(math.prod(lengths(low[:-1], high[:-1]), start=each[low[-1], high[-1]]))


BRANCHES = Branches()


def tree_of(graph: Pairs) -> tuple[int, ...]:
    """The value that each is reached from, in a tree of every part of the graph.

    Why   a tree goes out from a value in the middle, so that steps along pairs that are not in it pass few others.
    """
    near: dict[int, list[int]] = {value: [] for value in range(graph.size)}
    for one, other in sorted(graph.pairs):
        near[one].append(other)
        near[other].append(one)
    found = dict[int, int]()
    for start in range(graph.size):
        if start not in found:
            way = _walk(near, _walk(near, start)[-1][0])  # from one end of the part to another
            parent, middle = dict(way), [way[-1][0]]
            while parent[middle[-1]] != middle[-1]:
                middle.append(parent[middle[-1]])
            found |= dict(_walk(near, middle[len(middle) // 2]))
    return tuple(found[value] for value in range(graph.size))


def _walk(near: Mapping[int, Sequence[int]], start: int) -> list[tuple[int, int]]:
    """Values in the order of their distance, each with the one that it is reached from."""
    order, seen = [(start, start)], {start}
    for value, _ in order:
        for other in near[value]:
            if other not in seen:
                seen.add(other)
                order.append((other, value))
    return order


def used_of(strategy: Strategy) -> Ints:
    """How much of each number beyond a step is in a value: one row for every value.

    Why   beyond the step to a value are its own records, and those beyond the steps from it.
    """
    return _used(_measured(strategy))


def _measured(strategy: Strategy) -> Beyond:
    sums = strategy.noisy[0].contribution
    if not isinstance(sums, Beyond) or len(strategy.noisy) > 1 or len(strategy.exact) != 1:
        raise QueryError("branches are not measured like this", fix="ask for a new copy")
    return sums


@lru_cache(maxsize=16)
def _used(sums: Beyond) -> Ints:
    above = np.array(sums.parents)
    after = np.flatnonzero(above != np.arange(len(above)))
    used = np.zeros((len(above), len(after)), np.int64)
    used[after, np.arange(len(after))] = 1
    used[above[after], np.arange(len(after))] = -1
    return used


# -- edges ------------------------------------------------------------------------------------------

SHARES = np.linspace(0.05, 0.95, 91)
"""Of the budget, for bins of places."""
WIDTHS = (0.7, 1.0, 1.4, 2.0, 2.8)
"""Widths of bins that are tried, in square roots of the length of a border."""


@dataclass(frozen=True)
class EdgeNoise(Mechanism):
    """Noise that flows from cell to cell: what a step moves, and nothing more, is hidden in it."""

    name = "edges"
    answers = (EveryRectangle,)
    words = "noise along the steps of the map"

    def propose(self, query: Query, policy: Policy) -> Iterator[Strategy]:
        """Flows with the best borders of those tried, where all steps are along the map and the total is public."""
        if policy.known:
            return
        table = query.table(policy.domain)
        names = (table[0].name, table[1].name)
        sizes = [policy.domain[name].size for name in names]
        total = LinearQuery(One())
        if total not in free_totals(table, policy) or max(sizes) > LONGEST or min(sizes) < 2:
            return
        lines = best_line(sizes[1]), best_line(sizes[0])
        running = [LinearQuery(Prefix(name, size, size - 1)) for name, size in zip(names, sizes, strict=True)]
        far = [certify_measurements(policy.graph, [Measurement(one, Fraction(1))]).epsilon for one in running]
        if all(far):
            both = [Measurement(one, Fraction(cost)) for one, cost in zip(running, far, strict=True)]
            together = certify_measurements(policy.graph, both).epsilon > 1
            apart = [] if together else [[Fraction(cost) for cost in far]]  # what is shared may be better all the same
            for noise in (*apart, _shared(lines, sizes, [float(cost) for cost in far])):
                first, second = (
                    FlowLine(line.size, line.steps * times, line.width, line.smooth * times)
                    for line, times in zip(lines, noise, strict=True)
                )
                yield Strategy(self, (LinearQuery(Flows(names, first, second)),), (total,), table)

    def expected_error(self, query: Query, at: Scaled) -> float:
        return math.sqrt(flow_errors(at).mean())

    def largest_error(self, query: Query, at: Scaled, confidence: Fraction) -> float:
        """A distance that every rectangle keeps from the truth."""
        return float(self._far(at, np.array([flow_errors(at).largest()]), confidence)[0])

    def fit(self, at: Scaled, measured: Measured) -> Floats:
        """The map as the noise left it, in records."""
        return measured[0].reshape(at.shape) / PARTS

    def cell_variance(self, at: Scaled) -> float:
        middle = [np.array([size // 2]) for size in at.shape]
        return float(flow_errors(at).of(middle, middle)[0])

    def covariance_times(self, at: Scaled, weights: Floats) -> Floats:
        return flows_of(at).covariance_times(weights, [at.strategy.noise.variance(s) for s in self.part_scales(at)])

    def parts(self, at: Scaled, weights: Floats) -> tuple[Floats, ...]:
        return tuple(part.reshape(len(weights), -1) for part in flows_of(at).shares(weights))

    def part_scales(self, at: Scaled) -> tuple[Fraction, ...]:
        return tuple(at.scale * scale for scale, _ in flows_of(at).noises)

    def reach(self, at: Scaled, mask: Bools, confidence: Fraction) -> float:
        """How far the sum over the cells where `mask` is true can be off."""
        law, scales = at.strategy.noise, self.part_scales(at)
        found = list(zip(self.parts(at, mask.reshape(1, -1).astype(np.float64)), scales, strict=True))
        variance = sum(float((part**2).sum()) * law.smooth_variance(scale) for part, scale in found)
        largest = max(float(np.abs(part).max(initial=0.0)) * float(scale) for part, scale in found)
        return float(law.reach(np.array([variance]), np.array([largest]), confidence)[0])

    def box_reach(self, at: Scaled, low: Ends, high: Ends, confidence: Fraction) -> Floats:
        """Quick, and not the shortest."""
        return self._far(at, flow_errors(at).of(low, high), confidence)

    def _far(self, at: Scaled, variance: Floats, confidence: Fraction) -> Floats:
        """The reach of sums with given variances, whatever their parts."""
        law = at.strategy.noise
        smooth = max(law.smooth_variance(scale) / law.variance(scale) for scale in self.part_scales(at))
        unit = law.reach(np.array([1.0]), np.array([np.sqrt(0.5)]), confidence)[0]
        return np.asarray(np.sqrt(variance * smooth) * unit)


EDGES = EdgeNoise()


@dataclass(frozen=True)
class LineErrors:
    """How far sums over ranges of places of one border are off: variances, given those of its noises."""

    line: FlowLine
    steps: float
    smooth: float = 0.0

    @cached_property
    def _running(self) -> tuple[Floats, Floats, Floats]:
        """Up to each place: how much of bins is pulled, how many units bins hold, and both with what bins share."""
        zero = np.zeros((1, len(self.line.bins)))
        pulled = np.concatenate([zero, np.cumsum(self.line.pull / PARTS, axis=0)])
        held = np.concatenate([zero, np.cumsum(self.line.bins.T.astype(np.float64), axis=0)])
        return pulled, held, pulled @ (self.line.bins @ self.line.bins.T)

    def of(self, low: Ints, high: Ints) -> Floats:
        """Why  with f a range and g what it pulls of each bin, places have f less g in their bins, and bins g."""
        pulled, held, shared = (part[high + 1] - part[low] for part in self._running)
        steps = (high - low + 1) - 2 * (held * pulled).sum(axis=-1) + (shared * pulled).sum(axis=-1)
        return np.asarray(self.steps * steps + self.smooth * (pulled**2).sum(axis=-1))

    def mean(self) -> float:
        """Over all ranges. Why: the squares of differences of n + 1 numbers, over all pairs, add up to n + 1 times
        their squares, less the square of their sum.
        """
        size = self.line.size
        pulled, held, shared = self._running

        def pairs(one: Floats, two: Floats) -> float:
            return (size + 1) * float((one * two).sum()) - float(one.sum(axis=0) @ two.sum(axis=0))

        steps = size * (size + 1) * (size + 2) / 6 - 2 * pairs(held, pulled) + pairs(shared, pulled)
        return (self.steps * steps + self.smooth * pairs(pulled, pulled)) / (size * (size + 1) / 2)

    def largest(self) -> float:
        """A variance that no range exceeds: those of long borders are differences of two from the first place on."""
        size = self.line.size
        if size <= EVERY_RANGE:
            return float(self.of(*np.triu_indices(size)).max())
        return 4 * float(self.of(np.zeros(size, np.int64), np.arange(size)).max())


@dataclass(frozen=True)
class FlowErrors:
    """The same for rectangles: those of the sides that are not sides of the map."""

    first: LineErrors
    second: LineErrors

    def mean(self) -> float:
        """Of a rectangle drawn at random. Why: which sides it has is independent of where the others are."""
        rows, columns = self.second.line.size, self.first.line.size
        first, second = (2 * (size - 1) / (size + 1) for size in (rows, columns))
        return first * self.first.mean() + second * self.second.mean()

    def largest(self) -> float:
        return 2 * (self.first.largest() + self.second.largest())

    def of(self, low: Sequence[Ints], high: Sequence[Ints]) -> Floats:
        """Of boxes, both ends included."""
        ends = list(zip(low, high, (self.second.line.size, self.first.line.size), strict=True))
        rows, columns = ((start > 0) * 1.0 + (end < size - 1) for start, end, size in ends)
        return np.asarray(rows * self.first.of(low[1], high[1]) + columns * self.second.of(low[0], high[0]))


def flows_of(at: Scaled) -> Flows:
    """What a strategy measures. Raises QueryError where it is something else."""
    found = at.strategy.noisy[0].contribution
    if len(at.strategy.noisy) > 1 or not isinstance(found, Flows):
        raise QueryError("noise along steps is not measured like this", fix="ask for a new copy")
    return found


@lru_cache(maxsize=8)
def flow_errors(at: Scaled) -> FlowErrors:
    """The errors of a strategy at a scale of noise."""
    flows, law = flows_of(at), at.strategy.noise
    first, second = (
        LineErrors(line, *(law.variance(at.scale * scale) for scale in line.scales))
        for line in (flows.first, flows.second)
    )
    return FlowErrors(first, second)


@lru_cache(maxsize=64)
def best_line(size: int) -> FlowLine:
    """The noises of a border that leave the least error of a range, where a step costs one at a scale of one."""
    tried = [(_range_error(Side(size), np.ones(1), np.zeros(1))[0], FlowLine(size, Fraction(1)))]
    for width in dict.fromkeys(round(factor * math.sqrt(size)) for factor in WIDTHS):
        if 1 < width < size:
            errors = _range_error(Side(size, width), 1 - SHARES, SHARES)
            best = int(errors.argmin())
            share = Fraction(f"{SHARES[best]:.2f}")
            tried.append((errors[best], FlowLine(size, 1 / (1 - share), width, width / share)))
    return min(tried, key=lambda one: one[0])[1]


def _range_error(side: Side, steps: Floats, smooth: Floats) -> Floats:
    """Mean variance of a range by least squares, where places and bins have these parts of the budget."""
    values = np.append(0.0, side.values)
    precise = (steps[:, None] ** 2 + smooth[:, None] ** 2 * values) / 2
    return np.asarray((side.asked / precise).sum(axis=1))


def _shared(lines: Sequence[FlowLine], sizes: Sequence[int], far: Sequence[float]) -> list[Fraction]:
    """How loud both kinds of borders are where one step may cross `far` of both.

    Why   errors add up as the squares, and losses as the inverses: the least is where noise goes as (loss / error)^1/3.
    """
    errors = [
        2 * (size - 1) / (size + 1) * LineErrors(line, *(2 * float(s) ** 2 for s in line.scales)).mean()
        for line, size in zip(lines, sizes, strict=True)
    ]
    return [Fraction(f"{(cost / error) ** (1 / 3):.6g}") for cost, error in zip(far, errors, strict=True)]
