"""What values chosen by their ranks lose between two tables, from the chances of all cuts there are.

Records that both tables have lie at the same places of their codes, and the others at places of their own. What is lost
at given places is no less than what is lost where nobody knows them: chances are then averages over the places, and no
ratio of averages is above the largest ratio.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np

from tetraodon.query.ranks import Ranks

Cell = Sequence[tuple[int, int]]
"""Codes with how many records have each."""
SLACK = 1 - 1e-9


def rank_loss(ranks: Ranks, one: Sequence[Cell], two: Sequence[Cell], scale: Fraction) -> Fraction:
    """The largest logarithm of a ratio of chances, either way, added up over cells that draw by themselves.

    Counts between ends that were drawn lose, beside that, how far they are apart over the scale of their noise.
    """
    lost = sum(_of_cell(ranks, dict(here), dict(there), float(scale)) for here, there in zip(one, two, strict=True))
    return Fraction(lost * SLACK)


def _of_cell(ranks: Ranks, one: dict[int, int], two: dict[int, int], scale: float) -> float:
    here, there = _places(one, two)
    ends = np.unique(np.concatenate([[0.0, float(ranks.size)], here, there]))
    lengths = np.diff(ends)
    below = [np.searchsorted(np.sort(places), ends[:-1], side="right") for places in (here, there)]
    gaps = np.array([float(gap) for gap in ranks.gaps])
    beyond = np.diff([0.0, *map(float, ranks.beyond(Fraction(scale))), 0.0])
    heights = []  # minus U / b, and the logarithms of the sums of all chances, for both tables
    cuts = np.array(list(combinations_with_replacement(range(len(lengths)), len(ranks.cuts))))
    shared = np.array([math.prod(math.factorial(n) for n in Counter(cut).values()) for cut in cuts.tolist()])
    volumes = lengths[cuts].prod(axis=1) / shared
    for ranked, total in zip(below, (len(here), len(there)), strict=True):
        edges = np.column_stack([np.zeros(len(cuts)), ranked[cuts], np.full(len(cuts), total)])
        height = -np.abs(np.diff(edges, axis=1) - gaps * total - beyond).sum(axis=1) / scale
        heights.append(height - np.log((volumes * np.exp(height)).sum()))
    lost = np.abs(heights[0] - heights[1])
    if ranks.ends is not None:  # a cut may lie where its stretch begins
        borders = ranks.ends.borders(np.floor(ends[:-1]).astype(np.int64)[cuts], ranks.size)
        codes = np.array(sorted({*one, *two}), np.int64)
        moved = np.array([one.get(code, 0) - two.get(code, 0) for code in codes.tolist()])
        between = (codes >= borders[:, :, None]).sum(axis=1)  # the count that each code is in
        apart = np.stack([np.abs((moved * (between == cell)).sum(axis=1)) for cell in range(borders.shape[1] + 1)])
        lost = lost + apart.sum(axis=0) / (scale * float(ranks.ends.noise))
    return float(lost.max())


def _places(one: dict[int, int], two: dict[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Where the records of both tables lie: those of one code apart from each other, and common ones together."""
    found: tuple[list[float], list[float]] = ([], [])
    for code in sorted({*one, *two}):
        most = max(one.get(code, 0), two.get(code, 0))
        for places, table in zip(found, (one, two), strict=True):
            places += [code + (n + 1) / (most + 1) for n in range(table.get(code, 0))]
    return np.array(found[0]), np.array(found[1])
