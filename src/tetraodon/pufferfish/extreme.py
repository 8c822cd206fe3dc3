"""The largest odds ratio over pairs and outputs, exactly, for one attacker."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tetraodon.pufferfish.likelihood import SLACK, Sums, Table
from tetraodon.pufferfish.pair import Masks
from tetraodon.pufferfish.prior import Prior

CHUNK = 4_000_000


@dataclass(frozen=True)
class Peak:
    """An odds ratio of a pair's first secret to its second, where it is found, and who finds it there.

    `first` and `second` are the likelihoods of the output given each secret.
    """

    odds: Fraction | float
    pair: int
    output: int
    prior: Prior
    first: Fraction
    second: Fraction


@dataclass(frozen=True)
class Peaks:
    """The largest odds ratios first to second (`forward`) and second to first (`backward`)."""

    forward: Peak | None
    backward: Peak | None
    skipped: tuple[int, ...] = ()

    def joined(self, other: Peaks) -> Peaks:
        """The larger of both; a pair is skipped only if both skip it."""
        skipped = tuple(sorted(set(self.skipped) & set(other.skipped)))
        return Peaks(_larger(self.forward, other.forward), _larger(self.backward, other.backward), skipped)


def _larger(one: Peak | None, other: Peak | None) -> Peak | None:
    if one is None or other is None:
        return one or other
    return other if other.odds > one.odds else one


def ratio(first: Fraction, second: Fraction) -> Fraction | float:
    """first / second, infinite over zero."""
    return first / second if second else math.inf


def for_prior(table: Table, masks: Masks, prior: Prior) -> Peaks:
    """The exact extremes of [KM12] Eq. 1-2 for one attacker; pairs with an impossible secret are skipped."""
    sums = Sums(table, masks.masks, prior.on(table.world))
    possible = np.array([mass > 0 for mass in sums.mass], np.bool_)
    alive = possible[masks.first] & possible[masks.second]
    skipped = tuple(np.flatnonzero(~alive).tolist())
    kept = np.flatnonzero(alive)
    if not kept.size:
        return Peaks(None, None, skipped)
    mass = np.array([float(m) if m else 1.0 for m in sums.mass])
    given = sums.floats / mass[:, None]

    def peak(one: NDArray[np.int64], other: NDArray[np.int64], forward: bool) -> Peak:
        best: tuple[Fraction | int, Fraction | int, int, int] = (0, 1, -1, -1)
        left, right = one.tolist(), other.tolist()
        for pair, output in _candidates(given, one, other, kept, sums.trustworthy):
            top, bottom = sums.compared(left[pair], right[pair], output)
            if top * best[1] > best[0] * bottom:
                best = (top, bottom, pair, output)
                if not bottom:
                    break  # nothing exceeds infinity
        _, _, pair, output = best
        assert pair >= 0, "some output has a positive probability"
        a, b = left[pair], right[pair]
        high, low = sums.exact(a, output) / sums.mass[a], sums.exact(b, output) / sums.mass[b]
        first, second = (high, low) if forward else (low, high)
        return Peak(ratio(high, low), pair, output, prior, first, second)

    return Peaks(peak(masks.first, masks.second, True), peak(masks.second, masks.first, False), skipped)


def near(
    table: Table, masks: Masks, prior: Prior, forward: bool, bound: Fraction
) -> Iterator[tuple[int, int, Fraction | float]]:
    """Every pair and output whose odds ratio in one direction reaches `bound`, with that ratio."""
    sums = Sums(table, masks.masks, prior.on(table.world))
    one, other = (masks.first, masks.second) if forward else (masks.second, masks.first)
    mass = np.array([float(m) if m else 1.0 for m in sums.mass])
    given = sums.floats / mass[:, None]
    for pair in range(len(masks.pairs)):
        a, b = int(one[pair]), int(other[pair])
        if not sums.mass[a] or not sums.mass[b]:
            continue
        close = _ratios(given[a], given[b]) >= float(bound) * (1 - SLACK)
        for output in np.flatnonzero(close | (not sums.trustworthy)).tolist():
            high, low = sums.exact(a, output) / sums.mass[a], sums.exact(b, output) / sums.mass[b]
            if high and ratio(high, low) >= bound:
                yield pair, output, ratio(high, low)


def _candidates(
    given: NDArray[np.float64],
    one: NDArray[np.int64],
    other: NDArray[np.int64],
    kept: NDArray[np.int64],
    trustworthy: bool,
) -> Iterator[tuple[int, int]]:
    """Pairs and outputs that may attain the maximum: everything when the floats cannot be trusted."""
    outputs = given.shape[1]
    step = max(1, CHUNK // max(1, outputs))
    pieces = [kept[start : start + step] for start in range(0, len(kept), step)]
    if not trustworthy:
        yield from ((int(pair), output) for pair in kept for output in range(outputs))
        return
    best = 0.0
    for piece in pieces:
        best = max(best, float(_ratios(given[one[piece]], given[other[piece]]).max()))
    for piece in pieces:
        found = _ratios(given[one[piece]], given[other[piece]])
        rows, columns = np.nonzero(found >= best * (1 - SLACK) if math.isfinite(best) else np.isinf(found))
        yield from zip(piece[rows].tolist(), columns.tolist(), strict=True)


def _ratios(high: NDArray[np.float64], low: NDArray[np.float64]) -> NDArray[np.float64]:
    result = np.zeros_like(high)
    with np.errstate(over="ignore"):  # odds beyond every float are looked at exactly
        np.divide(high, low, out=result, where=low > 0)
    result[(low == 0) & (high > 0)] = math.inf
    return result
