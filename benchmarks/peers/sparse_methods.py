"""Methods of the literature that look for where records are, written anew in floating point for comparison.

`dawa` is that of Li, Hay and Miklau (PVLDB 2014) for all ranges: buckets whose deviation from even is least, found with
a quarter of epsilon among intervals whose lengths are powers of two, then a binary tree of them with weights that are
chosen greedily. Its noise on deviations is that of the code its authors published, which is half of what an argument by
the noisiest choice would need. `adaptive_grid` is that of Qardaji, Yang and Li (ICDE 2013), `privtree` that of Zhang,
Xiao and Xie (SIGMOD 2016) with half of epsilon for the counts of its leaves. All are for one record that comes or goes.
Nothing here is private: floats are not, nor is the generator.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Row = tuple[int, int, float]
"""A node of a tree: its first bucket, that after its last, and its weight."""
STEPS = 100


def deviations(counts: Floats) -> list[Floats]:
    """For every power of two, how uneven each interval of that length is: the sum of distances from its mean."""
    found, length = [], 1
    while length <= len(counts):
        windows = np.lib.stride_tricks.sliding_window_view(counts, length)
        parts = np.array_split(windows, max(1, windows.size >> 22))
        found.append(np.concatenate([np.abs(part - part.mean(axis=1)[:, None]).sum(axis=1) for part in parts]))
        length *= 2
    return found


def dawa(counts: Floats, epsilon: float, dice: np.random.Generator, uneven: list[Floats]) -> Floats:
    """DAWA for all ranges. Pre: `uneven` are the `deviations` of the counts."""
    find, measure = epsilon / 4, 3 * epsilon / 4
    edges = _buckets(uneven, len(counts), find, 1 / measure, dice)
    lengths = np.diff(edges)
    inverse, rows = _greedy(_gram(edges, len(counts)), 0, len(lengths), 0)
    upto = np.append(0.0, np.cumsum(np.add.reduceat(counts, edges[:-1])))
    seen = np.zeros(len(edges))
    for first, last, weight in rows:
        told = weight * (upto[last] - upto[first]) + dice.laplace(0, 1 / measure)
        seen[first] += weight * told
        seen[last] -= weight * told
    return np.repeat(inverse @ np.cumsum(seen)[:-1] / lengths, lengths)


def adaptive_grid(counts: Floats, epsilon: float, dice: np.random.Generator) -> Floats:
    """AGrid with the constants of its paper, on a square map."""
    size, half = len(counts), epsilon / 2
    side = math.ceil(size / max(10, math.ceil(math.sqrt(counts.sum() * epsilon / 10) / 4)))
    found = np.zeros_like(counts)
    for x in range(0, size, side):
        for y in range(0, size, side):
            part = counts[x : x + side, y : y + side]
            first = part.sum() + dice.laplace(0, 1 / half)
            fine = max(1, math.ceil(math.sqrt(max(first, 0.0) * half / 5)))
            step = max(1, math.ceil(math.sqrt(part.size) / fine))
            told = _pooled(part, step)
            told += dice.laplace(0, 1 / half, told.shape)
            told += (first - told.sum()) / (told.size + 1)  # least squares of one count and of its pieces
            area = _pooled(np.ones_like(part), step)
            rows, columns = (np.arange(length) // step for length in part.shape)
            found[x : x + side, y : y + side] = (told / area)[np.ix_(rows, columns)]
    return found


def privtree(counts: Floats, epsilon: float, dice: np.random.Generator) -> Floats:
    """PrivTree on a square map whose side is a power of two: quarters, a threshold of zero."""
    scale = 7 / 3 / (epsilon / 2)
    found = np.zeros_like(counts)
    waiting = [(0, 0, len(counts), 0)]
    while waiting:
        x, y, side, depth = waiting.pop()
        count = counts[x : x + side, y : y + side].sum()
        biased = max(count - depth * scale * math.log(4), -scale * math.log(4))
        if side > 1 and biased + dice.laplace(0, scale) > 0:
            half = side // 2
            waiting += [(x + a, y + b, half, depth + 1) for a in (0, half) for b in (0, half)]
        else:
            found[x : x + side, y : y + side] = (count + dice.laplace(0, 2 / epsilon)) / side**2
    return found


def _pooled(cells: Floats, step: int) -> Floats:
    rows, columns = (np.arange(0, length, step) for length in cells.shape)
    return np.add.reduceat(np.add.reduceat(cells, rows, axis=0), columns, axis=1)


def _buckets(
    uneven: list[Floats], size: int, epsilon: float, each: float, dice: np.random.Generator
) -> NDArray[np.int64]:
    """Where the cheapest buckets begin, and the end: a noisy deviation, and what one more bucket costs."""
    costs = []
    for power, found in enumerate(uneven):
        noise = dice.laplace(0, (2 - 0.5**power - 1 / size) / epsilon, len(found)) if power else 0.0
        costs.append(np.maximum(found + each + noise, each).tolist())
    best, begin = [0.0], [0]
    for end in range(1, size + 1):
        ways = [
            (best[end - (1 << p)] + cost[end - (1 << p)], end - (1 << p))
            for p, cost in enumerate(costs)
            if 1 << p <= end
        ]
        least = min(ways)
        best.append(least[0])
        begin.append(least[1])
    edges = [size]
    while edges[-1]:
        edges.append(begin[edges[-1]])
    return np.array(edges[::-1])


def _gram(edges: NDArray[np.int64], size: int) -> Floats:
    """W'W for all ranges, where buckets are even inside."""
    places, lengths = np.arange(size), np.diff(edges)
    before, after = places + 1.0, (size - places).astype(np.float64)
    low, high = (np.add.reduceat(part, edges[:-1]) / lengths for part in (before, after))
    found = np.triu(np.outer(low, high), 1)
    found += found.T
    for bucket, (first, last) in enumerate(pairwise(edges.tolist())):
        own, theirs = before[first:last], after[first:last]
        pairs = own @ theirs + 2 * (np.cumsum(own)[:-1] @ theirs[1:])
        found[bucket, bucket] = pairs / lengths[bucket] ** 2
    return found


def _greedy(gram: Floats, first: int, last: int, depth: int) -> tuple[Floats, list[Row]]:
    """(A'A)^-1 of a weighted binary tree over buckets, and its nodes; a weight is the best for what is below it."""
    if last - first == 1:
        return np.ones((1, 1)), [(first, last, 1.0)]
    middle = first + (last - first) // 2
    halves = [_greedy(gram, first, middle, depth + 1), _greedy(gram, middle, last, depth + 1)]
    inverse = np.zeros((last - first, last - first))
    inverse[: middle - first, : middle - first], inverse[middle - first :, middle - first :] = (
        half[0] for half in halves
    )
    sums = inverse.sum(axis=0)
    asked = gram[first:last, first:last]
    apart = asked.copy()
    apart[: middle - first, middle - first :] = apart[middle - first :, : middle - first] = 0.0
    decay, below = 2 ** (-depth / 2), float(np.sum(asked * inverse))
    gain = (sums @ asked @ sums - sums @ apart @ sums) * decay + sums @ apart @ sums
    kept = np.arange(STEPS, 0, -1) / STEPS
    spent = (1 - kept) ** 2 * decay
    share = kept[int(np.argmin((below - gain * spent / (kept**2 + spent * sums.sum())) / kept**2))]
    above = (1 - share) ** 2
    inverse = (inverse - above / (share**2 + sums.sum() * above) * np.outer(sums, sums)) / share**2
    rows = [(a, b, weight * share) for half in halves for a, b, weight in half[1]]
    return inverse, [(first, last, 1 - share), *rows] if share < 1 else rows
