"""The error a strategy will have, before any data is seen: exact variances of the linear estimate.

`v` is the variance of one noisy number. Inference that depends on the data (never-falling running counts)
only lowers the squared error; it is not counted on here.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tetraodon.domain import Domain
from tetraodon.mechanism.grid import grid_fit
from tetraodon.mechanism.hierarchical import mean_variance
from tetraodon.mechanism.strategy import Strategy
from tetraodon.noise.kind import noise_variance
from tetraodon.workload.areas import KMeans, Rectangles
from tetraodon.workload.linear import LinearQuery, Split
from tetraodon.workload.query import Cdf, Count, Histogram, Mean, Quantiles, Query, Ranges, Total


def expected_error(query: Query, strategy: Strategy, scale: Fraction, domain: Domain) -> float:
    """Root mean squared error per answer; for ranges, of a range drawn at random; for quantiles, in records; for a
    mean, of the sum that is divided; for rectangles, of one drawn at random; for clusters, of a cell of their table.
    """
    if not strategy.noisy:
        return 0.0
    if strategy.mechanism == "hierarchical":
        return math.sqrt(mean_variance(query, strategy, scale, domain))
    if strategy.mechanism == "grid":
        return math.sqrt(grid_fit(strategy, scale, domain).mean_rectangle_variance())
    unit = float(strategy.noisy[0].contribution.unit)
    return math.sqrt(noise_variance(strategy.noise, scale) * variance_factor(query, strategy, domain)) * unit


def variance_factor(query: Query, strategy: Strategy, domain: Domain) -> float:
    """Mean over the answers of their variance, in multiples of v."""
    match strategy.mechanism:
        case "exact":
            return 0.0
        case "direct" | "synopsis":
            return 1.0
        case "ordered":
            return _ordered(query, strategy, domain)
        case "identity":
            return _identity(query, strategy, domain)
        case "hierarchical" | "grid":
            raise AssertionError("its noise has several scales")


def _ordered(query: Query, strategy: Strategy, domain: Domain) -> float:
    """Answers are differences of two running counts; the first is 0 and the last may be known."""
    attribute = domain[strategy.table[-1].name]
    size, last = attribute.size, float(len(strategy.noisy) > 1)
    match query:
        case Cdf() | Quantiles():
            return (size - 1 + last) / size
        case Histogram() | Count():
            return (2 * (size - 1) + last) / size
        case Ranges() if query.named:
            ends = [(attribute.code(low), attribute.code(high)) for _, low, high in query.named]
            return sum((low > 0) + (last if high == size - 1 else 1.0) for low, high in ends) / len(ends)
        case Ranges():
            every = size * (size + 1) / 2
            return ((every - size) + (every - size) + last * size) / every
        case Rectangles():
            every, rows = size * (size + 1) / 2, domain[strategy.table[0].name].size
            return (rows + 2) / 3 * ((every - size) + (every - size) + last * size) / every
        case Total() | Mean() | KMeans():
            raise AssertionError("sums are not read from tables")


def _identity(query: Query, strategy: Strategy, domain: Domain) -> float:
    """Answers add up cells; where a group of m cells has a known total, k of them have variance k - k^2/m."""
    sizes = [split.size(domain) for split in strategy.table]
    if isinstance(query, Histogram | Count):
        cells = math.prod(sizes)
        groups = math.prod(_groups(split, strategy, domain) for split in strategy.table) if strategy.exact else 0
        return 1.0 - groups / cells
    if isinstance(query, Rectangles):
        mean, known = 1.0, float(bool(strategy.exact))
        for split in strategy.table:
            part = _parts(split, strategy, domain)
            within = (len(part) + 2) / 3 - _random_range(part, _rank_within(part), 1.0)
            mean, known = mean * (len(part) + 2) / 3, known * within
        return mean - known
    last, size = strategy.table[-1], sizes[-1]
    share = 0.0
    if strategy.exact:
        share = math.prod(_groups(s, strategy, domain) / s.size(domain) for s in strategy.table[:-1])
    part = _parts(last, strategy, domain)
    members = np.bincount(part)[part]
    rank = _rank_within(part)
    match query:
        case Cdf() | Quantiles():
            taken = np.cumsum((2 * rank + 1) / members)
            return float(np.mean(np.arange(1, size + 1) - share * taken))
        case Ranges() if query.named:
            attribute = domain[last.name]
            return float(
                np.mean([_one_range(attribute.code(a), attribute.code(b), part, share) for _, a, b in query.named])
            )
        case Ranges():
            return _random_range(part, rank, share)
        case Total() | Mean() | KMeans():
            raise AssertionError("sums are not read from tables")


def _known(name: str, strategy: Strategy) -> Split | None:
    """How the exact totals split an attribute; None when they add over all its values."""
    return next((s for q in strategy.exact for s in q.by if s.name == name), None)


def _groups(split: Split, strategy: Strategy, domain: Domain) -> int:
    known = _known(split.name, strategy)
    return 1 if known is None else known.size(domain)


def _parts(split: Split, strategy: Strategy, domain: Domain) -> NDArray[np.int64]:
    """For every value, the group of values that shares a known total with it."""
    codes = np.arange(domain[split.name].size)
    known = _known(split.name, strategy)
    return np.zeros(len(codes), np.int64) if known is None else known.of(codes)


def _rank_within(part: NDArray[np.int64]) -> NDArray[np.int64]:
    order = np.argsort(part, kind="stable")
    starts = np.searchsorted(part[order], part[order])
    rank = np.empty(len(part), np.int64)
    rank[order] = np.arange(len(part)) - starts
    return rank


def _one_range(low: int, high: int, part: NDArray[np.int64], share: float) -> float:
    inside = np.bincount(part[low : high + 1], minlength=int(part.max()) + 1)
    return float(inside.sum() - share * np.sum(inside**2 / np.bincount(part)))


def _random_range(part: NDArray[np.int64], rank: NDArray[np.int64], share: float) -> float:
    """Mean over all ranges of (length - share * sum over groups of inside^2 / members).

    Why   with S(p) the number of members below p, the sum over ranges of (S(h) - S(l))^2 is
          (N + 1) sum S^2 - (sum S)^2 over the N + 1 points between values.
    """
    size = len(part)
    after = size - np.arange(size)
    members = np.bincount(part).astype(float)
    squares = np.bincount(part, weights=(2.0 * rank + 1) * after)
    sums = np.bincount(part, weights=after.astype(float))
    ranges = size * (size + 1) / 2
    within = float(np.sum(((size + 1) * squares - sums**2) / members)) / ranges
    return (size + 2) / 3 - share * within


def noise_terms(query: Query, strategy: Strategy, domain: Domain) -> int:
    """The most independent noisy numbers that one answer adds up, for a bound that holds for each answer."""
    if not strategy.noisy:
        return 0
    match strategy.mechanism, query:
        case "ordered", Cdf() | Quantiles():
            return 1
        case "ordered", Rectangles():
            return 2 * strategy.table[0].size(domain)
        case "ordered", _:
            return 2
        case "identity", Rectangles():
            cells = math.prod(split.size(domain) for split in strategy.table)
            return max(1, cells // 2 if any(not q.by for q in strategy.exact) else cells)
        case "identity", Cdf() | Ranges() | Quantiles():
            size = strategy.table[-1].size(domain)
            whole = [q for q in strategy.exact if not q.by]
            return max(1, size // 2 if whole and len(strategy.table) == 1 else size)
        case _:
            return 1


def answers(query: Query, asked: LinearQuery, domain: Domain) -> int:
    """How many numbers are answered."""
    return (
        len(query.at) * asked.size(domain) // asked.contribution.rows
        if isinstance(query, Quantiles)
        else asked.size(domain)
    )
