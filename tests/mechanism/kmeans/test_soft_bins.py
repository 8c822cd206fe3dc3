"""Soft bins: every record is shared out wholly, and a short move takes a small share along."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tetraodon.domain import Attribute, Integers
from tetraodon.errors import QueryError
from tetraodon.mechanism.kmeans.synopsis import SoftAxis, middles, parts_of_graph, ramps


@given(st.integers(1, 40), st.integers(1, 9), st.booleans(), st.integers(1, 12))
def test_a_move_of_t_steps_takes_t_treads_along(size: int, bins: int, wide: bool, most_units: int) -> None:
    axis = ramps("x", size, min(bins, size), wide=wide, most_units=most_units)
    assert (axis.table.sum(axis=0) == axis.units).all()
    assert ((axis.table >= 0) & (axis.table <= axis.units)).all()
    for reach in range(1, size):
        moved = np.abs(axis.table[:, reach:] - axis.table[:, :-reach]).sum(axis=0).max()
        treads = -(-reach // axis.tread)
        assert moved <= 2 * min(axis.units, treads)
        if axis.bins > 1 and axis.units * axis.tread >= reach and axis.table[0, 0] == axis.units:
            assert moved == 2 * treads  # attained from the foot of a ramp


def test_wide_ramps_fill_the_column() -> None:
    axis = ramps("x", 101, 3, wide=True, most_units=256)
    assert (axis.units, axis.tread) == (50, 1)
    assert axis.table[:, [0, 25, 50, 100]].T.tolist() == [[50, 0, 0], [25, 25, 0], [0, 50, 0], [0, 0, 50]]


def test_narrow_ramps_leave_a_flat_bin_at_each_end() -> None:
    axis = ramps("x", 31, 3, wide=False, most_units=256)
    assert axis.units == 10
    assert axis.table[:, [0, 5, 15, 25, 30]].T.tolist() == [[10, 0, 0], [10, 0, 0], [0, 10, 0], [0, 0, 10], [0, 0, 10]]


def test_a_fine_grid_becomes_a_staircase() -> None:
    axis = ramps("x", 10_001, 2, wide=True, most_units=16)
    assert (axis.units, axis.tread) == (16, 625)
    assert set(np.abs(np.diff(axis.table[0])).tolist()) == {0, 1}


def test_bins_of_connected_parts_keep_parts_whole() -> None:
    labels = np.array([0, 0, 3, 3, 1, 1, 3])
    axis = parts_of_graph("x", labels, 3)
    assert axis.bins == 3
    assert axis.first.tolist() == [0, 0, 1, 1, 2, 2, 1]
    assert middles(axis, Attribute("x", Integers(10, 16))).tolist() == [10.5, 10 + 11 / 3, 14.5]
    merged = parts_of_graph("x", labels, 2)
    assert merged.bins == 2
    assert len({(label, b) for label, b in zip(labels.tolist(), merged.first.tolist(), strict=True)}) == 3


@pytest.mark.parametrize(("first", "part"), [([0, 2], [0, 0]), ([0, 1], [0, 1]), ([0, 0], [0, 2]), ([-1, 0], [0, 0])])
def test_bins_and_parts_that_do_not_exist(first: list[int], part: list[int]) -> None:
    with pytest.raises(QueryError, match="Fix: "):
        SoftAxis("x", 2, 2, np.array(first), np.array(part))


@given(st.lists(st.integers(0, 3), min_size=1, max_size=14), st.integers(1, 16))
def test_pieces_of_connected_parts_do_not_mix_them(labels: list[int], bins: int) -> None:
    parts, found = len(set(labels)), parts_of_graph("x", np.array(labels), bins)
    of = [
        {label for label, first in zip(labels, found.first.tolist(), strict=True) if first == one}
        for one in range(found.bins)
    ]
    assert all(of)  # no bin is empty
    assert found.bins == bins if bins <= parts else parts <= found.bins <= bins
    if bins >= parts:
        assert all(len(one) == 1 for one in of)
        pieces = [sum(one == {label} for one in of) for label in sorted(set(labels))]
        assert pieces == [min(bins // parts, labels.count(label)) for label in sorted(set(labels))]
