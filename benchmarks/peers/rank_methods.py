"""Quantiles by the exponential mechanism as the literature has it, written anew in floating point for comparison.

`one_by_one` is Smith's mechanism for each quantile, at an equal part of epsilon (IndExp); `all_at_once` is that of
Gillenwater, Joseph and Kulesza (ICML 2021) for all of them together (JointExp). Both for one record replaced, on
values that are spread over their unit at random where they are equal. Ranks farther than `FAR` scales from those that
are asked for have next to no chance, and are left out. Nothing here is private: floats are not, nor is the generator.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
FAR = 60


def one_by_one(values: Floats, at: list[float], epsilon: float, ends: tuple[float, float], seed: int) -> list[float]:
    """IndExp: each quantile has the weight e^(-epsilon |rank - wanted| / (2 m)) for every place between two values."""
    dice = np.random.default_rng(seed)
    scale = 2 * len(at) / epsilon
    found = []
    for share in at:
        ranks, edges = _near(values, share, scale, ends, dice)
        weights = np.log(np.diff(edges)) - np.abs(ranks - share * len(values)) / scale
        found.append(_place(edges, int(_drawn(weights, dice)), dice))
    return sorted(found)


def all_at_once(values: Floats, at: list[float], epsilon: float, ends: tuple[float, float], seed: int) -> list[float]:
    """JointExp: weights e^(-epsilon U / 4), U the sum over gaps of |records in it - those wanted|.

    Pre   quantiles are so far apart that the ranks which matter do not meet.
    """
    dice = np.random.default_rng(seed)
    scale, total = 4 / epsilon, len(values)
    wanted = np.diff([0.0, *at, 1.0]) * total
    near = [_near(values, share, scale, ends, dice) for share in at]
    ways, last = [np.zeros(1)], np.zeros(1)
    for (ranks, edges), gap in zip(near, wanted, strict=False):
        off = np.abs(ranks[None, :] - last[:, None] - gap) / scale
        ways.append(np.log(np.diff(edges)) + np.logaddexp.reduce(ways[-1][:, None] - off, axis=0))
        last = ranks
    found, after = [], float(total)
    for (ranks, edges), way, gap in zip(reversed(near), reversed(ways), reversed(wanted), strict=False):
        place = int(_drawn(way - np.abs(after - ranks - gap) / scale, dice))
        found.append(_place(edges, place, dice))
        after = float(ranks[place])
    return found[::-1]


def _near(
    values: Floats, share: float, scale: float, ends: tuple[float, float], dice: np.random.Generator
) -> tuple[Floats, Floats]:
    """The ranks near a quantile, and the places between which a cut has each of them. Values are sorted."""
    middle, reach, total = int(share * len(values)), int(FAR * scale), len(values)
    low, high = max(0, middle - reach), min(total, middle + reach)
    first, last = values[max(0, low - 1)], values[min(total - 1, high)]
    begin, end = np.searchsorted(values, first, "left"), np.searchsorted(values, last, "right")
    scattered = np.sort(values[begin:end] + dice.random(end - begin))
    edges = np.concatenate([[ends[0]], scattered, [ends[1]]])[low - begin : high - begin + 2]
    return np.arange(low, high + 1, dtype=np.float64), edges


def _drawn(weights: Floats, dice: np.random.Generator) -> np.intp:
    return np.argmax(weights + dice.gumbel(size=len(weights)))


def _place(edges: Floats, rank: int, dice: np.random.Generator) -> float:
    return float(np.floor(dice.uniform(edges[rank], edges[rank + 1])))
