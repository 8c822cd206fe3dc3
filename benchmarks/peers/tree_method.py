"""MST (McKenna, Miklau and Sheldon, 2021) in plain floating point, after its paper: a spanning tree of two-way tables.

A third of rho goes to counts by each attribute, a third to the choice of the tree, by the exponential mechanism in each
step of Kruskal's algorithm, and a third to counts by the pairs of the tree; all with Gaussian noise, add or remove one
record. Records are drawn from the tree that these counts make: the first attribute, then each after its neighbour. What
the paper has besides, merging of rare values and a fit of all counts at once, is not here: noisy counts are moved to
the nearest ones that are not negative and have the right total, each table by itself.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from tetraodon.exact.zcdp import rho_at

Codes = NDArray[np.int64]
Pair = tuple[int, int]


def rho_of(epsilon: float, delta: float) -> float:
    """The largest rho that gives (epsilon, delta), as for ours."""
    return float(rho_at(Fraction(str(epsilon)), Fraction(str(delta))))


def counted(codes: Codes, sizes: list[int], pair: Pair) -> NDArray[np.float64]:
    """The table of two attributes."""
    first, second = pair
    flat = np.bincount(codes[:, first] * sizes[second] + codes[:, second], minlength=sizes[first] * sizes[second])
    return flat.reshape(sizes[first], sizes[second]).astype(float)


def spanning_tree(codes: Codes, sizes: list[int], epsilon: float, delta: float, seed: int) -> Codes:
    """As many made-up records as there are."""
    rng, rho = np.random.default_rng(seed), rho_of(epsilon, delta)
    many, n = len(sizes), len(codes)
    sigma = math.sqrt(many / (2 * rho / 3))
    alone = [np.bincount(codes[:, a], minlength=sizes[a]) + rng.normal(0, sigma, sizes[a]) for a in range(many)]
    total = float(np.mean([one.sum() for one in alone]))
    shares = [nearest(one, total) / total for one in alone]
    scores = {
        (a, b): float(np.abs(counted(codes, sizes, (a, b)) - n * np.outer(shares[a], shares[b])).sum())
        for a, b in combinations(range(many), 2)
    }
    sigma = math.sqrt((many - 1) / (2 * rho / 3))
    tables: dict[Pair, NDArray[np.float64]] = {}
    for pair in _tree(scores, many, math.sqrt(8 * (rho / 3) / (many - 1)), rng):
        noisy = counted(codes, sizes, pair) + rng.normal(0, sigma, (sizes[pair[0]], sizes[pair[1]]))
        tables[pair] = nearest(noisy, total)
    return _drawn(tables, shares, n, rng)


def nearest(noisy: NDArray[np.float64], total: float) -> NDArray[np.float64]:
    """The nearest counts that are not negative and add up to a total: all fall by the same, down to zero."""
    falling = np.sort(noisy, axis=None)[::-1]
    by = (np.cumsum(falling) - total) / np.arange(1, falling.size + 1)
    found: NDArray[np.float64] = np.maximum(noisy - by[falling > by][-1], 0)
    return found


def _tree(scores: dict[Pair, float], many: int, epsilon: float, rng: np.random.Generator) -> list[Pair]:
    part, chosen = list(range(many)), list[Pair]()
    while len(chosen) < many - 1:
        able = [pair for pair in scores if part[pair[0]] != part[pair[1]]]
        weights = np.array([epsilon * scores[pair] / 2 for pair in able])
        chances = np.exp(weights - weights.max())
        first, second = able[rng.choice(len(able), p=chances / chances.sum())]
        chosen.append((first, second))
        part = [part[first] if one == part[second] else one for one in part]
    return chosen


def _drawn(
    tables: dict[Pair, NDArray[np.float64]], shares: list[NDArray[np.float64]], n: int, rng: np.random.Generator
) -> Codes:
    found = np.zeros((n, len(shares)), np.int64)
    found[:, 0] = _evenly(shares[0], n, rng)
    done, waiting = {0}, [0]
    while waiting:
        at = waiting.pop()
        for (a, b), table in tables.items():
            if at not in (a, b) or {a, b} <= done:
                continue
            other, given = (b, table) if at == a else (a, table.T)
            for value in range(len(given)):
                those = np.flatnonzero(found[:, at] == value)
                row = given[value] if given[value].sum() > 0 else shares[other]
                found[those, other] = _evenly(row, len(those), rng)
            done.add(other)
            waiting.append(other)
    return found


def _evenly(weights: NDArray[np.float64], n: int, rng: np.random.Generator) -> Codes:
    """So many values whose counts are as near to the weights as can be, in any order."""
    ends = np.cumsum(weights) / weights.sum() * n
    return rng.permutation(np.searchsorted(ends, np.arange(n) + rng.random(), side="right").clip(0, len(weights) - 1))
