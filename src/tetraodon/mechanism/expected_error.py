"""The error a strategy will have, before any data is seen: exact variances of the linear estimate.

`v` is the variance of one noisy number. Inference that depends on the data (never-falling running counts)
only lowers the squared error; it is not counted on here.
"""

from __future__ import annotations

import math
from fractions import Fraction

from tetraodon.domain import Domain
from tetraodon.mechanism.grid import grid_fit
from tetraodon.mechanism.hierarchical import mean_variance
from tetraodon.mechanism.known_share import Asked, each_prefix, each_range, each_value, known_share, named_ranges
from tetraodon.mechanism.strategy import Strategy
from tetraodon.workload.areas import KMeans, Rectangles
from tetraodon.workload.linear import LinearQuery
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
    return math.sqrt(strategy.noise.variance(scale) * variance_factor(query, strategy, domain)) * unit


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
    """Answers add up cells, less what totals that are known exactly take from the noise in them."""
    along = [each_value] * (len(strategy.table) - 1)
    last = strategy.table[-1]
    asked: list[Asked]
    match query:
        case Histogram() | Count():
            whole, asked = 1.0, [*along, each_value]
        case Rectangles():
            sizes = [split.size(domain) for split in strategy.table]
            whole, asked = math.prod((size + 2) / 3 for size in sizes), [each_range] * len(sizes)
        case Cdf() | Quantiles():
            whole, asked = (last.size(domain) + 1) / 2, [*along, each_prefix]
        case Ranges() if query.named:
            ends = [(domain[last.name].code(a), domain[last.name].code(b)) for _, a, b in query.named]
            whole, asked = sum(high - low + 1 for low, high in ends) / len(ends), [*along, named_ranges(ends)]
        case Ranges():
            whole, asked = (last.size(domain) + 2) / 3, [*along, each_range]
        case Total() | Mean() | KMeans():
            raise AssertionError("sums are not read from tables")
    return whole - known_share(strategy.table, strategy.exact, asked, domain)


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
        case "identity" | "direct" | "synopsis", _:
            return 1
        case _:
            raise AssertionError("its noise has several scales")


def answers(query: Query, asked: LinearQuery, domain: Domain) -> int:
    """How many numbers are answered."""
    return (
        len(query.at) * asked.size(domain) // asked.contribution.rows
        if isinstance(query, Quantiles)
        else asked.size(domain)
    )
