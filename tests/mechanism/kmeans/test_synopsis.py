"""The table of shares equals the plain product of tables, to the last unit."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tetraodon.errors import Refused
from tetraodon.exact.arrays import LARGEST
from tetraodon.mechanism.kmeans.synopsis import Synopsis, ramps


def shares(synopsis: Synopsis, codes: tuple[int, ...]) -> np.ndarray:
    """A record's parts of every cell, as an outer product."""
    product = np.ones((), np.int64)
    for axis, code in zip(synopsis.axes, codes, strict=True):
        product = np.multiply.outer(product, axis.table[:, code])
    return product


@st.composite
def synopses(draw: st.DrawFn) -> Synopsis:
    axes = []
    for name in "abc"[: draw(st.integers(1, 3))]:
        size = draw(st.integers(1, 7))
        bins = draw(st.integers(1, size))
        axes.append(ramps(name, size, bins, wide=draw(st.booleans()), most_units=draw(st.sampled_from([1, 2, 256]))))
    return Synopsis(tuple(axes))


@given(synopses(), st.data())
def test_spreading_is_the_sum_of_products(synopsis: Synopsis, data: st.DataObject) -> None:
    row = st.tuples(*(st.integers(0, axis.size - 1) for axis in synopsis.axes))
    rows = data.draw(st.lists(row, min_size=1, max_size=6))
    found = synopsis.spread(np.array(rows))
    assert np.array_equal(found, sum(shares(synopsis, one) for one in rows))
    assert found.sum() == len(rows) * synopsis.units


def test_shares_beyond_one_word_are_exact() -> None:
    synopsis = Synopsis(tuple(ramps(name, 1001, 2, wide=True, most_units=1000) for name in "abc"))
    codes = np.array([[123, 457, 991], [999, 1, 500], [333, 333, 334]])
    assert synopsis.units == 10**9
    expected = sum(shares(synopsis, tuple(one)) for one in codes.tolist())
    assert np.array_equal(synopsis.spread(codes), expected)


def test_too_many_parts_are_refused_and_too_many_records_cut_off() -> None:
    axes = tuple(ramps(name, 1001, 2, wide=True, most_units=1000) for name in "abcde")
    with pytest.raises(Refused, match="Fix: use shorter ramps"):
        Synopsis(axes)
    fine = Synopsis(axes[:4])
    assert fine.spread(np.zeros((2**10, 4), np.int64), np.full(2**10, 2**12)).max() == LARGEST


def test_cells_are_counted() -> None:
    synopsis = Synopsis((ramps("a", 5, 2, wide=True, most_units=9), ramps("b", 5, 3, wide=True, most_units=9)))
    assert (synopsis.shape, synopsis.cells, synopsis.names) == ((2, 3), 6, ("a", "b"))
    assert len(list(itertools.product(*map(range, synopsis.shape)))) == synopsis.cells
