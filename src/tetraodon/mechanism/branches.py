"""Noise along the steps of a tree: on how many records there are beyond each of them, after [HMD16].

Where pairs of values are a secret and the pairs form a tree, a step of a record changes how many are beyond that one
step, by one, and nothing else. So these counts need half of the noise of single values, and a value is the difference
of the few of them that meet there. With a few pairs more than a tree has, steps along them change several.
"""

# ruff: noqa: ARG002 - every mechanism is asked in the same way, whatever it needs to know

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from tetraodon.arrays import Bools, Floats, Ints
from tetraodon.certificate.kernel import sensitivity_of
from tetraodon.domain import Domain
from tetraodon.errors import QueryError
from tetraodon.mechanism.one_scale import OneScale, lengths
from tetraodon.mechanism.strategy import Ends, Measured, Scaled, Strategy
from tetraodon.policy.attribute_graph import Pairs
from tetraodon.policy.policy import Policy
from tetraodon.questions.query import Cells, Query
from tetraodon.workload.contribution import Beyond, One
from tetraodon.workload.linear import LinearQuery, Split

LARGEST = 256
"""Values of an attribute whose branches are written out."""


@dataclass(frozen=True)
class Branches(OneScale):
    """Totals of the parts that no step joins are exact; what is beyond each step of a tree in a part has noise."""

    name = "branches"
    words = "noise along the steps of a tree"

    def propose(self, query: Query, policy: Policy) -> Iterator[Strategy]:
        """Trees of the pairs of one attribute each, where the totals of their parts are public."""
        if not isinstance(query.reading(policy.domain), Cells) or not policy.size_is_public:
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

    def sentence(self, at: Scaled, noise: str, size: str) -> str:
        return (
            f"{noise} was added to how many records there are beyond each step of a tree of secrets along "
            f"{at.strategy.table[-1].name}{size}, rather than to each cell: a secret moves few of these numbers, and a "
            f"cell is the difference of those that meet there."
        )

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

    def terms(self, at: Scaled, mask: Bools) -> int:
        return int(np.abs(mask.reshape(-1, at.shape[-1]).astype(np.int64) @ used_of(at.strategy)).sum())

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
