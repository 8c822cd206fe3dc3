"""Rectangles of a map from its cells and from smoothed counts of strips and blocks of cells."""

# ruff: noqa: ARG002 - every mechanism is asked in the same way, whatever it needs to know

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from tetraodon.arrays import Bools, Floats
from tetraodon.errors import Refused
from tetraodon.mechanism.free_totals import free_totals
from tetraodon.mechanism.grid.least_squares import GridFit, Side
from tetraodon.mechanism.grid.search import best_grid
from tetraodon.mechanism.strategy import Ends, Measured, Mechanism, Scaled, Strategy
from tetraodon.policy.policy import Policy
from tetraodon.questions.query import EveryRectangle, Query
from tetraodon.workload.contribution import One
from tetraodon.workload.linear import LinearQuery
from tetraodon.workload.smooth import Hats
from tetraodon.workload.soft import Product

TOGETHER = 1 << 16
PARTS = ("cells", "across", "along", "blocks")


@dataclass(frozen=True)
class SmoothedGrid(Mechanism):
    """Noise on the cells of a map and on smoothed counts of larger cells."""

    name = "grid"
    words = "noise on cells and smoothed blocks"

    def propose(self, query: Query, policy: Policy) -> Iterator[Strategy]:
        """The best grid of those tried, if it beats single cells."""
        if not isinstance(query.reading(policy.domain), EveryRectangle):
            return
        x, y = table = query.table(policy.domain)
        found = best_grid((x, y), policy.graph)
        if found is not None:
            yield Strategy(self, found[0], free_totals(table, policy), table, found[1])

    def expected_error(self, query: Query, at: Scaled) -> float:
        return math.sqrt(grid_fit(at).mean_rectangle_variance())

    def largest_error(self, query: Query, at: Scaled, confidence: Fraction) -> float:
        """A distance that every rectangle keeps from the truth."""
        return float(_far(at, np.array([grid_fit(at).largest_rectangle_variance()]), confidence)[0])

    def sentence(self, at: Scaled, noise: str, size: str) -> str:
        return (
            f"{noise} was added to each cell of the map{size}, and noise of its own to smoothed counts of strips "
            f"and blocks of cells; least squares put them together, so that large rectangles do not add up the "
            f"noise of single cells."
        )

    def fit(self, at: Scaled, measured: Measured) -> Floats:
        """The map that fits cells, strips and blocks together best."""
        fit, strategy = grid_fit(at), at.strategy
        parts: dict[str, Floats] = dict.fromkeys(PARTS, np.zeros((0, 0)))
        for query, array in zip(strategy.noisy, measured, strict=False):
            role = role_of(query, strategy)
            found = array.astype(np.float64) * float(query.contribution.unit)
            if role == "blocks":
                parts[role] = found.reshape(len(fit.first.hats), len(fit.second.hats))
            elif role == "cells":
                parts[role] = found[..., 0]
            else:  # strips are measured by the side that is not smoothed
                parts[role] = found if role == "across" else found.T
        total = 0.0
        for query, array in zip(strategy.exact, measured[len(strategy.noisy) :], strict=True):
            total = float(array.sum()) if not query.by else total
        return fit.counts(**parts, total=total)

    def covariance_times(self, at: Scaled, weights: Floats) -> Floats:
        fit = grid_fit(at)
        maps = weights.reshape(-1, *at.shape)
        return np.stack([fit.covariance_times(one) for one in maps]).reshape(weights.shape)

    def parts(self, at: Scaled, weights: Floats) -> tuple[Floats, ...]:
        """Why  the best estimate of f x gives measurement a, of variance v, the weight a Cov(x) f / v."""
        fit, strategy = grid_fit(at), at.strategy
        moved = self.covariance_times(at, weights).reshape(-1, *at.shape)
        one, two = fit.first.hats, fit.second.hats
        seen = {"cells": lambda: moved, "across": lambda: moved @ two.T, "along": lambda: one @ moved}
        seen["blocks"] = lambda: one @ moved @ two.T
        found = []
        for query, scale in zip(strategy.noisy, strategy.scales(at.scale), strict=True):
            share = 1 / (strategy.noise.variance(scale) * float(query.contribution.unit))
            found.append(seen[role_of(query, strategy)]().reshape(len(weights), -1) * share)
        return tuple(found)

    def reach(self, at: Scaled, mask: Bools, confidence: Fraction) -> float:
        """How far the sum over the cells where `mask` is true can be off."""
        strategy, weights = at.strategy, mask.reshape(1, -1).astype(np.float64)
        variance = max(float((weights * self.covariance_times(at, weights)).sum()), 0.0) * at.above_discrete
        scales = strategy.scales(at.scale)
        largest = max(
            float(np.abs(part).max(initial=0.0)) * float(scale)
            for part, scale in zip(self.parts(at, weights), scales, strict=True)
        )
        return float(strategy.noise.reach(np.array([variance]), np.array([largest]), confidence)[0])

    def box_reach(self, at: Scaled, low: Ends, high: Ends, confidence: Fraction) -> Floats:
        """Quick, and not the shortest; every block of ranges of one side and of the other is quicker still."""
        fit = grid_fit(at)
        ends = [np.broadcast_arrays(a, b) for a, b in zip(low, high, strict=True)]
        if ends[0][0].ndim == 2 and ends[0][0].shape[1] == ends[1][0].shape[0] == 1:
            one, two = (
                s.squares_of(a.ravel(), b.ravel()) for s, (a, b) in zip((fit.first, fit.second), ends, strict=True)
            )
            return _far(at, one @ fit.inverse @ two.T, confidence)
        lows, highs = (np.stack(np.broadcast_arrays(*side), axis=-1) for side in zip(*ends, strict=True))
        shape, lows, highs = lows.shape[:-1], lows.reshape(-1, 2), highs.reshape(-1, 2)
        variance = np.empty(len(lows))
        for start in range(0, len(lows), TOGETHER):
            part = slice(start, start + TOGETHER)
            variance[part] = fit.rectangle_variances(lows[part], highs[part])
        return _far(at, variance, confidence).reshape(shape)


GRID = SmoothedGrid()


def _far(at: Scaled, variance: Floats, confidence: Fraction) -> Floats:
    """The reach of a sum with given variance, whatever its parts: the bound grows with the square root alone."""
    unit = at.strategy.noise.reach(np.array([1.0]), np.array([np.sqrt(0.5)]), confidence)[0]
    return np.asarray(np.sqrt(variance * at.above_discrete) * unit)


@lru_cache(maxsize=8)
def grid_fit(at: Scaled) -> GridFit:
    """Least squares for a strategy's measurements."""
    strategy, names = at.strategy, [split.name for split in at.strategy.table]
    width, precise = dict.fromkeys(names, 0), dict.fromkeys(PARTS, 0.0)
    for query, scale in zip(strategy.noisy, strategy.scales(at.scale), strict=True):
        unit = float(query.contribution.unit)
        precise[role_of(query, strategy)] = 1 / (strategy.noise.variance(scale) * unit**2)
        if isinstance(query.contribution, Hats):
            width[query.contribution.name] = query.contribution.width
        elif isinstance(query.contribution, Product):
            width |= {part.name: part.units for part in query.contribution.parts}
    first, second = (Side(at.domain[name].size, width[name]) for name in names)
    return GridFit(first, second, **precise, total=LinearQuery(One()) in strategy.exact)


def role_of(query: LinearQuery, strategy: Strategy) -> str:
    """Which of the four things a `GridFit` puts together a query measures."""
    match query.contribution:
        case One():
            return "cells"
        case Hats() as kind:
            return "along" if kind.name == strategy.table[0].name else "across"
        case Product():
            return "blocks"
        case _:
            raise Refused("a map is not measured like this", fix="ask for a new copy")
