"""Flows on small maps, against the matrix of everything that they do, in whole numbers."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import tetraodon as td
from tetraodon.errors import QueryError
from tetraodon.noise.coins import system_coins
from tetraodon.query.edge_flows import LONGEST, PARTS, FlowLine, Flows
from tetraodon.query.linear import LinearQuery, Measurement

MAPS = [
    Flows(("x", "y"), FlowLine(3, Fraction(1)), FlowLine(2, Fraction(2))),
    Flows(("x", "y"), FlowLine(7, Fraction(2), 3, Fraction(5)), FlowLine(4, Fraction(1))),
    Flows(("x", "y"), FlowLine(5, Fraction(2), 2, Fraction(3)), FlowLine(8, Fraction(3, 2), 4, Fraction(7))),
]


def shift(flows: Flows, cell: tuple[int, int], axis: int) -> list[np.ndarray]:
    """The whole numbers z of a step from a cell to the next along an axis."""
    found = [np.zeros(size, np.int64) for _, size in flows.noises]
    line, first = (flows.first, 0) if axis == 0 else (flows.second, len(flows.first.scales))
    border, place = cell[axis], cell[1 - axis]
    found[first][border, place] = 1
    if line.width:
        found[first + 1][border] = line.bins[:, place]
    return found


@pytest.mark.parametrize("flows", MAPS)
def test_every_step_of_the_map_is_a_shift_of_the_noise(flows: Flows) -> None:
    for cell in product(*map(range, flows.shape)):
        for axis in (0, 1):
            after = tuple(code + (a == axis) for a, code in enumerate(cell))
            if after[axis] < flows.shape[axis]:
                wanted = np.zeros(flows.shape, np.int64)
                wanted[cell], wanted[after] = PARTS, -PARTS
                assert np.array_equal(flows.spread(shift(flows, cell, axis)).reshape(flows.shape), wanted)


@pytest.mark.parametrize("flows", MAPS)
def test_noise_moves_no_record_in_or_out(flows: Flows) -> None:
    coins = np.random.default_rng(1)
    noises = [coins.integers(-50, 50, size) for _, size in flows.noises]
    assert flows.spread(noises).sum() == 0


def matrix(flows: Flows) -> np.ndarray:
    """Every noise, one by one: a column of what it adds to the cells, in parts."""
    zero = [np.zeros(size, np.int64) for _, size in flows.noises]
    columns = []
    for number, part in enumerate(zero):
        for place in range(part.size):
            one = [array.copy() for array in zero]
            one[number].flat[place] = 1
            columns.append(flows.spread(one))
    return np.stack(columns, axis=1)


@pytest.mark.parametrize("flows", MAPS)
def test_shares_and_covariances_are_those_of_the_matrix(flows: Flows) -> None:
    coins = np.random.default_rng(2)
    weights, whole = coins.normal(size=(3, flows.rows)), matrix(flows) / PARTS
    variances = [0.5 + number for number in range(len(flows.noises))]
    each = np.concatenate([np.full(a * b, v) for (_, (a, b)), v in zip(flows.noises, variances, strict=True)])
    shares = np.concatenate([part.reshape(3, -1) for part in flows.shares(weights)], axis=1)
    assert np.allclose(shares, weights @ whole)
    assert np.allclose(flows.covariance_times(weights, variances), weights @ (whole * each) @ whole.T)


def test_long_noise_is_added_up_in_longer_numbers() -> None:
    flows, coins = MAPS[2], np.random.default_rng(3)
    noises = [coins.integers(-(2**44), 2**44, size) for _, size in flows.noises]
    exact = matrix(flows).astype(object) @ np.concatenate([part.ravel() for part in noises]).astype(object)
    assert max(abs(number) for number in exact) > 2**60
    assert flows.spread(noises).tolist() == [min(max(number, -(2**62)), 2**62) for number in exact]


def test_pulls_are_those_of_least_squares() -> None:
    line = FlowLine(9, Fraction(2), 3, Fraction(7))
    rows = np.concatenate([np.eye(9) / 2, line.bins / 7])
    best = np.linalg.pinv(rows)
    assert np.allclose(best[:, 9:] / 7, line.pull / PARTS, atol=1 / PARTS)


def test_cells_are_counted_in_parts_of_a_record() -> None:
    policy = td.load_policy(
        {"dataset": "d", "attributes": {"x": {"integer": [0, 3]}, "y": {"integer": [0, 6]}}, "budget": {"epsilon": 1}}
    )
    codes = np.array([[0, 0], [3, 6], [2, 1]])
    found = LinearQuery(MAPS[1]).evaluate(policy.domain, codes, np.array([1, 2, 5])).reshape(4, 7)
    assert (found[0, 0], found[3, 6], found[2, 1], found.sum()) == (PARTS, 2 * PARTS, 5 * PARTS, 8 * PARTS)


def test_noise_is_drawn_once_for_every_place_and_bin() -> None:
    flows, asked = MAPS[1], []

    def draw(_: object, scale: Fraction, size: tuple[int, ...]) -> np.ndarray:
        asked.append((scale, size))
        return np.ones(size, np.int64)

    found = Measurement(LinearQuery(flows), Fraction(3)).measured(np.zeros(flows.rows, np.int64), draw, system_coins)
    assert asked == [(Fraction(6), (3, 7)), (Fraction(15), (3, 3)), (Fraction(3), (6, 4))]
    assert found.tolist() == flows.spread([np.ones(size, np.int64) for _, size in asked]).tolist()


@pytest.mark.parametrize(
    "wrong", [(0, 1), (LONGEST + 1, 1), (4, 0), (4, 1, 4, 1), (4, 1, 1, 1), (4, 1, 2), (4, 1, 2, -1), (4, 1, 0, 1)]
)
def test_noise_that_is_not_known_is_refused(wrong: tuple[int, ...]) -> None:
    size, *rest = wrong
    with pytest.raises(QueryError, match="Fix:"):
        FlowLine(size, *(number if n == 1 else Fraction(number) for n, number in enumerate(rest)))
