"""Errors of other methods for many tables, beside the same written out as matrices over a small domain."""

from __future__ import annotations

import math
from itertools import chain, combinations, product

import numpy as np
import pytest

from benchmarks.peers.table_methods import Floats, Some, _descent, _summed, residual_planner, weighted_margins

SIZES, PAIRS = [2, 3, 4], [(0, 1), (0, 2), (1, 2)]
SETS: list[Some] = list(chain.from_iterable(combinations(range(3), k) for k in range(4)))


def along(parts: list[Floats]) -> Floats:
    found = np.ones((1, 1))
    for part in parts:
        found = np.kron(found, part)
    return found


def margin(some: Some) -> Floats:
    return along([np.eye(n) if place in some else np.ones((1, n)) for place, n in enumerate(SIZES)])


def residual(some: Some) -> Floats:
    """The projection onto what the margin says beyond the margins by fewer."""
    evens = [np.full((n, n), 1 / n) for n in SIZES]
    return along([np.eye(len(e)) - e if place in some else e for place, e in enumerate(evens)])


ASKED = np.concatenate([margin(pair) for pair in PAIRS])


def measured(noise: dict[Some, float], replaced: bool) -> float:
    """The error of these noises on residuals, at the price of the worst record or step that there is."""
    price = sum(residual(some) / one for some, one in noise.items())
    records = list(np.eye(24))
    moves = [a - b for a, b in combinations(records, 2)] if replaced else records
    worst = max(float(move @ price @ move) for move in moves)
    covariance = sum(residual(some) * one for some, one in noise.items())
    return worst * float(np.trace(ASKED @ covariance @ ASKED.T)) / len(ASKED)


@pytest.mark.parametrize("replaced", [False, True])
def test_residuals_err_as_their_matrices_do(replaced: bool) -> None:
    """Other precisions cost more where a record comes or goes; where it is replaced, theirs cost what is said."""
    sets = [some for some in SETS if len(some) < 3 and (some or not replaced)]
    told = {some: np.trace(ASKED @ residual(some) @ ASKED.T) for some in sets}
    cost = {some: residual(some)[0, 0] for some in sets}
    best = {some: math.sqrt(cost[some] / told[some]) for some in sets}
    found = residual_planner(SIZES, PAIRS, replaced=replaced)
    assert found == pytest.approx(measured(best, replaced), rel=1e-12)
    dice = np.random.default_rng(1)
    others = ({some: one * dice.uniform(0.7, 1.4) for some, one in best.items()} for _ in range(20))
    assert replaced or min(measured(other, replaced) for other in others) > found


def test_margins_err_as_their_matrices_do() -> None:
    dice = np.random.default_rng(2)
    weights = dice.uniform(0.1, 1, (2, 2, 2))
    rows = np.concatenate([weights[tuple(int(p in some) for p in range(3))] * margin(some) for some in SETS])
    by_hand = np.abs(rows).sum(axis=0).max() ** 2 * np.trace(ASKED @ np.linalg.inv(rows.T @ rows) @ ASKED.T)
    cells = np.array(
        [math.prod(n for n, i in zip(SIZES, some, strict=True) if not i) for some in product((0, 1), repeat=3)]
    )
    rank = [math.prod(n - 1 for n, i in zip(SIZES, some, strict=True) if i) for some in product((0, 1), repeat=3)]
    asked = np.array([float(sum(some) == 2) for some in product((0, 1), repeat=3)])
    wanted = np.array(rank).reshape(2, 2, 2) * _summed((asked * cells).reshape(2, 2, 2), above=True)
    at = _descent(wanted, cells.reshape(2, 2, 2).astype(float))
    value, slope = at(np.log(weights).ravel())
    assert math.exp(value) == pytest.approx(by_hand, rel=1e-9)
    for place in range(8):
        step = 1e-6 * np.eye(8)[place]
        ends = [at(np.log(weights).ravel() + sign * step)[0] for sign in (1, -1)]
        assert (ends[0] - ends[1]) / 2e-6 == pytest.approx(slope[place], abs=1e-5)
    assert weighted_margins(SIZES, PAIRS, 5) <= 2 * by_hand / len(ASKED)
