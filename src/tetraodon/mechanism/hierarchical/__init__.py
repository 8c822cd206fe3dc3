"""Ranges, running counts and quantiles from single values and smoothed counts together.

The ordered hierarchical mechanism of [HMD14] section 7.2, with three changes. Its bins have no sharp borders, so near
values are hard to tell apart by them. Widths and budgets are searched for, not fixed. And the kernel sets the scales:
the printed budgets are overspent in most readings.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import product

import numpy as np

from tetraodon.certificate.kernel import sensitivity_of
from tetraodon.exact.arrays import Bools, Floats
from tetraodon.mechanism.direct import free_totals
from tetraodon.mechanism.hierarchical.fit import SmoothFit
from tetraodon.mechanism.hierarchical.intervals import fit_of, largest_reach, parts_of, range_reach, sum_reach
from tetraodon.mechanism.hierarchical.shape_search import KINDS, Shape, best_shape, mean_range_variance, sample
from tetraodon.mechanism.strategy import Ends, Measured, Mechanism, Scaled, Strategy, lengths
from tetraodon.noise.laws import GAUSSIAN, LAPLACE
from tetraodon.policy.attribute_graph import Everything, Within
from tetraodon.policy.policy import Policy
from tetraodon.query.contribution import One
from tetraodon.query.linear import LinearQuery, Split
from tetraodon.query.query import EveryRange, ListedRanges, Query, RunningCounts
from tetraodon.query.smooth import Hats, Ramps

EVERY_POSITION = 8192
"""Up to this many values, predictions look at every running count; above, at a sample good to about one percent."""
SAMPLED = 100
LONGEST = 2_000_000
"""Values for which smoothed counts are proposed: least squares takes some 160 bytes for each."""


@dataclass(frozen=True)
class Hierarchical(Mechanism):
    """Noise on single values, the first query, and on smoothed counts of several widths."""

    name = "hierarchical"
    words = "noise on counts and smoothed counts"

    def propose(self, query: Query, policy: Policy) -> Iterator[Strategy]:
        """Smoothed counts for a question about an ordered attribute whose secrets are all values, or near ones."""
        if not isinstance(query.reading(policy.domain), RunningCounts | EveryRange | ListedRanges):
            return
        *by, last = table = query.table(policy.domain)
        attribute = policy.domain[last.name]
        graph = policy.graph.factor_of(last.name).graph
        if not attribute.ordered or attribute.size > LONGEST or not isinstance(graph, Everything | Within):
            return
        totals = LinearQuery(One(), tuple(by))
        known = policy.size_is_public and sensitivity_of(policy.graph, totals).value == 0
        # without known totals somebody may appear in a group: that moves all running sums, but only one bin a width
        far = attribute.size - 1
        near = min(graph.reach, far) if isinstance(graph, Within) and known else far
        free = free_totals(table, policy)
        exact = (totals, *(one for one in free if one != totals)) if known else free
        # where counts are known already, a neighbour may differ in records that moved far
        reaches = (near, far) if policy.graph.known and near < far else (near,)
        laws = (LAPLACE, GAUSSIAN) if policy.delta else (LAPLACE,)
        for reach, noise in product(reaches, laws):
            shape = best_shape(attribute.size, reach, noise)
            if shape is not None and (known or not shape.running):
                made = strategy_of(shape, reach, attribute.name, attribute.size, tuple(by), exact)
                yield made
                if not known:
                    yield _with_total(made, shape)

    def expected_error(self, query: Query, at: Scaled) -> float:
        return math.sqrt(_mean_variance(query, at))

    def largest_error(self, query: Query, at: Scaled, confidence: Fraction) -> float:
        return largest_reach(at, confidence, ranges=isinstance(query.reading(at.domain), EveryRange | ListedRanges))

    @staticmethod
    def widths(at: Scaled) -> list[int]:
        """The widths of the smoothed counts."""
        return sorted({w for q in at.strategy.noisy if (w := q.contribution.unit.denominator) > 1})

    @staticmethod
    def total_is_noisy(at: Scaled) -> bool:
        """Whether the last measurement is a total with noise."""
        return at.strategy.noisy[-1].contribution == One()

    def fit(self, at: Scaled, measured: Measured) -> Floats:
        """The table that fits single values and smoothed counts together best."""
        fit, noisy = fit_of(at), at.strategy.noisy
        assert isinstance(fit, SmoothFit)
        arrays = [array.astype(np.float64).reshape(-1, array.shape[-1]) for array in measured]
        by_width: dict[type, dict[int, Floats]] = {Hats: {}, Ramps: {}}
        for query, array in zip(noisy[1:], arrays[1:], strict=False):
            kind = query.contribution
            if isinstance(kind, Hats | Ramps):
                by_width[type(kind)][kind.width] = array / kind.width
        leaves = arrays[0].reshape(-1, fit.size)
        # a total with noise is the last noisy number, an exact one the first exact number
        total = np.zeros(len(leaves)) if fit.total is None else arrays[len(noisy) - (1 if fit.total else 0)][:, 0]
        found = fit.counts(leaves, by_width[Hats], by_width[Ramps], total)
        return found.reshape(measured[0].shape[:-1])

    def covariance_times(self, at: Scaled, weights: Floats) -> Floats:
        return fit_of(at).covariance_times(weights.reshape(-1, at.shape[-1])).reshape(weights.shape)

    def parts(self, at: Scaled, weights: Floats) -> tuple[Floats, ...]:
        moved = fit_of(at).covariance_times(weights.reshape(-1, at.shape[-1]))
        return tuple(part.reshape(len(weights), -1) for part in parts_of(at, moved))

    def reach(self, at: Scaled, mask: Bools, confidence: Fraction) -> float:
        return sum_reach(at, mask, confidence)

    def box_reach(self, at: Scaled, low: Ends, high: Ends, confidence: Fraction) -> Floats:
        lines = np.asarray(math.prod(lengths(low[:-1], high[:-1])))
        first, last = np.broadcast_arrays(low[-1], high[-1])
        return range_reach(at, first, last, lines, confidence)


HIERARCHICAL = Hierarchical()


def strategy_of(
    shape: Shape, reach: int, name: str, size: int, by: tuple[Split, ...], exact: tuple[LinearQuery, ...]
) -> Strategy:
    """A shape as queries with rational scales, relative to that of the leaves."""
    leaves, bins, running = shape.scales(reach)
    noisy = [LinearQuery(One(), (*by, Split(name)))]
    weights = [Fraction(1)]
    for kind, scales in ((Hats, bins), (Ramps, running)):
        for width, scale in scales.items():
            noisy.append(LinearQuery(kind(name, size, width), by))
            weights.append(Fraction(f"{scale / leaves:.4g}") * width)
    return Strategy(HIERARCHICAL, tuple(noisy), exact, (*by, Split(name)), tuple(weights))


def _with_total(strategy: Strategy, shape: Shape) -> Strategy:
    """The same with a noisy total, as precise as all else is together.

    Why   where any two values are a secret, a step moves two numbers of every kind, and somebody who comes or goes one:
          half of what may be lost is left for the total, which no step moves.
    """
    weight = Fraction(f"{shape.leaves ** (1 / KINDS[shape.noise].power):.4g}")
    total = LinearQuery(One(), strategy.table[:-1])
    return replace(strategy, noisy=(*strategy.noisy, total), weights=(*strategy.weights, weight))


@lru_cache(maxsize=1024)
def _mean_variance(query: Query, at: Scaled) -> float:
    """Mean over the answers of their variance, before inference that depends on the data."""
    fit = fit_of(at)
    every = fit.size <= EVERY_POSITION
    positions = np.arange(fit.size) if every else sample(fit.size, SAMPLED)
    match query.reading(at.domain):
        case RunningCounts():
            return float(np.mean(fit.running_variances(positions)))
        case ListedRanges(ends):
            codes = np.arange(fit.size)
            rows = [((low <= codes) & (codes <= high)).astype(np.float64) for low, high in ends]
            return float(np.mean([fit.covariance_times(row[None, :])[0] @ row for row in rows]))
        case EveryRange():
            return mean_range_variance(fit, positions)
        case _:
            raise AssertionError("only questions about order are answered this way")
