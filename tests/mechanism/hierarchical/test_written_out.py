"""Least squares written out, against the normal equations with the known total as a very exact measurement."""

from __future__ import annotations

import numpy as np
import pytest

from tetraodon.mechanism.hierarchical.fit import WrittenOutFit

SIZE = 7
NUMBERS = np.random.default_rng(3)
SUMS = np.concatenate([np.diag(0.5 + NUMBERS.random(SIZE)), NUMBERS.random((3, SIZE))])


def fit(known: bool) -> WrittenOutFit:
    return WrittenOutFit(SUMS, 0.5, 0.0 if known else None)


def covariance(known: bool) -> np.ndarray:
    information = SUMS.T @ SUMS / 0.5 + (1e7 if known else 0.0)
    return np.asarray(np.linalg.inv(information))


@pytest.mark.parametrize("known", [True, False])
def test_covariance_and_running_variances(known: bool) -> None:
    asked = NUMBERS.random((4, SIZE))
    assert fit(known).covariance_times(asked) == pytest.approx(asked @ covariance(known), abs=1e-5)
    up_to = np.tril(np.ones((SIZE, SIZE)))
    variances = np.einsum("ij,jk,ik->i", up_to, covariance(known), up_to)
    assert fit(known).running_variances(np.arange(SIZE)) == pytest.approx(variances, abs=1e-5)


@pytest.mark.parametrize("known", [True, False])
def test_counts_fit_best(known: bool) -> None:
    measured, total = NUMBERS.random((2, SIZE + 3)), np.array([4.0, 5.0])
    right = measured @ SUMS / 0.5
    if known:
        right = right + 1e7 * total[:, None]
    found = fit(known).counts(measured, total if known else None)
    assert found == pytest.approx(right @ covariance(known), abs=1e-4)


def test_measurements_without_noise_give_the_values_back() -> None:
    values = np.arange(SIZE, dtype=np.float64)
    measured = (SUMS @ values)[None, :]
    assert fit(True).counts(measured, np.array([values.sum()]))[0] == pytest.approx(values)
    assert fit(False).counts(measured, None)[0] == pytest.approx(values)


def test_a_value_by_itself_has_the_noise_of_its_weight() -> None:
    assert fit(False).leaves == pytest.approx(0.5 / np.diag(SUMS) ** 2)
