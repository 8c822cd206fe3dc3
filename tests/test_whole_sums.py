"""Sums are exact up to the largest that is told, and cut off there; whether they fit is decided without the data."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tetraodon.exact.arrays import LARGEST, MOST_ROWS, add_up, fits, with_noise

CELLS = st.tuples(st.integers(0, 2), st.integers(-(2**60), 2**60), st.integers(0, 2**33))


def cut(number: int) -> int:
    return max(-LARGEST, min(LARGEST, number))


@settings(max_examples=200, deadline=None)
@given(st.lists(CELLS, max_size=6), st.booleans())
def test_sums_are_those_of_whole_numbers_cut_off(cells: list[tuple[int, int, int]], short: bool) -> None:
    longest = LARGEST // MOST_ROWS if short else 2**60
    cells = [(place, amount % (2 * longest + 1) - longest, times) for place, amount, times in cells]
    place, amount, times = (np.array([cell[k] for cell in cells], np.int64) for k in range(3))
    found = add_up(3, place, amount, times, longest=longest)
    assert found.tolist() == [cut(sum(a * t for p, a, t in cells if p == k)) for k in range(3)]
    assert fits(longest) == short


@settings(max_examples=200, deadline=None)
@given(st.integers(-LARGEST, LARGEST), st.integers(-(2**63), 2**63 - 1))
def test_noise_of_any_size_is_added_and_cut_off(exact: int, noise: int) -> None:
    told = with_noise(np.array([exact]), np.array([noise], np.int64))
    assert told.tolist() == [cut(exact + noise)]
