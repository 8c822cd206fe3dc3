"""The descent: its gradients, and that it goes down."""

from __future__ import annotations

import numpy as np
import pytest

from tetraodon.mechanism.strategy_optimiser import NOWHERE, AskedPairs, _Error, best_rows, bumps
from tetraodon.policy.attribute_graph import Blocks, Everything, Public, Within
from tetraodon.query.query import EveryRange

CELLS = 24
ASKED = AskedPairs(EveryRange(), CELLS)
BUMPS = bumps(CELLS, (12.0,), 1.0)


def all_ranges() -> np.ndarray:
    code = np.arange(CELLS)
    return (np.minimum.outer(code, code) + 1.0) * (CELLS - np.maximum.outer(code, code))


def plain_error(rows: np.ndarray, single: np.ndarray, total: float | None) -> float:
    whole = np.linalg.inv(np.diag(single**2) + rows.T @ rows)
    if total is not None:
        along = whole.sum(axis=1)
        whole = whole - np.outer(along, along) / (along.sum() + total)
    return float(np.trace(all_ranges() @ whole))


@pytest.mark.parametrize("total", [0.0, 1.0, None])
def test_error_and_gradients_are_those_of_the_dense_formula(total: float | None) -> None:
    numbers = np.random.default_rng(5)
    rows, c = numbers.random((4, CELLS)), 1 + numbers.random(CELLS)
    error = _Error(ASKED, total)
    value, in_rows, in_c = error(rows, c)
    assert value == pytest.approx(np.log(plain_error(rows / c, 1 / c, total) / np.trace(all_ranges())))
    for place in [(0, 0), (1, 7), (3, 23)]:
        step = np.zeros_like(rows)
        step[place] = 1e-6
        rise = (error(rows + step, c)[0] - error(rows - step, c)[0]) / 2e-6
        assert rise == pytest.approx(in_rows[place], rel=1e-4, abs=1e-8)
        rise = (error(rows, c + step[place[0]])[0] - error(rows, c - step[place[0]])[0]) / 2e-6
        assert rise == pytest.approx(in_c[place[1]], rel=1e-4, abs=1e-8)


def test_what_floats_cannot_tell_is_nowhere() -> None:
    value, slope, _ = _Error(ASKED, None)(np.full((1, CELLS), 1.0), np.full(CELLS, 1e-200))
    assert value == NOWHERE
    assert not slope.any()


@pytest.mark.parametrize("kind", [Everything(CELLS), Within(CELLS, 3), Blocks(tuple(c // 6 for c in range(CELLS)))])
@pytest.mark.parametrize("total", [0.0, 1.0, None])
def test_it_goes_down(kind: Everything | Within | Blocks, total: float | None) -> None:
    found = best_rows(ASKED, kind, [BUMPS], total)
    assert found is not None
    x, y = (np.concatenate(ends) for ends in zip(*kind.edges(), strict=True))

    def whole(single: np.ndarray, rows: np.ndarray) -> float:
        loss = (single[x] + single[y] + np.abs(rows[:, x] - rows[:, y]).sum(axis=0)).max()
        if total is None:  # somebody may come or go
            loss = max(loss, (single + np.abs(rows).sum(axis=0)).max())
        return float(loss**2 * plain_error(rows, single, total))

    assert whole(*found) < whole(np.ones(CELLS), BUMPS)


def test_columns_add_up_to_what_presence_may_lose() -> None:
    found = best_rows(ASKED, Everything(CELLS), [BUMPS], None)
    assert found is not None
    single, rows = found
    assert rows.min() >= 0
    assert single + rows.sum(axis=0) == pytest.approx(np.ones(CELLS))
    assert single.max() > 1.05 * single.min()  # values in the middle are in more ranges than those at the ends


def test_where_nothing_is_secret_there_is_nothing_to_search() -> None:
    assert best_rows(ASKED, Public(CELLS), [BUMPS], 0.0) is None


def test_bumps_are_positive_everywhere() -> None:
    for cells in (2, 3, 50, 1000):
        assert bumps(cells, (5.0, 40.0), 0.4).shape[1] == cells
        assert bumps(cells, (5.0, 40.0), 0.4).min() > 0
        assert bumps(cells, (5.0, 40.0), 0.4, sharp=True).min() > 0


def test_of_several_beginnings_the_better_one_is_followed() -> None:
    sharp = bumps(CELLS, (3.0, 12.0), 0.4, sharp=True)
    both, *each = (best_rows(ASKED, Everything(CELLS), some, None) for some in ([BUMPS, sharp], [BUMPS], [sharp]))
    errors = [plain_error(rows, single, None) for single, rows in filter(None, (both, *each))]
    assert len(errors) == 3
    assert errors[0] == min(errors)
