"""Weights of single values, and rows of weighted sums, that make a workload's error small under a secret graph.

With value i measured with weight d_i, and rows B besides, all with noise 1, a step between values i and j loses
d_i + d_j + |B_i - B_j|_1, and somebody who comes or goes d_i + |B_i|_1. At a given budget the error is proportional to

    (the largest loss)^2  *  tr(W'W (D^2 + B'B)^-1),

less what a total takes away that is known, or measured. Where every column adds up to 1, d_i + |B_i|_1 = 1, the loss is
at most 2 between any two values, and 1 for presence. So non-negative rows T are descended freely, with B = T D and
1 / d_i = 1 + |T_i|_1: these are the p-identity strategies of [MMHM18] section 5. If both are a secret, a total of
weight 1 is free: no step between values moves it, and presence loses 2 with it. Along other graphs all d_i are 1, and
the largest loss is smoothed and descended together with the error.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tetraodon.arrays import Floats, Ints
from tetraodon.mechanism.weighted.asked_pairs import AskedPairs
from tetraodon.one_thread import searching
from tetraodon.policy.attribute_graph import AttributeGraph, Everything

ROUNDS = 60
TRIED, COLUMN_ROUNDS = 100, 300
"""Rounds from each first rows, and from the best of what these lead to."""
SOFT = 1e-3
NOWHERE = 100.0


def best_rows(
    asked: AskedPairs, graph: AttributeGraph, firsts: Sequence[Floats], total: float | None
) -> tuple[Floats, Floats] | None:
    """Weights of single values, and the best rows found by descent from first ones; None where nothing is a secret.

    `total` is the variance of a total that is known or measured besides, and None where there is none.
    """
    if not graph.edge_count:
        return None
    error = _Error(asked, total)
    if isinstance(graph, Everything):
        tried = [_descend_by_columns(error, np.maximum(first, 0.0), TRIED) for first in firsts]
        rows = _descend_by_columns(error, min(tried, key=lambda one: one[0])[1], COLUMN_ROUNDS)[1]
        single = 1 / (1 + rows.sum(axis=0))
        return single, rows * single
    x, y = (np.concatenate(ends) for ends in zip(*graph.edges(), strict=True))
    return np.ones(graph.size), _descend_by_edges(error, firsts[0], x, y, absent=total is None)


class _Error:
    """log tr(G C (I + T'T)^-1 C), less what a total takes away, with its gradients in T and in C = diag(c).

    Why   with S = C (I + T'T)^-1 C, u = S 1 and w = 1'u + v, a total of variance v takes u'G u / w. Both together
          change by tr(K dS), where K = G - (G u 1' + 1 u'G) / w + (u'G u / w^2) 1 1'.
    """

    def __init__(self, asked: AskedPairs, total: float | None) -> None:
        self.asked, self.total = asked, total
        self.whole = float(asked.diagonal.sum())

    def __call__(self, rows: Floats, c: Floats) -> tuple[float, Floats, Floats]:
        diagonal = self.asked.diagonal / self.whole
        inner = np.linalg.inv(np.eye(len(rows)) + rows @ rows.T)
        pulled, wide = inner @ rows, rows * c
        seen = self.asked.times(wide) / self.whole
        value = float(c**2 @ diagonal) - float(np.einsum("ij,ij->", pulled, seen * c))
        if self.total is not None:
            along = c * (c - pulled.T @ (rows @ c))
            total, right = float(along.sum()) + self.total, self.asked.times(along[None, :])[0] / self.whole
            taken, sums = float(along @ right), wide.sum(axis=1)
            value -= taken / total
            seen = seen - np.outer(sums, right) / total + ((taken / total * sums - wide @ right) / total)[:, None]
            diagonal = diagonal - 2 * right / total + taken / total**2
        if value <= 0:  # beyond what floats can tell: no place for a search to go
            return NOWHERE, np.zeros_like(rows), np.zeros_like(c)
        back = inner @ (seen * c)
        in_rows = -2 * (back - (back @ rows.T) @ pulled)
        in_c = 2 * (c * diagonal - np.einsum("ij,ij->j", pulled, seen))
        return float(np.log(value)), in_rows / value, in_c / value


@searching
def _descend_by_columns(error: _Error, first: Floats, rounds: int) -> tuple[float, Floats]:
    """What non-negative rows err, and these, in multiples of the weight of the value itself; with it every column adds
    up to one.
    """
    from scipy.optimize import minimize

    def objective(parameters: Floats) -> tuple[float, Floats]:
        rows = parameters.reshape(first.shape)
        value, in_rows, in_c = error(rows, 1 + rows.sum(axis=0))
        return value, (in_rows + in_c).ravel()

    options = {"maxiter": rounds}
    found = minimize(
        objective, first.ravel(), jac=True, method="L-BFGS-B", bounds=[(0.0, None)] * first.size, options=options
    )
    return float(found.fun), found.x.reshape(first.shape)


@searching
def _descend_by_edges(error: _Error, first: Floats, x: Ints, y: Ints, *, absent: bool) -> Floats:
    """Any rows beside single values of weight one; the largest loss over edges is softened, more and more sharply.

    With `absent`, every value is joined to a last one, which is that of nobody: its column is 0.
    """
    from scipy.optimize import minimize

    shape, rows, ones = first.shape, first, np.ones(first.shape[1])
    base = np.full(len(x), 2.0)
    if absent:
        nobody, every = np.full(shape[1], shape[1]), np.arange(shape[1])
        x, y, base = np.append(x, every), np.append(y, nobody), np.append(base, np.ones(shape[1]))
    for power in (100.0, 1000.0):

        def objective(parameters: Floats, power: float = power) -> tuple[float, Floats]:
            now = parameters.reshape(shape)
            with_nobody = np.pad(now, ((0, 0), (0, 1)))
            apart = with_nobody[:, x] - with_nobody[:, y]
            length = np.sqrt(apart**2 + SOFT**2)
            moved = base + length.sum(axis=0)
            top = float(moved.max())
            weight = (moved / top) ** power
            loss = np.log(top) + np.log(float(weight.mean())) / power
            value, slope, _ = error(now, ones)
            pull = (apart / length) * (2 * weight / (weight.sum() * moved))
            for ends, sign in ((x, 1.0), (y, -1.0)):
                for row in range(shape[0]):
                    slope[row] += sign * np.bincount(ends, weights=pull[row], minlength=shape[1] + 1)[:-1]
            return value + 2 * float(loss), slope.ravel()

        options = {"maxiter": ROUNDS // 2}
        found = minimize(objective, rows.ravel(), jac=True, method="L-BFGS-B", options=options)
        rows = np.asarray(found.x.reshape(shape))
    return rows


def bumps(cells: int, widths: Sequence[float], height: float, *, sharp: bool = False) -> Floats:
    """Broad rows to begin with, each about a stretch of cells, a little about all others, and a little uneven; they
    overlap, unless they are `sharp`.

    Why   where a weight is 0 the descent may stay, and where rows are alike it cannot tell them apart.
    """
    rows = []
    for width in widths:
        count = max(2, round(cells / width))
        place = np.arange(cells) * (count - 1) / max(cells - 1, 1)
        rows.append(np.maximum(0.0, 1 - np.abs(place - np.arange(count)[:, None])))
    near = np.concatenate(rows)
    near = (near >= 0.5).astype(np.float64) if sharp else near
    uneven = 1 + 0.1 * np.cos(np.outer(np.arange(1, len(near) + 1), np.arange(cells)))
    return np.asarray((height * near + 0.02) * uneven)
