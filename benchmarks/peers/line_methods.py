"""Strategies of the literature for one attribute where a record comes or goes, written anew, with Laplace noise.

`p_identity` is OPT_0 of HDMM (McKenna, Miklau, Hay and Machanavajjhala, PVLDB 2018): every value, and p sums of values
besides, with weights that a descent finds; columns are scaled to add up to 1. `best_tree` is HB (Qardaji, Yang and Li,
PVLDB 2013): a tree of bins whose fan-out is the best, all levels alike. Both are read by least squares.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

Floats = NDArray[np.float64]


def gram(size: int, asked: str) -> tuple[Floats, float]:
    """W'W of all ranges or running counts, and how many they are."""
    places = np.arange(size)
    after = (size - np.maximum.outer(places, places)).astype(np.float64)
    if asked == "cdf":
        return after, float(size)
    return after * (np.minimum.outer(places, places) + 1), size * (size + 1) / 2


def error_of(strategy: Floats, size: int, asked: str) -> float:
    """The mean squared error at epsilon 1, if a record comes or goes."""
    wanted, many = gram(size, asked)
    lost = float(np.abs(strategy).sum(axis=0).max())
    return 2 * lost**2 * float(np.trace(np.linalg.solve(strategy.T @ strategy, wanted))) / many


def p_identity(size: int, asked: str, sums: int, rounds: int, seed: int = 0) -> Floats:
    """The strategy itself: its rows are the values and the sums."""
    wanted, many = gram(size, asked)

    def at(flat: Floats) -> tuple[float, Floats]:
        theta = flat.reshape(sums, size)
        scale = 1 + theta.sum(axis=0)
        inner = theta.T @ np.linalg.inv(np.eye(sums) + theta @ theta.T) @ theta
        known = np.eye(size) - inner
        asking = scale[:, None] * wanted * scale
        left = theta @ known
        slope = -2 * left @ asking @ known + 2 * ((known * wanted) @ scale)
        return float((known * asking).sum()) / many, slope.ravel() / many

    first = np.random.default_rng(seed).random(sums * size)
    found = minimize(
        at, first, jac=True, method="L-BFGS-B", bounds=[(0, None)] * len(first), options={"maxiter": rounds}
    )
    theta = found.x.reshape(sums, size)
    return np.concatenate([np.eye(size), theta]) / (1 + theta.sum(axis=0))


def best_tree(size: int, asked: str) -> Floats:
    """The tree with the fan-out from 2 to 32 whose error is the least; its root, all records, is measured too."""
    trees = [_tree(size, fanout) for fanout in (2, 3, 4, 6, 8, 11, 16, 23, 32)]
    return min(trees, key=lambda tree: error_of(tree, size, asked))


def _tree(size: int, fanout: int) -> Floats:
    rows, width = [np.eye(size), np.ones((1, size))], fanout
    while width < size:
        blocks = np.arange(size) // width
        rows.append((blocks == np.arange(blocks[-1] + 1)[:, None]).astype(float))
        width *= fanout
    return np.concatenate(rows)
