"""The descent: its gradients, and that it goes down."""

from __future__ import annotations

import numpy as np
import pytest

from tetraodon.mechanism.weighted.column_search import NOWHERE, _Error, best_rows, bumps
from tetraodon.policy.attribute_graph import Blocks, Everything, Public, Within

CELLS = 24


def all_ranges() -> np.ndarray:
    code = np.arange(CELLS)
    return (np.minimum.outer(code, code) + 1.0) * (CELLS - np.maximum.outer(code, code))


def plain_error(rows: np.ndarray, gram: np.ndarray, known: bool) -> float:
    whole = np.linalg.inv(np.eye(len(gram)) + rows.T @ rows)
    if known:
        along = whole.sum(axis=1)
        whole = whole - np.outer(along, along) / along.sum()
    return float(np.trace(gram @ whole))


@pytest.mark.parametrize("known", [True, False])
def test_error_and_gradient_are_those_of_the_dense_formula(known: bool) -> None:
    numbers = np.random.default_rng(5)
    rows, gram = numbers.random((4, CELLS)), all_ranges()
    error = _Error(gram, known)
    value, slope = error(rows)
    assert value == pytest.approx(np.log(plain_error(rows, gram, known)))
    for place in [(0, 0), (1, 7), (3, 23)]:
        step = np.zeros_like(rows)
        step[place] = 1e-6
        rise = (error(rows + step)[0] - error(rows - step)[0]) / 2e-6
        assert rise == pytest.approx(slope[place], rel=1e-4, abs=1e-8)


def test_what_floats_cannot_tell_is_nowhere() -> None:
    value, slope = _Error(np.zeros((CELLS, CELLS)), False)(np.ones((1, CELLS)))
    assert value == NOWHERE
    assert not slope.any()


@pytest.mark.parametrize("kind", [Everything(CELLS), Within(CELLS, 3), Blocks(tuple(c // 6 for c in range(CELLS)))])
@pytest.mark.parametrize("known", [True, False])
def test_it_goes_down(kind: Everything | Within | Blocks, known: bool) -> None:
    first = bumps(CELLS)
    rows = best_rows(all_ranges(), kind, first, known=known)
    assert rows is not None
    x, y = (np.concatenate(ends) for ends in zip(*kind.edges(), strict=True))

    def whole(rows: np.ndarray) -> float:
        loss = 2 + np.abs(rows[:, x] - rows[:, y]).sum(axis=0).max()
        return float(loss**2 * plain_error(rows, all_ranges(), known))

    assert whole(rows) < whole(first)


def test_where_nothing_is_secret_there_is_nothing_to_search() -> None:
    assert best_rows(all_ranges(), Public(CELLS), bumps(CELLS), known=True) is None


def test_bumps_are_positive_everywhere() -> None:
    for cells in (2, 3, 50, 1000):
        assert bumps(cells).shape[1] == cells
        assert bumps(cells).min() > 0
