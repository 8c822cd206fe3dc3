"""Google's k-means by coresets, after the `clustering` of their library (Chang, Ghazi, Kumar, Manurangsi, ICML 2021).

Written anew in floating point for comparison. Points within a ball around the origin are hashed by the signs of random
projections. A tree of prefixes grows where noisy counts are large; its leaves give noisy counts and noisy means, and
these are clustered. One record comes or goes. How much noise is needed is looked for by dp-accounting, in
`workers/with_dpaccounting.py`; the thresholds are theirs.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans

Floats = NDArray[np.float64]
DEPTH = 20
"""How often a part may be cut in two."""


def coreset_centres(points: Floats, clusters: int, sums: float, counts: float, dice: np.random.Generator) -> Floats:
    """Centres of points in a unit cube, which is moved to the origin and lies in the ball of its corners.

    `sums` is the deviation of the noise on a sum in units of that ball's radius, `counts` the scale of that on counts.
    """
    columns = points.shape[1]
    radius = math.sqrt(columns) / 2
    first = len(points) + _laplace(counts, dice)
    least = max(1, min(int(10 * math.sqrt(columns) * sums), first // (2 * clusters)))
    leaves = _leaves(points - 0.5, max(1, first), least, counts, dice)
    means = [(part.sum(axis=0) + dice.normal(0, sums * radius, columns)) / count for part, count in leaves]
    lengths = np.linalg.norm(means, axis=1, keepdims=True)
    found = np.array(means) * np.minimum(1, radius / lengths)
    fit = KMeans(min(clusters, len(found)), n_init=1, random_state=int(dice.integers(2**31)))
    fit.fit(found, sample_weight=[count for _, count in leaves])
    return np.asarray(fit.cluster_centers_ + 0.5)


def _leaves(
    points: Floats, first: int, least: int, counts: float, dice: np.random.Generator
) -> list[tuple[Floats, int]]:
    """Parts that have none below them, with noisy counts: only large parts are cut, only pieces of `least` kept."""
    leaves, level = list[tuple[Floats, int]](), [(points, first)]
    for _ in range(DEPTH):
        signs, below = dice.normal(size=points.shape[1]), list[tuple[Floats, int]]()
        for part, count in level:
            sides = (part @ signs >= 0) if count >= 3 * least else None
            pieces = [] if sides is None else [part[sides], part[~sides]]
            told = [(piece, len(piece) + _laplace(counts, dice)) for piece in pieces]
            kept = [one for one in told if one[1] >= least]
            below += kept
            leaves += [] if kept else [(part, count)]
        level = below
    return leaves + level


def _laplace(scale: float, dice: np.random.Generator) -> int:
    """Noise on whole numbers: the difference of two waiting times."""
    chance = 1 - math.exp(-1 / scale)
    return int(dice.geometric(chance) - dice.geometric(chance))
