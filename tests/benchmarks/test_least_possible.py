"""The bound from below on the error of Gaussian strategies is one, and is nearly reached."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.peers.least_possible import least_possible, planned


@pytest.mark.parametrize("asked", ["ranges", "cdf"])
@pytest.mark.parametrize("secret", [None, "everything", {"within": 2}])
def test_no_strategy_errs_less(asked: str, secret: object) -> None:
    """Random strategies on 8 values err by at least the bound, and the planned one by hardly more."""
    size, dice = 8, np.random.default_rng(3)
    ends = np.array([(a, b) for a in range(size) for b in range(a, size) if asked == "ranges" or a == 0])
    rows = ((ends[:, :1] <= np.arange(size)) & (np.arange(size) <= ends[:, 1:])).astype(float)
    least = least_possible(size, secret, asked)
    reach = secret["within"] if isinstance(secret, dict) else size
    apart = [(a, b) for a in range(size) for b in range(a) if a - b <= reach]
    for turn in range(30):
        strategy = np.concatenate([np.eye(size), dice.normal(size=(4, size)), turn % 2 * np.tri(size)])
        columns = strategy.T if secret is None else np.array([strategy[:, a] - strategy[:, b] for a, b in apart])
        strategy = strategy / np.sqrt((columns**2).sum(axis=1).max())
        if secret is not None:  # the total is known
            strategy = np.concatenate([strategy, np.full((1, size), 1e4)])
        error = np.trace(rows @ np.linalg.inv(strategy.T @ strategy) @ rows.T) / len(rows)
        assert error > least * (1 - 1e-6)
    assert least <= planned(size, secret, asked) <= 1.01 * least


@pytest.mark.parametrize("secret", [None, "everything", {"within": 10}])
def test_weights_are_carried_over_to_more_values(secret: object) -> None:
    """Weights that were found at 20 of 40 values give nearly the bound of all 40, and no more."""
    carried, whole = (least_possible(40, secret, "cdf", few) for few in (20, 40))
    assert 0.97 * whole < carried <= whole * (1 + 1e-3)
