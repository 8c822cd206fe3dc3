"""Least squares over a map against every matrix written out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tetraodon.errors import QueryError
from tetraodon.mechanism import grid as least_squares
from tetraodon.mechanism.grid import GridFit, Side, all_ranges


def ranges(size: int) -> np.ndarray:
    low, high = np.triu_indices(size)
    code = np.arange(size)
    return ((low[:, None] <= code) & (code <= high[:, None])).astype(float)


@st.composite
def fits(draw: st.DrawFn) -> GridFit:
    sides = []
    for _ in range(2):
        size = draw(st.integers(1, 7))
        sides.append(Side(size, draw(st.integers(0, size - 1)) if size > 1 else 0))
    precise = st.floats(0.1, 3)
    one, two = sides
    return GridFit(
        one,
        two,
        draw(precise),
        draw(precise) if two.width else 0.0,
        draw(precise) if one.width else 0.0,
        draw(precise) if one.width and two.width else 0.0,
        draw(st.sampled_from([0.0, None])),
    )


def rows_of(fit: GridFit) -> tuple[np.ndarray, np.ndarray]:
    """Everything measured, row by row, and the precision of each."""
    one, two = np.eye(fit.first.size), np.eye(fit.second.size)
    parts = [
        (np.kron(one, two), fit.cells),
        (np.kron(one, fit.second.hats), fit.across),
        (np.kron(fit.first.hats, two), fit.along),
        (np.kron(fit.first.hats, fit.second.hats), fit.blocks),
    ]
    return np.concatenate([r for r, _ in parts]), np.concatenate([np.full(len(r), p) for r, p in parts])


def covariance(fit: GridFit) -> np.ndarray:
    rows, precise = rows_of(fit)
    found = np.linalg.inv((rows.T * precise) @ rows)
    if fit.total is not None:
        along = found.sum(axis=1)
        found = found - np.outer(along, along) / along.sum()
    return np.asarray(found)


@settings(max_examples=60, deadline=None)
@given(fits(), st.integers(0, 2**31))
def test_estimates_and_variances_are_those_of_the_matrices(fit: GridFit, seed: int) -> None:
    shape = (fit.first.size, fit.second.size)
    coins = np.random.default_rng(seed)
    truth = covariance(fit)
    weights = coins.normal(size=shape)
    assert np.allclose(fit.covariance_times(weights.reshape(1, -1)).ravel(), truth @ weights.ravel())
    rows, precise = rows_of(fit)
    answers = coins.normal(size=len(rows))
    ends = np.cumsum([np.prod(s) for s in ((shape[0], shape[1]), (shape[0], len(fit.second.hats)))])
    cells, across = (
        answers[: ends[0]].reshape(shape),
        answers[ends[0] : ends[1]].reshape(shape[0], len(fit.second.hats)),
    )
    third = ends[1] + len(fit.first.hats) * shape[1]
    along = answers[ends[1] : third].reshape(len(fit.first.hats), shape[1])
    blocks = answers[third:].reshape(len(fit.first.hats), len(fit.second.hats))
    plain = np.linalg.inv((rows.T * precise) @ rows) @ (rows.T * precise) @ answers
    if fit.total is not None:
        one = covariance(replace(fit, total=None)).sum(axis=1)
        plain = plain + one * (7.0 - plain.sum()) / one.sum()
    assert np.allclose(fit.counts(cells, across, along, blocks, 7.0).ravel(), plain)
    every = np.kron(ranges(shape[0]), ranges(shape[1]))
    variances = np.einsum("ij,jk,ik->i", every, truth, every)
    assert fit.mean_rectangle_variance() == pytest.approx(variances.mean(), rel=1e-7, abs=1e-9)
    free = covariance(replace(fit, total=None))
    ends_of = np.array(
        [
            (a, c, b, d)
            for a, b in zip(*np.triu_indices(shape[0]), strict=True)
            for c, d in zip(*np.triu_indices(shape[1]), strict=True)
        ]
    )
    found = fit.rectangle_variances(ends_of[:, :2], ends_of[:, 2:])
    assert np.allclose(found, np.einsum("ij,jk,ik->i", every, free, every))
    assert fit.largest_rectangle_variance() >= found.max() * (1 - 1e-9)


def test_long_sides_are_bounded_from_their_first_value(monkeypatch: pytest.MonkeyPatch) -> None:
    fit = GridFit(Side(20, 4), Side(15, 3), 1.0, 2.0, 0.5, 3.0)
    exact = fit.largest_rectangle_variance()
    monkeypatch.setattr(least_squares, "EVERY_RANGE", 10)
    assert exact <= fit.largest_rectangle_variance() <= 16 * exact


def test_all_ranges_without_the_matrix() -> None:
    columns = np.random.default_rng(1).normal(size=(9, 3))
    assert np.allclose(all_ranges(columns), ranges(9).T @ ranges(9) @ columns)


def test_a_map_has_cells() -> None:
    with pytest.raises(QueryError):
        GridFit(Side(4), Side(4), 0.0)
