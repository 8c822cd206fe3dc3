"""Sliding windows and blocks against every pair."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tetraodon.arrays import Ints
from tetraodon.certificate.axis import Peak
from tetraodon.certificate.window import best_in_blocks, best_in_window, runs_of_equal_columns


@st.composite
def heights(draw: st.DrawFn) -> tuple[Ints, Ints]:
    size = draw(st.integers(2, 14))
    entries = st.lists(st.integers(-4, 4), min_size=size, max_size=size)
    kind = draw(st.sampled_from([np.int64, object]))
    return np.array(draw(entries), kind), np.array(draw(entries), kind)


def moved(alone: Ints, height: Ints, x: int, y: int) -> int:
    return int(alone[x] + alone[y] + abs(height[x] - height[y]))


def check(peak: Peak, alone: Ints, height: Ints, pairs: list[tuple[int, int]]) -> None:
    assert peak.value == max(moved(alone, height, x, y) for x, y in pairs)
    assert peak.value == moved(alone, height, peak.x, peak.y)
    assert (peak.x, peak.y) in pairs or (peak.y, peak.x) in pairs
    assert peak.exact


@given(heights(), st.integers(1, 20))
def test_windows(given_arrays: tuple[Ints, Ints], reach: int) -> None:
    alone, height = given_arrays
    pairs = [(x, y) for x, y in itertools.combinations(range(len(alone)), 2) if y - x <= reach]
    check(best_in_window(alone, height, reach), alone, height, pairs)


@given(heights(), st.data())
def test_blocks(given_arrays: tuple[Ints, Ints], data: st.DataObject) -> None:
    alone, height = given_arrays
    label = st.lists(st.integers(-1, 2).map(lambda n: 7 * n), min_size=len(alone), max_size=len(alone))
    blocks = np.array(data.draw(label.filter(lambda labels: len(set(labels)) < len(labels))))
    pairs = [(x, y) for x, y in itertools.combinations(range(len(alone)), 2) if blocks[x] == blocks[y]]
    check(best_in_blocks(alone, height, blocks), alone, height, pairs)


@given(st.integers(1, 3), st.integers(1, 12), st.data())
def test_runs_are_maximal_stretches_of_equal_columns(rows: int, size: int, data: st.DataObject) -> None:
    row = st.lists(st.integers(0, 1), min_size=size, max_size=size)
    matrix = np.array(data.draw(st.lists(row, min_size=rows, max_size=rows)))
    stretches = [list(group) for _, group in itertools.groupby(range(size), key=lambda x: tuple(matrix[:, x]))]
    starts, ends = runs_of_equal_columns(matrix)
    assert list(zip(starts.tolist(), ends.tolist(), strict=True)) == [(s[0], s[-1]) for s in stretches]
