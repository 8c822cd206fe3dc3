"""From what each round told to a table of counts: least squares over all rounds."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from tetraodon.arrays import Floats
from tetraodon.mechanism.strategy import Measured, Scaled
from tetraodon.workload.contribution import One
from tetraodon.workload.divided import FAN, Divided, Round, pooled, spread
from tetraodon.workload.linear import LinearQuery

Told: TypeAlias = tuple[Floats, Floats]
"""Estimates of the counts of parts, and their variances."""


def parts_of(at: Scaled) -> Divided:
    """The parts of a strategy."""
    return at.told(Divided)


def known_totals(at: Scaled, measured: Measured) -> Floats | None:
    """The exact number of records in each cell of what the parts are split by, where it is known."""
    strategy = at.strategy
    totals = LinearQuery(One(), strategy.noisy[0].by)
    if totals not in strategy.exact:
        return None
    return measured[len(strategy.noisy) + strategy.exact.index(totals)].astype(np.float64).ravel()


def fitted(at: Scaled, measured: Measured) -> Floats:
    """The table that fits all rounds together best, even inside parts that were not divided.

    Why   least squares in a tree: upwards, every part is the average by precision of its own counts and of what its
          pieces add up to; downwards, the pieces share what is missing as their variances stand.
    """
    parts = parts_of(at)
    fan, sides = FAN[len(parts.sizes)], len(parts.sizes)
    rounds = list(parts.told(measured[0], at.scale))
    best = [_own(one, place, at) for place, one in enumerate(rounds)]
    pieces: list[Told] = []
    for place in range(len(rounds) - 2, -1, -1):
        divided, (value, variance) = rounds[place].divided, best[place]
        summed, theirs = (pooled(part, fan, sides) for part in best[place + 1])
        together = 1 / (1 / variance + 1 / theirs)
        joined = (value / variance + summed / theirs) * together
        best[place] = np.where(divided, joined, value), np.where(divided, together, variance)
        pieces.insert(0, (summed, theirs))
    value = _with_totals(*best[0], known_totals(at, measured))
    cells = np.zeros((len(value), *parts.sizes))
    for place, one in enumerate(rounds):
        if place:
            (own, spare), (summed, theirs) = best[place], pieces[place - 1]
            value = own + spare * spread((value - summed) / theirs, fan, own.shape[1:])
        size = pooled(np.ones(parts.sizes), one.width, sides)
        cells += spread(np.where(one.settled, value / size, 0.0), one.width, parts.sizes)
    return cells.reshape(at.shape)


def _own(one: Round, place: int, at: Scaled) -> Told:
    """What the counts of each part by themselves tell."""
    parts, noise = parts_of(at), at.strategy.noise
    counts, first = one.counts.astype(np.float64), noise.variance(parts.scale_of(at.scale, place))
    if place == parts.rounds - 1:
        return counts, np.full(counts.shape, first)
    last = noise.variance(parts.scale_again(at.scale, place))
    both, together = (counts * last + one.again * first) / (first + last), first * last / (first + last)
    return np.where(one.settled, both, counts), np.where(one.settled, together, first)


def _with_totals(value: Floats, variance: Floats, totals: Floats | None) -> Floats:
    """The widest parts, with what is missing to exact totals shared as their variances stand."""
    if totals is None:
        return value
    sides = tuple(range(1, value.ndim))
    missing = (totals - value.sum(axis=sides)) / variance.sum(axis=sides)
    return np.asarray(value + variance * missing.reshape(-1, *(1 for _ in sides)))
