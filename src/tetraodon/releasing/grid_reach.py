"""Rectangles of a released map: very many at once, and how far each can be off, from the noise alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tetraodon.arrays import Floats
from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.errors import DomainError, QueryError
from tetraodon.mechanism.grid import grid_fit, role_of
from tetraodon.mechanism.strategy import Strategy
from tetraodon.releasing.smooth_reach import above_discrete, tail_of

Codes: TypeAlias = NDArray[np.int64]
Measured: TypeAlias = tuple[Codes, ...]
TOGETHER = 1 << 16


def fitted_map(strategy: Strategy, scale: Fraction, domain: Domain, measured: Measured) -> Floats:
    """The map that fits cells, strips and blocks together best."""
    fit = grid_fit(strategy, scale, domain)
    names = [split.name for split in strategy.table]
    parts: dict[str, Floats] = dict.fromkeys(("cells", "across", "along", "blocks"), np.zeros((0, 0)))
    for query, array in zip(strategy.noisy, measured, strict=False):
        role = role_of(query, names)
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


def mask_reach(
    strategy: Strategy, scale: Fraction, domain: Domain, mask: NDArray[np.bool_], confidence: Fraction
) -> float:
    """How far the sum over the cells where `mask` is true can be off.

    Why   the best estimate of f x gives measurement a, of variance v, the weight a Cov(x) f / v.
    """
    fit = grid_fit(strategy, scale, domain)
    weights = mask.astype(np.float64)
    moved = fit.covariance_times(weights)
    variance = max(float((weights * moved).sum()), 0.0) * above_discrete(strategy, scale)
    names = [split.name for split in strategy.table]
    one, two = fit.first.hats, fit.second.hats
    seen = {"cells": lambda: moved, "across": lambda: moved @ two.T, "along": lambda: one @ moved}
    seen["blocks"] = lambda: one @ moved @ two.T
    largest = 0.0
    for query, weight in zip(strategy.noisy, strategy.weights, strict=True):
        unit = float(query.contribution.unit)
        part = float(scale * weight) * unit / (strategy.noise.variance(scale * weight) * unit**2)
        largest = max(largest, float(np.abs(seen[role_of(query, names)]()).max(initial=0.0)) * part)
    return float(tail_of(strategy, np.array([variance]), np.array([largest]), confidence)[0])


def rectangle_reach(
    strategy: Strategy, scale: Fraction, domain: Domain, low: Codes, high: Codes, confidence: Fraction
) -> Floats:
    """How far counts in rectangles can be off, for very many: quick, and not the shortest. Rows are two codes each."""
    fit, above = grid_fit(strategy, scale, domain), above_discrete(strategy, scale)
    reach = np.empty(len(low))
    for start in range(0, len(low), TOGETHER):
        part = slice(start, start + TOGETHER)
        reach[part] = _far(strategy, fit.rectangle_variances(low[part], high[part]) * above, confidence)
    return reach


def block_reach(
    strategy: Strategy, scale: Fraction, domain: Domain, ends: Sequence[tuple[Codes, Codes]], confidence: Fraction
) -> Floats:
    """How far the counts can be off in every block of ranges of one side, low and high ends, and of the other."""
    fit = grid_fit(strategy, scale, domain)
    one, two = (side.squares_of(*pair) for side, pair in zip((fit.first, fit.second), ends, strict=True))
    return _far(strategy, (one @ fit.inverse @ two.T) * above_discrete(strategy, scale), confidence)


def cell_reach(strategy: Strategy, scale: Fraction, domain: Domain, confidence: Fraction) -> Floats:
    """How far every cell can be off."""
    codes = [np.arange(split.size(domain)) for split in strategy.table]
    return block_reach(strategy, scale, domain, [(one, one) for one in codes], confidence)


def largest_rectangle_reach(strategy: Strategy, scale: Fraction, domain: Domain, confidence: Fraction) -> float:
    """A distance that every rectangle keeps from the truth with the given confidence."""
    worst = grid_fit(strategy, scale, domain).largest_rectangle_variance() * above_discrete(strategy, scale)
    return float(_far(strategy, np.array([worst]), confidence)[0])


def _far(strategy: Strategy, variance: Floats, confidence: Fraction) -> Floats:
    """The reach of a sum with given variance, whatever its parts: the bound grows with the square root alone."""
    unit = tail_of(strategy, np.array([1.0]), np.array([np.sqrt(0.5)]), confidence)[0]
    return np.asarray(np.sqrt(variance) * unit)


def running_map(values: Floats) -> Floats:
    """Sums of all cells below and left of each corner."""
    return np.pad(np.cumsum(np.cumsum(values, axis=0), axis=1), ((1, 0), (1, 0)))


def many_rectangles(running: Floats, low: Codes, high: Codes) -> Floats:
    """The sums of rectangles, both ends included: four look-ups each."""
    (a, b), (c, d) = low.T, high.T + 1
    return np.asarray(running[c, d] - running[a, d] - running[c, b] + running[a, b])


def rectangle_codes(names: Sequence[str], domain: Domain, sides: Mapping[str, tuple[Any, Any]]) -> tuple[Codes, Codes]:
    """The codes of rectangles: for every side its low ends and its high ends; a side that is not named is whole."""
    for name in sides:
        if name not in names:
            raise QueryError(f"the map has no side {name!r}", fix=f"name {' and '.join(names)}")
    if not sides:
        raise QueryError("no rectangle is named", fix=f"give the ends of {' or '.join(names)}")
    ends = {name: [_codes(domain[name], end) for end in pair] for name, pair in sides.items()}
    count = len(next(iter(ends.values()))[0])
    low, high = np.zeros((count, 2), np.int64), np.zeros((count, 2), np.int64)
    for place, name in enumerate(names):
        first, last = ends.get(name) or (np.zeros(count, np.int64), np.full(count, domain[name].size - 1))
        if len(first) != count or len(last) != count:
            raise QueryError("there are not as many low ends as high ends", fix="give one of each for every rectangle")
        low[:, place], high[:, place] = first, last
    if (low > high).any():
        raise QueryError("a rectangle is empty", fix="write the smaller end first")
    return low, high


def _codes(attribute: Attribute, values: Any) -> Codes:
    array = np.asarray(values)
    if isinstance(attribute.values, Integers) and array.dtype.kind in "iu":
        codes = array.astype(np.int64) - attribute.values.low
        if ((codes < 0) | (codes >= attribute.size)).any():
            raise DomainError(
                "a value is not in the domain of its attribute",
                fix="use a value that the policy's `attributes` list",
                where=attribute.name,
            )
        return codes
    return np.array([attribute.code(value) for value in values], np.int64)
