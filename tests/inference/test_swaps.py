"""Swaps of records: two margins stay, and the third comes right where it can."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tetraodon.inference.swaps import with_swaps


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0.4, 2.0, 30.0]))
def test_two_margins_stay_and_the_third_comes_nearer(seed: int, mean: float) -> None:
    """From one table to the third margin of another that has the same two others, so that there is a way."""
    rng = np.random.default_rng(seed)
    truth = rng.poisson(mean, (3, 4, 3))
    cells = truth.copy()
    for _ in range(40):  # any number of swaps
        b, (a, e), (c, f) = rng.integers(4), rng.choice(3, 2, replace=False), rng.choice(3, 2, replace=False)
        if cells[a, b, c] and cells[e, b, f]:
            cells[[a, e], b, [c, f]] -= 1
            cells[[a, e], b, [f, c]] += 1
    missing = truth.sum(axis=1) - cells.sum(axis=1)
    found = with_swaps(cells, missing)
    assert (found >= 0).all()
    for axis in (0, 2):
        np.testing.assert_array_equal(found.sum(axis=axis), cells.sum(axis=axis))
    left = truth.sum(axis=1) - found.sum(axis=1)
    assert np.abs(left).sum() <= np.abs(missing).sum()
    if mean > 10:
        assert not left.any()


def test_a_table_that_has_no_such_margin_is_left_near() -> None:
    """Both records are alike, so that no swap changes anything."""
    cells = np.zeros((2, 2, 2), np.int64)
    cells[0, 0, 0] = 2
    missing = np.array([[-1, 1], [1, -1]])
    np.testing.assert_array_equal(with_swaps(cells, missing), cells)


def test_the_only_swap_is_found() -> None:
    for a, b, c in product(range(2), repeat=3):
        cells = np.zeros((2, 2, 2), np.int64)
        cells[a, b, c] = cells[1 - a, b, 1 - c] = 1
        missing = np.ones((2, 2), np.int64)
        missing[a, c] = missing[1 - a, 1 - c] = -1
        found = with_swaps(cells, missing)
        assert found[a, b, 1 - c] == found[1 - a, b, c] == 1
        assert found.sum() == 2
