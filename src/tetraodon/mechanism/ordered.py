"""Noise on the running counts of the table's last attribute ([HMD14] section 7.1)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import assert_never

import numpy as np

from tetraodon.certificate.kernel import sensitivity_of
from tetraodon.domain import Domain
from tetraodon.exact.arrays import Bools, Floats, Ints
from tetraodon.mechanism.direct import free_totals
from tetraodon.mechanism.strategy import Ends, Measured, OneScale, Scaled, Strategy, lengths, reading_of
from tetraodon.policy.policy import Policy
from tetraodon.query.contribution import One, Prefix
from tetraodon.query.linear import LinearQuery
from tetraodon.query.query import Cells, EveryRange, EveryRectangle, ListedRanges, Query, RunningCounts


@dataclass(frozen=True)
class Ordered(OneScale):
    """A secret moves few running counts, and a range needs only two of them: the first is 0, the last may be known."""

    name = "ordered"
    words = "noise on running counts"
    about_order = True

    def propose(self, query: Query, policy: Policy) -> Iterator[Strategy]:
        table = query.table(policy.domain)
        # the order of what a histogram names means nothing; `by` comes before what is asked
        anywhere = isinstance(query.reading(policy.domain), Cells | EveryRectangle) and not query.by
        for position, split in enumerate(table):
            attribute = policy.domain[split.name]
            wanted = anywhere or position == len(table) - 1
            if not wanted or split.bins is not None or not attribute.ordered or attribute.size < 2:
                continue
            by = (*table[:position], *table[position + 1 :])
            totals = LinearQuery(One(), by)
            running = LinearQuery(Prefix(attribute.name, attribute.size, attribute.size - 1), by)
            known = policy.size_is_public and sensitivity_of(policy.graph, totals).value == 0
            free = free_totals(table, policy)
            if known:
                exact = (totals, *(query for query in free if query != totals))
                yield Strategy(self, (running,), exact, (*by, split))
            else:
                yield Strategy(self, (running, totals), free, (*by, split))

    def variance_factor(self, query: Query, strategy: Strategy, domain: Domain) -> float:
        attribute = domain[strategy.table[-1].name]
        size, last = attribute.size, float(not _total_is_known(strategy))
        every = size * (size + 1) / 2
        match reading_of(query, domain):
            case RunningCounts():
                return (size - 1 + last) / size
            case Cells():
                return (2 * (size - 1) + last) / size
            case ListedRanges(ends):
                return sum((low > 0) + (last if high == size - 1 else 1.0) for low, high in ends) / len(ends)
            case EveryRange():
                return ((every - size) + (every - size) + last * size) / every
            case EveryRectangle():
                rows = domain[strategy.table[0].name].size
                return (rows + 2) / 3 * ((every - size) + (every - size) + last * size) / every
            case _ as never:
                assert_never(never)

    def most_terms(self, query: Query, at: Scaled) -> int:
        match query.reading(at.domain):
            case RunningCounts():
                return 1
            case EveryRectangle():
                return 2 * at.shape[0]
            case _:
                return 2

    def fit(self, at: Scaled, measured: Measured) -> Floats:
        running = np.concatenate(measured[:2], axis=-1)  # the totals come next, noisy or exact
        return np.diff(running, axis=-1, prepend=0).astype(np.float64)

    def cell_variance(self, at: Scaled) -> float:
        return 2 * super().cell_variance(at)

    def covariance_times(self, at: Scaled, weights: Floats) -> Floats:
        used = self._used(at, weights)
        if _total_is_known(at.strategy):
            used[..., -1] = 0.0
        moved = np.diff(used, axis=-1, prepend=0.0) * at.strategy.noise.variance(at.scale)
        return np.asarray(moved.reshape(weights.shape))

    def parts(self, at: Scaled, weights: Floats) -> tuple[Floats, ...]:
        used = self._used(at, weights)
        running, totals = (part.reshape(len(weights), -1) for part in (used[..., :-1], used[..., -1]))
        return (running,) if _total_is_known(at.strategy) else (running, totals)

    @staticmethod
    def _used(at: Scaled, weights: Floats) -> Floats:
        """How much of each running count is in a weighted sum of cells, the totals last."""
        lines = weights.reshape(len(weights), -1, at.shape[-1])
        return np.asarray(lines - np.append(lines[..., 1:], np.zeros_like(lines[..., :1]), axis=-1))

    def terms(self, at: Scaled, mask: Bools) -> int:
        step = np.diff(mask.astype(np.int64), axis=-1, append=0)  # running count p is used with weight -step[p]
        return int(np.abs(step[..., :-1] if _total_is_known(at.strategy) else step).sum())

    def box_terms(self, at: Scaled, low: Ends, high: Ends) -> Ints:
        open_end = (high[-1] < at.shape[-1] - 1) | (not _total_is_known(at.strategy))
        lines = math.prod(lengths(low[:-1], high[:-1]), start=np.ones((), np.int64))
        return np.asarray(lines * ((low[-1] > 0).astype(np.int64) + open_end))


ORDERED = Ordered()


def _total_is_known(strategy: Strategy) -> bool:
    """Whether the last running counts are exact, rather than the second noisy query."""
    return len(strategy.noisy) == 1
