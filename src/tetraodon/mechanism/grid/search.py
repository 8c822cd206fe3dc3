"""Which strips and blocks of cells to smooth, and how to share the budget between them.

What smoothed counts are for ranges ([HMD14] section 7.2, with soft borders), in two dimensions: a step of theta moves
blocks of width w by little where theta is less than w, and long rectangles then need few noisy numbers. Widths and
shares of the budget are searched for before any data is seen, by the exact error of least squares; the kernel sets the
scale.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

import numpy as np

from tetraodon.arrays import Floats
from tetraodon.certificate.kernel import certify_measurements, sensitivity_of
from tetraodon.errors import Refused
from tetraodon.mechanism.grid.least_squares import Side
from tetraodon.one_thread import searching
from tetraodon.policy.secret_graph import SecretGraph
from tetraodon.workload.contribution import One
from tetraodon.workload.linear import ANSWER_LIMIT, LinearQuery, Measurement, Split
from tetraodon.workload.smooth import Hats
from tetraodon.workload.soft import Product, hats

SHORT = 6
"""Sides with fewer values are not smoothed."""
MOST_BINS = 256
LONGEST_SIDE = 2**16
"""Sides with more values are not smoothed: the fit writes out `MOST_BINS` numbers for each value."""
WORTH = 0.98
"""A grid that leaves more than this share of the error of single cells is not proposed."""
LEAST_SHARE = 0.01
Grid: TypeAlias = tuple[tuple[LinearQuery, ...], tuple[Fraction, ...]]


@lru_cache(maxsize=64)
def best_grid(table: tuple[Split, Split], graph: SecretGraph) -> Grid | None:
    """What to measure besides single cells, and the noise of each in multiples of theirs."""
    names = (table[0].name, table[1].name)
    sizes = [graph.domain[name].size for name in names]
    if math.prod(sizes) > ANSWER_LIMIT or max(sizes) > LONGEST_SIDE:
        return None
    cell = sensitivity_of(graph, LinearQuery(One(), table)).value
    if not cell:
        return None  # single cells may be told exactly
    tried: list[tuple[float, Grid]] = []
    for widths in dict.fromkeys(_widths(sizes)):
        queries = _queries(names, sizes, widths)
        try:
            costs = np.array([float(sensitivity_of(graph, one).value) for one in queries])
        except Refused:
            continue
        if len(queries) > 1 and (costs > 0).all():
            for error, shares in _best_shares(sizes, widths, costs):
                grid = _rounded(queries, shares / costs)
                tried.append((error * _lost(graph, grid, float(shares[0] / costs[0])) ** 2, grid))
    [(alone, _)] = _best_shares(sizes, (0, 0), np.array([float(cell)]))
    error, best = min(tried, key=lambda one: one[0], default=(alone, ((), ())))
    return best if len(best[0]) > 1 and error < WORTH * alone else None


def _rounded(queries: Sequence[LinearQuery], precise: Floats) -> Grid:
    """Queries with rational noise, in multiples of that of the first; those with hardly any budget are left out."""
    least = LEAST_SHARE * max(precise)
    kept = [(one, p) for one, p in zip(queries, precise, strict=True) if p > least or one is queries[0]]
    weights = tuple(Fraction(f"{precise[0] / p:.4g}") / one.contribution.unit for one, p in kept)
    return tuple(one for one, _ in kept), weights


def _lost(graph: SecretGraph, grid: Grid, precise: float) -> float:
    """What a grid loses with noise of 1 / precise on each cell. Less than one where no step moves all its parts."""
    measured = [Measurement(one, weight) for one, weight in zip(*grid, strict=True)]
    return float(certify_measurements(graph, measured).epsilon) * precise


def _widths(sizes: list[int]) -> Iterator[tuple[int, int]]:
    """Widths worth trying: about the square root of each side, and a few times less and more; 0 is no smoothing."""
    for factor in (0.35, 0.5, 0.7, 1.0, 1.4, 2.0):
        wide = [round(factor * math.sqrt(size)) for size in sizes]
        wide = [max(w, -(-size // MOST_BINS)) for w, size in zip(wide, sizes, strict=True)]
        yield tuple(w if size >= SHORT and 2 <= w < size else 0 for w, size in zip(wide, sizes, strict=True))  # type: ignore[misc]


def _queries(names: tuple[str, str], sizes: list[int], widths: tuple[int, int]) -> list[LinearQuery]:
    """Cells, strips and blocks: in the order in which `GridFit` has them, without those that a width of 0 rules out."""
    splits = [Split(name) for name in names]
    found = [LinearQuery(One(), tuple(splits))]
    if widths[1]:
        found.append(LinearQuery(Hats(names[1], sizes[1], widths[1]), (splits[0],)))
    if widths[0]:
        found.append(LinearQuery(Hats(names[0], sizes[0], widths[0]), (splits[1],)))
    if all(widths):
        parts = [hats(name, size, width) for name, size, width in zip(names, sizes, widths, strict=True)]
        found.append(LinearQuery(Product(tuple(parts))))
    return found


@searching
def _best_shares(sizes: list[int], widths: tuple[int, int], costs: Floats) -> list[tuple[float, Floats]]:
    """Least errors at a budget of one, and the shares of the budget that reach them: with strips, and hardly any.

    Why   with precisions p_k = (share_k / cost_k)^2 / 2 the error is a sum over pairs of eigenvectors of
          asked / (sum of p_k times products of eigenvalues), smooth in the shares.
    """
    from scipy.optimize import minimize

    one, two = (Side(size, width) for size, width in zip(sizes, widths, strict=True))
    a, b = (np.append(0.0, side.values) for side in (one, two))
    seen = [np.ones((len(a), len(b)))]
    if widths[1]:
        seen.append(np.broadcast_to(b, seen[0].shape))
    if widths[0]:
        seen.append(np.broadcast_to(a[:, None], seen[0].shape))
    if all(widths):
        seen.append(np.outer(a, b))
    asked = np.outer(one.asked, two.asked)
    asked = asked / (math.prod(size * (size + 1) / 2 for size in sizes))
    stacked = np.stack(seen)

    def error(logs: Floats) -> tuple[float, Floats]:
        raw = np.exp(np.append(0.0, logs))
        shares = raw / raw.sum()
        precise = (shares / costs) ** 2 / 2
        whole = np.tensordot(precise, stacked, axes=1)
        value = float((asked / whole).sum())
        in_precise = -np.tensordot(stacked, asked / whole**2, axes=2)
        in_logs = in_precise * 2 * precise
        slope = in_logs - shares * in_logs.sum()
        return math.log(value), slope[1:] / value

    if len(costs) == 1:
        return [(math.exp(error(np.zeros(0))[0]), np.ones(1))]
    rest = len(costs) - 1
    starts = [np.zeros(rest), *([np.array([-5.0] * (rest - 1) + [-1.0])] if rest > 1 else [])]
    found = [minimize(error, x, jac=True, method="L-BFGS-B", bounds=[(-8.0, 6.0)] * rest) for x in starts]
    raws = [np.exp(np.append(0.0, one.x)) for one in found]
    return [(math.exp(float(one.fun)), raw / raw.sum()) for one, raw in zip(found, raws, strict=True)]
