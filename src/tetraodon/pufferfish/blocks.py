"""The largest odds ratio against whole sets of attackers, where it comes down to two datasets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tetraodon.pufferfish.exponent import display
from tetraodon.pufferfish.extreme import Peak, Peaks, ratio
from tetraodon.pufferfish.likelihood import SLACK, Table
from tetraodon.pufferfish.pair import Masks
from tetraodon.pufferfish.prior import Prior
from tetraodon.pufferfish.statement import shown
from tetraodon.pufferfish.world import World


@dataclass(frozen=True)
class _Spot:
    """The best two entries so far: their ranks, the pair, and the class of datasets and output they are in."""

    odds: Fraction | float
    high: int
    low: int
    pair: int
    cell: int
    output: int


def for_blocks(table: Table, masks: Masks, groups: Sequence[frozenset[int] | None]) -> Peaks:
    """The exact extremes when groups are independent, anything goes inside one, and each pair concerns one group.

    Pre   `groups[p]` is the group of pair p; None means everybody, and then the world need not be a product.
    Post  equals the supremum of the odds ratio over all such priors, and a prior attains it.
    Why   fix a pair and let r be the records outside its group, independent of those inside. Then
          P(w | s1) = sum over r of P(r) E[K(w | x, r) | s1], and likewise for s2 with the same P(r). A ratio of two
          sums with the same weights is at most the largest ratio of their terms, and a ratio of two averages, over x in
          s1 and over y in s2, is at most max K(w | x, r) / min K(w | y, r). The prior that knows r and takes x or y
          with probability one half each is in the set and attains it ([KM12] Thms 3.1 and 6.1).
    """
    ranks = table.distinct[1]
    labels: dict[frozenset[int] | None, NDArray[np.int64]] = {}
    spots: list[_Spot | None] = [None, None]
    skipped = []
    for number, group in enumerate(groups):
        if group not in labels:
            labels[group] = classes_of(table.world, group)
        sides = (masks.masks[masks.first[number]], masks.masks[masks.second[number]])
        cells = np.intersect1d(labels[group][sides[0]], labels[group][sides[1]])
        if not cells.size:
            skipped.append(number)
            continue
        for turn in (0, 1):
            high = _by_class(ranks, labels[group], sides[turn], cells, np.maximum)
            low = _by_class(ranks, labels[group], sides[1 - turn], cells, np.minimum)
            spots[turn] = _best(table, high, low, cells, number, spots[turn])
    peaks = [_peak(table, masks, labels, groups, spot, turn) for turn, spot in enumerate(spots)]
    return Peaks(peaks[0], peaks[1], tuple(skipped))


def classes_of(world: World, group: frozenset[int] | None) -> NDArray[np.int64]:
    """A label for each dataset that two share exactly when they agree outside the group."""
    if group is None:
        return np.zeros(world.size, np.int64)
    outside = [i for i in range(world.individuals) if i not in group]
    if not outside:
        return np.zeros(world.size, np.int64)
    label: NDArray[np.int64] = np.unique(world.codes[:, outside], axis=0, return_inverse=True)[1].reshape(-1)
    return label


def _by_class(
    ranks: NDArray[np.int64],
    labels: NDArray[np.int64],
    side: NDArray[np.bool_],
    cells: NDArray[np.int64],
    pick: np.ufunc,
) -> NDArray[np.int64]:
    """For each class and output, the largest or smallest entry among the datasets of one side."""
    rows = np.flatnonzero(side & np.isin(labels, cells))
    rows = rows[np.argsort(labels[rows], kind="stable")]
    starts = np.flatnonzero(np.diff(labels[rows], prepend=-1))
    found: NDArray[np.int64] = pick.reduceat(ranks[rows], starts, axis=0)
    return found


def _best(
    table: Table,
    high: NDArray[np.int64],
    low: NDArray[np.int64],
    cells: NDArray[np.int64],
    pair: int,
    best: _Spot | None,
) -> _Spot | None:
    """The larger of the best so far and the best of this pair, compared exactly where floats cannot decide."""
    values = table.distinct[0]
    floats = table.distinct_floats
    top, bottom = floats[high], floats[low]
    ratios = np.zeros_like(top)
    with np.errstate(over="ignore"):  # odds beyond every float are looked at exactly
        np.divide(top, bottom, out=ratios, where=bottom > 0)
    ratios[(bottom == 0) & (top > 0)] = math.inf
    peak = float(ratios.max())
    if best is not None and not table.has_tiny and peak < display(best.odds) * (1 - SLACK):
        return best
    if table.has_tiny:
        rows, columns = np.indices(ratios.shape).reshape(2, -1)
    else:
        rows, columns = np.nonzero(ratios >= (peak * (1 - SLACK) if math.isfinite(peak) else math.inf))
    keys = high[rows, columns] * len(values) + low[rows, columns]
    _, first = np.unique(keys, return_index=True)
    for n in first.tolist():
        row, column = int(rows[n]), int(columns[n])
        a, b = int(high[row, column]), int(low[row, column])
        if values[a] and (best is None or ratio(values[a], values[b]) > best.odds):
            best = _Spot(ratio(values[a], values[b]), a, b, pair, int(cells[row]), column)
    return best


def _peak(
    table: Table,
    masks: Masks,
    labels: dict[frozenset[int] | None, NDArray[np.int64]],
    groups: Sequence[frozenset[int] | None],
    spot: _Spot | None,
    turn: int,
) -> Peak | None:
    if spot is None:
        return None
    values, ranks = table.distinct
    inside = labels[groups[spot.pair]] == spot.cell
    sides = [masks.masks[masks.first[spot.pair]], masks.masks[masks.second[spot.pair]]]
    column = ranks[:, spot.output]
    x = int(np.flatnonzero(inside & sides[turn] & (column == spot.high))[0])
    y = int(np.flatnonzero(inside & sides[1 - turn] & (column == spot.low))[0])
    half = Fraction(1, 2)
    datasets = table.world.datasets
    prior = Prior(
        ((datasets[x], half), (datasets[y], half)),
        f"the attacker who knows it is {shown(datasets[x])} or {shown(datasets[y])}",
    )
    high, low = values[spot.high], values[spot.low]
    first, second = (high, low) if turn == 0 else (low, high)
    return Peak(spot.odds, spot.pair, spot.output, prior, first, second)
