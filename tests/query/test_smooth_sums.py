"""Smooth sums against their columns, written out."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tetraodon.errors import QueryError
from tetraodon.query.smooth import SmoothSums


def made(size: int, width: int, reach: int, seed: int = 1) -> SmoothSums:
    numbers = np.random.default_rng(seed)
    knots = -(-(size - 1) // width) + 1
    kernel = np.append(numbers.integers(-3, 4, reach), 20)
    return SmoothSums(
        "a", size, width, numbers.integers(-9, 9, (3, knots)), kernel, numbers.integers(1, 5, size), Fraction(1, 4)
    )


@pytest.mark.parametrize(("size", "width", "reach"), [(2, 1, 0), (7, 1, 0), (9, 2, 3), (10, 3, 2), (13, 4, 20)])
def test_all_that_it_says_is_said_of_its_columns(size: int, width: int, reach: int) -> None:
    sums = made(size, width, reach)
    columns = sums.columns()
    assert columns.shape == (sums.rows, size)
    assert np.abs(columns).max() <= sums.longest
    x, y = (codes.ravel() for codes in np.indices((size, size)))
    assert np.array_equal(sums.inner(x, y), (columns[:, x] * columns[:, y]).sum(axis=0))
    measured = np.random.default_rng(2).random((2, sums.rows))
    assert sums.pull(measured) == pytest.approx(measured @ columns)


def test_each_value_is_told_by_its_bumps_at_least_so_well() -> None:
    """Numbers of variance one: the variance of any sum of values is no more than what `own` adds up to."""
    sums = made(13, 4, 5)
    bumps = sums.columns()[len(sums.sums) :].astype(np.float64)
    lowest = np.linalg.eigvalsh(bumps.T @ bumps - np.diag(sums.own()))[0]
    assert lowest >= 0
    assert sums.own().min() > 0


@pytest.mark.parametrize(
    "damaged",
    [
        {"sums": np.ones((1, 3), np.int64)},
        {"single": np.ones(4, np.int64)},
        {"single": np.array([1, 1, 0, 1, 1])},
        {"kernel": np.zeros(2, np.int64)},
        {"kernel": np.array([1, -1])},
        {"kernel": np.array([2**31])},
        {"sums": np.full((1, 5), 2**31)},
    ],
)
def test_what_does_not_fit_is_refused(damaged: dict[str, np.ndarray]) -> None:
    whole = {"sums": np.ones((1, 5), np.int64), "kernel": np.array([3]), "single": np.ones(5, np.int64)}
    SmoothSums("a", 5, 1, **whole, unit=Fraction(1))
    with pytest.raises(QueryError):
        SmoothSums("a", 5, 1, **{**whole, **damaged}, unit=Fraction(1))
