"""Rows of weighted sums, beside single cells, that make a workload's error small under a secret graph.

With single cells measured at noise 1 and rows B at noise 1 too, a step between cells i and j loses
2 + |B_i - B_j|_1, so at a given budget the error is proportional to

    (2 + max over edges of |B_i - B_j|_1)^2  *  tr(W'W (I + B'B)^-1),

less what a known total takes away. Both factors are smoothed and descended together. On a complete graph the first is
bounded by 2 + 2 max |B_i|_1, and columns of non-negative B are scaled to one common sum, so nothing is left to smooth.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tetraodon.arrays import Floats
from tetraodon.one_thread import searching
from tetraodon.policy.attribute_graph import AttributeGraph, Everything

ROUNDS = 60
SOFT = 1e-3
NOWHERE = 100.0


def best_rows(gram: Floats, graph: AttributeGraph, first: Floats, *, known: bool) -> Floats | None:
    """Rows found by descent from first ones; None where nothing is a secret."""
    if not graph.edge_count:
        return None
    error = _Error(gram / np.trace(gram), known)
    many = graph.edge_count > 0.5 * graph.size * graph.size / 2
    if isinstance(graph, Everything) or (many and first.min() >= 0):
        return _descend_by_columns(error, np.maximum(first, 0.0))
    x, y = (np.concatenate(ends) for ends in zip(*graph.edges(), strict=True))
    return _descend_by_edges(error, first, x, y)


class _Error:
    """log tr(G (I + B'B)^-1), less what the known total takes away, and its gradient in B."""

    def __init__(self, gram: Floats, known: bool) -> None:
        self.gram, self.known = gram, known

    def __call__(self, rows: Floats) -> tuple[float, Floats]:
        inner = np.linalg.inv(np.eye(len(rows)) + rows @ rows.T)
        pulled = inner @ rows  # B (I + B'B)^-1
        asked = pulled @ self.gram
        value = float(np.trace(self.gram)) - float(np.einsum("ij,ij->", asked, rows))
        slope = -2 * (asked - (asked @ rows.T) @ pulled)
        if self.known:
            along = np.ones(rows.shape[1]) - rows.T @ pulled.sum(axis=1)
            whole = float(along.sum())
            seen = self.gram @ along
            taken = float(along @ seen)
            back = seen - rows.T @ (pulled @ seen)
            value -= taken / whole
            left, right = rows @ along, rows @ back
            slope += 2 * (np.outer(left, back) + np.outer(right, along)) / whole
            slope -= 2 * taken / whole**2 * np.outer(left, along)
        if value <= 0:  # beyond what floats can tell: no place for a search to go
            return NOWHERE, np.zeros_like(rows)
        return float(np.log(value)), slope / value


@searching
def _descend_by_columns(error: _Error, first: Floats) -> Floats:
    """Columns of non-negative rows, all with the same sum s: the loss is at most 2 + 2 s."""
    from scipy.optimize import minimize

    shape = first.shape
    sums = np.maximum(first.sum(axis=0), 1e-9)
    begin = np.append(np.sqrt(first / sums + 1e-6).ravel(), np.log(max(float(sums.max()), 1e-3)))

    def made(parameters: Floats) -> tuple[Floats, Floats, Floats, float]:
        roots = parameters[:-1].reshape(shape)
        squares = roots**2 + 1e-12
        total = squares.sum(axis=0)
        height = float(np.exp(min(parameters[-1], 50.0)))
        return roots, squares / total, total, height

    def objective(parameters: Floats) -> tuple[float, Floats]:
        roots, shares, total, height = made(parameters)
        value, slope = error(height * shares)
        in_shares = height * slope
        in_squares = (in_shares - (in_shares * shares).sum(axis=0)) / total
        in_height = float((slope * shares).sum()) * height + 2 * height / (1 + height)
        return value + 2 * np.log(2 + 2 * height), np.append((2 * roots * in_squares).ravel(), in_height)

    found = minimize(objective, begin, jac=True, method="L-BFGS-B", options={"maxiter": ROUNDS})
    _, shares, _, height = made(found.x)
    return height * shares


@searching
def _descend_by_edges(error: _Error, first: Floats, x: NDArray[np.int64], y: NDArray[np.int64]) -> Floats:
    """Any rows; the largest loss over edges is softened, more and more sharply."""
    from scipy.optimize import minimize

    shape, rows = first.shape, first
    for power in (100.0, 1000.0):

        def objective(parameters: Floats, power: float = power) -> tuple[float, Floats]:
            now = parameters.reshape(shape)
            apart = now[:, x] - now[:, y]
            length = np.sqrt(apart**2 + SOFT**2)
            moved = 2 + length.sum(axis=0)
            top = float(moved.max())
            weight = (moved / top) ** power
            loss = np.log(top) + np.log(float(weight.mean())) / power
            value, slope = error(now)
            pull = (apart / length) * (2 * weight / (weight.sum() * moved))
            for ends, sign in ((x, 1.0), (y, -1.0)):
                for row in range(shape[0]):
                    slope[row] += sign * np.bincount(ends, weights=pull[row], minlength=shape[1])
            return value + 2 * float(loss), slope.ravel()

        options = {"maxiter": ROUNDS // 2}
        found = minimize(objective, rows.ravel(), jac=True, method="L-BFGS-B", options=options)
        rows = np.asarray(found.x.reshape(shape))
    return rows


def bumps(cells: int) -> Floats:
    """A few broad rows, each about a stretch of cells and a little about all others."""
    count = max(2, min(64, cells // 12))
    place = np.arange(cells) * (count - 1) / max(cells - 1, 1)
    near = np.maximum(0.0, 1 - np.abs(place - np.arange(count)[:, None]))
    uneven = 1 + 0.1 * np.cos(np.outer(np.arange(1, count + 1), np.arange(cells)))
    return np.asarray((near + 0.02) * uneven)
