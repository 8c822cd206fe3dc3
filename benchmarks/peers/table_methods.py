"""All tables of some attributes as one: errors of two methods of the literature, in closed form and written anew.

The counts of a domain are a sum of *residuals*, one for each set S of attributes: what the margin by S says beyond the
margins by fewer. `residual_planner` is that of Xiao, He, Zhang and Kifer (NeurIPS 2023): Gaussian noise on each
residual, at the precisions that are best for all cells of all tables. `weighted_margins` is OPT_M of HDMM (McKenna,
Miklau, Hay and Machanavajjhala, PVLDB 2018): Laplace noise on weighted margins by any sets of attributes, read by least
squares, the weights found by descent. Nothing is drawn: errors follow from what is measured.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

Floats = NDArray[np.float64]
Some = tuple[int, ...]


def residual_planner(sizes: list[int], tables: list[Some], *, replaced: bool) -> float:
    """The mean squared error of a cell of all tables at rho 1/2, if a record comes or goes, or is replaced.

    The paper's promise is the former. For the latter the number of records is known, precisions are in the same
    proportions, and all noise is as large as the worst step needs.
    """
    sets = dict.fromkeys(some for table in tables for k in range(len(table) + 1) for some in combinations(table, k))
    moved = [(some, math.prod(1 - 1 / sizes[one] for one in some)) for some in sets if some or not replaced]
    told = np.array([_told(some, sizes, tables) for some, _ in moved])
    cost = np.array([one for _, one in moved])
    noise = np.sqrt(cost / told) * np.sqrt(cost * told).sum()
    lost = np.ones(1)
    if replaced:
        steps = np.array(list(product((False, True), repeat=len(sizes))))
        common = np.where(steps, -1 / np.array(sizes), 1 - 1 / np.array(sizes))
        lost = 2 * sum(
            (alone - common[:, some].prod(axis=1)) / one for (some, alone), one in zip(moved, noise, strict=True)
        )
    return float(lost.max() * (noise @ told) / sum(math.prod(sizes[one] for one in table) for table in tables))


def _told(some: Some, sizes: list[int], tables: list[Some]) -> float:
    """What noise of variance 1 along each direction of a residual adds to the cells of all tables.

    Here and where a record's share is counted the domain's cells outside of the residual are left out: they cancel.
    """
    holding = [table for table in tables if set(some) <= set(table)]
    size = math.prod(sizes[one] - 1 for one in some)
    return size * sum(1 / math.prod(sizes[one] for one in set(table) - set(some)) for table in holding)


def weighted_margins(sizes: list[int], tables: list[Some], starts: int, seed: int = 0) -> float:
    """The mean squared error of a cell of all tables with Laplace noise at epsilon 1, if a record comes or goes."""
    shape, many = (2,) * len(sizes), len(sizes)
    cells = np.ones(shape)  # of the domain for one cell of the margin
    rank = np.ones(shape)  # of a residual
    for axis, size in enumerate(sizes):
        along = [1] * many
        along[axis] = 2
        cells = cells * np.array([size, 1.0]).reshape(along)
        rank = rank * np.array([1.0, size - 1.0]).reshape(along)
    asked = np.zeros(shape)
    for table in tables:
        asked[tuple(int(place in table) for place in range(many))] += 1
    wanted = rank * _summed(asked * cells, above=True)
    total = sum(math.prod(sizes[one] for one in table) for table in tables)
    dice = np.random.default_rng(seed)
    first = np.where(asked > 0, 0.0, -4.0)
    tried = [first, *(dice.normal(-2, 1.5, shape) + 2 * (asked > 0) for _ in range(starts - 1))]
    return 2 * math.exp(min(_least(_descent(wanted, cells), one.ravel()) for one in tried)) / total


def _least(slope: Callable[[Floats], tuple[float, Floats]], first: Floats) -> float:
    bounds = [(-15.0, 5.0)] * len(first)
    end = minimize(slope, first, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 2000})
    return float(end.fun)


def _descent(wanted: Floats, cells: Floats) -> Callable[[Floats], tuple[float, Floats]]:
    """The logarithm of (sum of weights)^2 tr(W (A'A)^-1 W'), and its slope along the logarithms of the weights."""

    def at(logs: Floats) -> tuple[float, Floats]:
        weights = np.exp(logs.reshape(wanted.shape))
        known = _summed(weights**2 * cells, above=True)
        error = float((wanted / known).sum())
        slope = -2 * weights**2 * cells * _summed(wanted / known**2, above=False) / error
        return math.log(error) + 2 * math.log(weights.sum()), (slope + 2 * weights / weights.sum()).ravel()

    return at


def _summed(values: Floats, *, above: bool) -> Floats:
    """Sums over all sets that hold a set, or over those that it holds; an axis for each attribute: out, in."""
    found = values.copy()
    for axis in range(values.ndim):
        out, inside = np.moveaxis(found, axis, 0)
        if above:
            out += inside
        else:
            inside += out
    return found
