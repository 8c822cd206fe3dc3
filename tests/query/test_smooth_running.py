"""Running counts with those around them, against their columns, written out."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tetraodon.errors import QueryError
from tetraodon.exact.arrays import Ints
from tetraodon.query.smooth import SmoothRunning


def running(size: int, reach: int, seed: int = 1) -> SmoothRunning:
    around = np.random.default_rng(seed).integers(-3, 4, 2 * reach + 1)
    around[reach] = 7 * reach + 1
    return SmoothRunning("a", size, around, Fraction(1, 4))


@pytest.mark.parametrize(("size", "reach"), [(2, 0), (2, 3), (7, 0), (9, 2), (10, 12)])
def test_all_that_it_says_is_said_of_its_columns(size: int, reach: int) -> None:
    sums = running(size, reach)
    columns = sums.columns()
    counts = np.tri(size - 1, size, dtype=np.int64)
    assert columns.shape == (sums.rows, size)
    assert np.array_equal(columns.T, [np.convolve(count, sums.kernel) for count in counts.T])
    assert np.abs(columns).max() <= sums.longest
    measured = np.random.default_rng(2).random((2, sums.rows))
    assert np.cumsum(sums.pull(measured)[:, ::-1], axis=1)[:, ::-1] == pytest.approx((measured @ columns)[:, :-1])


@pytest.mark.parametrize(
    ("size", "kernel"), [(5, [0, 0]), (5, [1, -1]), (5, [1, 1]), (1, [3]), (5, [2**30]), (2**20, [2**21])]
)
def test_what_does_not_fit_is_refused(size: int, kernel: list[int]) -> None:
    SmoothRunning("a", 5, np.array([3]), Fraction(1))
    with pytest.raises(QueryError):
        SmoothRunning("a", size, np.array(kernel), Fraction(1))


@pytest.mark.parametrize("weights", [np.array([1]), np.array([5])])
def test_a_single_weight_gives_running_counts(weights: Ints) -> None:
    assert np.array_equal(
        SmoothRunning("a", 6, weights, Fraction(1)).columns(), weights[0] * np.tri(5, 6, dtype=np.int64)
    )
