"""Least squares with bands, against the normal equations written out."""

from __future__ import annotations

import numpy as np
import pytest
from tests.query.test_smooth_sums import made

from tetraodon.mechanism.hierarchical.fit import BandedFit
from tetraodon.query.smooth import SmoothSums

SPREAD = 50.0
EACH = [made(9, 1, 0), made(10, 3, 2), made(13, 4, 20)]


def covariance(sums: SmoothSums, known: bool) -> np.ndarray:
    columns = sums.columns().astype(np.float64)
    free = np.linalg.inv(columns.T @ columns) * SPREAD
    along = free.sum(axis=0)
    return free - np.outer(along, along) / along.sum() if known else free


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("sums", EACH)
def test_covariances_are_those_of_the_normal_equations(sums: SmoothSums, known: bool) -> None:
    fit, whole = BandedFit(sums, SPREAD, 0.0 if known else None), covariance(sums, known)
    asked = np.random.default_rng(4).random((3, sums.size))
    assert fit.covariance_times(asked) == pytest.approx(asked @ whole, abs=1e-9)
    up_to = np.tril(np.ones((sums.size, sums.size)))
    variances = np.diag(up_to @ whole @ up_to.T)
    assert fit.running_variances(np.arange(sums.size)) == pytest.approx(variances, abs=1e-9)
    assert fit.running_variances(np.array([3, 1])) == pytest.approx(variances[[3, 1]], abs=1e-9)
    for low in range(sums.size):  # leaves bound the variance of any range
        for high in range(low, sums.size):
            assert whole[low : high + 1, low : high + 1].sum() <= fit.leaves[low : high + 1].sum() + 1e-9


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("sums", EACH)
def test_counts_fit_best(sums: SmoothSums, known: bool) -> None:
    fit, values = BandedFit(sums, SPREAD, 0.0 if known else None), np.arange(2.0 * sums.size).reshape(2, -1)
    total = values.sum(axis=1) if known else None
    columns = sums.columns().astype(np.float64)
    assert fit.counts(values @ columns.T, total) == pytest.approx(values)
    measured = np.random.default_rng(5).random((2, sums.rows)) * 100
    free = measured @ columns @ np.linalg.inv(columns.T @ columns)
    if total is not None:
        along = covariance(sums, False).sum(axis=0)
        free = free + np.outer(total - free.sum(axis=1), along / along.sum())
    assert fit.counts(measured, total) == pytest.approx(free)
