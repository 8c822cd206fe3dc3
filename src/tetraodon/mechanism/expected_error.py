"""The error a strategy will have, before any data is seen: exact variances of the linear estimate.

`v` is the variance of one noisy number. Inference that depends on the data (never-falling running counts)
only lowers the squared error; it is not counted on here.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import assert_never

from tetraodon.domain import Domain
from tetraodon.mechanism.grid import grid_fit
from tetraodon.mechanism.hierarchical import mean_variance
from tetraodon.mechanism.known_share import Asked, each_prefix, each_range, each_value, known_share, named_ranges
from tetraodon.mechanism.strategy import Strategy
from tetraodon.questions.query import Cells, EveryRange, EveryRectangle, ListedRanges, Query, Reading, RunningCounts


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
            return _ordered(_reading(query, domain), strategy, domain)
        case "identity":
            return _identity(_reading(query, domain), strategy, domain)
        case "hierarchical" | "grid":
            raise AssertionError("its noise has several scales")


def _reading(query: Query, domain: Domain) -> Reading:
    reading = query.reading(domain)
    assert reading is not None, "a table is measured for what is read off it"
    return reading


def _ordered(reading: Reading, strategy: Strategy, domain: Domain) -> float:
    """Answers are differences of two running counts; the first is 0 and the last may be known."""
    attribute = domain[strategy.table[-1].name]
    size, last = attribute.size, float(len(strategy.noisy) > 1)
    every = size * (size + 1) / 2
    match reading:
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
        case _:
            assert_never(reading)


def _identity(reading: Reading, strategy: Strategy, domain: Domain) -> float:
    """Answers add up cells, less what totals that are known exactly take from the noise in them."""
    sizes = [split.size(domain) for split in strategy.table]
    along = [each_value] * (len(sizes) - 1)
    asked: list[Asked]
    match reading:
        case Cells():
            whole, asked = 1.0, [*along, each_value]
        case EveryRectangle():
            whole, asked = math.prod((size + 2) / 3 for size in sizes), [each_range] * len(sizes)
        case RunningCounts():
            whole, asked = (sizes[-1] + 1) / 2, [*along, each_prefix]
        case ListedRanges(ends):
            whole, asked = sum(high - low + 1 for low, high in ends) / len(ends), [*along, named_ranges(ends)]
        case EveryRange():
            whole, asked = (sizes[-1] + 2) / 3, [*along, each_range]
        case _:
            assert_never(reading)
    return whole - known_share(strategy.table, strategy.exact, asked, domain)


def noise_terms(query: Query, strategy: Strategy, domain: Domain) -> int:
    """The most independent noisy numbers that one answer adds up, for a bound that holds for each answer."""
    if not strategy.noisy:
        return 0
    match strategy.mechanism, query.reading(domain):
        case "ordered", RunningCounts():
            return 1
        case "ordered", EveryRectangle():
            return 2 * strategy.table[0].size(domain)
        case "ordered", _:
            return 2
        case "identity", EveryRectangle():
            cells = math.prod(split.size(domain) for split in strategy.table)
            return max(1, cells // 2 if any(not q.by for q in strategy.exact) else cells)
        case "identity", RunningCounts() | EveryRange() | ListedRanges():
            size = strategy.table[-1].size(domain)
            whole = [q for q in strategy.exact if not q.by]
            return max(1, size // 2 if whole and len(strategy.table) == 1 else size)
        case "identity" | "direct" | "synopsis", _:
            return 1
        case _:
            raise AssertionError("its noise has several scales")
