"""Smoothed counts: matrices against their definition, moves against matrices."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.errors import QueryError, Refused
from tetraodon.query.contribution import Prefix
from tetraodon.query.linear import LinearQuery
from tetraodon.query.smooth import Hats, Ramps

sizes = st.integers(2, 30)
widths = st.integers(1, 12)


def hat(k: int, width: int, code: int) -> int:
    """The linear B-spline around k * width, times width."""
    return max(0, width - abs(code - k * width))


@given(sizes, widths)
def test_bins_are_linear_splines_that_add_up_to_one(size: int, width: int) -> None:
    hats = Hats("a", size, width)
    columns = hats.columns()
    assert columns.tolist() == [[hat(k, width, code) for code in range(size)] for k in range(hats.rows)]
    assert (columns.sum(axis=0) == width).all()
    assert hats.unit * width == 1
    assert columns.any(axis=1).all()


@given(sizes, widths)
def test_ramps_are_running_sums_and_averages_of_running_counts(size: int, width: int) -> None:
    ramps = Ramps("a", size, width)
    assert (ramps.columns() == np.cumsum(Hats("a", size, width).columns(), axis=0)[:-1]).all()
    running = [[int(code <= p) for code in range(size)] for p in range(ramps.rows * width)]
    averages = np.array(running).reshape(ramps.rows, width, size).sum(axis=1)
    assert (ramps.columns() == averages).all()


@given(sizes)
def test_width_one_is_running_counts(size: int) -> None:
    assert (Ramps("a", size, 1).columns() == Prefix("a", size, size - 1).columns()).all()
    assert (Hats("a", size, 1).columns() == np.eye(size)).all()


def test_bad_widths_and_sizes_are_refused() -> None:
    for kind in (Hats, Ramps):
        with pytest.raises(QueryError, match="two values"):
            kind("a", 1, 2)
        with pytest.raises(QueryError, match="width"):
            kind("a", 4, 0)


def test_counts_that_would_overflow_are_refused() -> None:
    domain = Domain((Attribute("a", Integers(0, 3)),))
    query = LinearQuery(Hats("a", 4, 2**40))
    with pytest.raises(Refused, match="exact arithmetic"):
        query.evaluate(domain, np.array([[0]]), np.array([2**30]))
    assert query.contribution.unit == Fraction(1, 2**40)
