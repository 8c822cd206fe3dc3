"""Ranges, running counts and quantiles from single values and smoothed counts together.

The ordered hierarchical mechanism of [HMD14] section 7.2, with three changes. Its bins have no sharp borders, so near
values are hard to tell apart by them. Widths and budgets are searched for, not fixed. And the kernel sets the scales:
the printed budgets are overspent in most readings.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import product

import numpy as np

from tetraodon.certificate.kernel import sensitivity_of
from tetraodon.domain import Domain
from tetraodon.inference.smooth_fit import SmoothFit, levels_of
from tetraodon.mechanism.smooth_search import Shape, best_shape, mean_range_variance, sample
from tetraodon.mechanism.strategy import Strategy, free_totals
from tetraodon.noise.laws import GAUSSIAN, LAPLACE
from tetraodon.policy.attribute_graph import Everything, Within
from tetraodon.policy.policy import Policy
from tetraodon.questions.query import EveryRange, ListedRanges, Query, RunningCounts
from tetraodon.workload.contribution import One
from tetraodon.workload.linear import LinearQuery, Split
from tetraodon.workload.smooth import Hats, Ramps

EVERY_POSITION = 8192
"""Up to this many values, predictions look at every running count; above, at a sample good to about one percent."""
SAMPLED = 100
LONGEST = 2_000_000
"""Values for which smoothed counts are proposed: least squares takes some 160 bytes for each."""


def propose(query: Query, policy: Policy) -> Iterator[Strategy]:
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
            yield strategy_of(shape, reach, attribute.name, attribute.size, tuple(by), exact)


def strategy_of(
    shape: Shape, reach: int, name: str, size: int, by: tuple[Split, ...], exact: tuple[LinearQuery, ...]
) -> Strategy:
    """A shape as queries with rational scales, relative to that of the leaves."""
    leaves, bins, running = shape.scales(reach)
    noisy = [LinearQuery(One(), (*by, Split(name)))]
    weights = [Fraction(1)]
    for width, scale in bins.items():
        noisy.append(LinearQuery(Hats(name, size, width), by))
        weights.append(Fraction(f"{scale / leaves:.4g}") * width)
    for width, scale in running.items():
        noisy.append(LinearQuery(Ramps(name, size, width), by))
        weights.append(Fraction(f"{scale / leaves:.4g}") * width)
    return Strategy("hierarchical", tuple(noisy), exact, (*by, Split(name)), tuple(weights))


@lru_cache(maxsize=8)
def fit_of(strategy: Strategy, scale: Fraction) -> SmoothFit:
    """Least squares for a strategy's measurements."""
    bins: list[tuple[int, float]] = []
    running: list[tuple[int, float]] = []
    for query, weight in zip(strategy.noisy[1:], strategy.weights[1:], strict=True):
        kind = query.contribution
        assert isinstance(kind, Hats | Ramps)
        variance = strategy.noise.variance(scale * weight) * float(kind.unit) ** 2
        (bins if isinstance(kind, Hats) else running).append((kind.width, variance))
    by = strategy.table[:-1]
    known = any(query == LinearQuery(One(), by) for query in strategy.exact)
    size = _smooth(strategy).size
    return SmoothFit(size, strategy.noise.variance(scale), levels_of(bins, running), 0.0 if known else None)


def _smooth(strategy: Strategy) -> Hats | Ramps:
    kind = strategy.noisy[1].contribution
    assert isinstance(kind, Hats | Ramps)
    return kind


@lru_cache(maxsize=64)
def mean_variance(query: Query, strategy: Strategy, scale: Fraction, domain: Domain) -> float:
    """Mean over the answers of their variance, before inference that depends on the data."""
    fit = fit_of(strategy, scale)
    every = fit.size <= EVERY_POSITION
    positions = np.arange(fit.size) if every else sample(fit.size, SAMPLED)
    match query.reading(domain):
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
