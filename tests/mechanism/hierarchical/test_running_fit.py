"""Least squares over running sums, against the normal equations written out."""

from __future__ import annotations

import numpy as np
import pytest
from tests.query.test_smooth_running import running

from tetraodon.mechanism.hierarchical.fit import RunningFit
from tetraodon.query.smooth import SmoothRunning

SPREAD = 50.0
EACH = [running(2, 0), running(9, 2), running(13, 20)]


@pytest.mark.parametrize("sums", EACH)
def test_covariances_are_those_of_the_normal_equations(sums: SmoothRunning) -> None:
    fit, columns = RunningFit(sums, SPREAD), sums.columns().astype(np.float64)
    free = np.zeros((sums.size, sums.size))  # the last value is what the known total leaves
    free[:-1, :-1] = np.linalg.inv(columns[:, :-1].T @ columns[:, :-1]) * SPREAD
    free[-1] = -free[:-1].sum(axis=0)
    free[:, -1] = -free[:, :-1].sum(axis=1)
    asked = np.random.default_rng(4).random((3, sums.size))
    assert fit.covariance_times(asked) == pytest.approx(asked @ free, abs=1e-9)
    variances = np.diag(np.tri(sums.size) @ free @ np.tri(sums.size).T)
    assert fit.running_variances(np.arange(sums.size)) == pytest.approx(variances, abs=1e-9)
    assert fit.running_variances(np.array([1, 0])) == pytest.approx(variances[[1, 0]], abs=1e-9)
    for low in range(sums.size):  # leaves bound the variance of any range
        for high in range(low, sums.size):
            assert free[low : high + 1, low : high + 1].sum() <= fit.leaves[low : high + 1].sum()


@pytest.mark.parametrize("sums", EACH)
def test_counts_fit_best(sums: SmoothRunning) -> None:
    fit, values = RunningFit(sums, SPREAD), np.arange(2.0 * sums.size).reshape(2, -1)
    columns, total = sums.columns().astype(np.float64), values.sum(axis=1)
    assert fit.counts(values @ columns.T, total) == pytest.approx(values)
    measured = np.random.default_rng(5).random((2, sums.rows)) * 100
    best = np.linalg.lstsq(columns[:, :-1], measured.T, rcond=None)[0].T
    found = fit.counts(measured, total)
    assert found[:, :-1] == pytest.approx(best)
    assert found.sum(axis=1) == pytest.approx(total)
