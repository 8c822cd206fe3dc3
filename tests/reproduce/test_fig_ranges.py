"""The corrected ordered hierarchical mechanism: its scales keep epsilon, and its errors are those of its nodes."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from reproduce import fig_ranges
from reproduce.fig_ranges import hierarchical_noise, safe_scales
from tetraodon.noise import laplace_variance


def nodes(value: int, theta: int, scales: fig_ranges.Scales) -> dict[object, Fraction]:
    """Every released count that holds a value, with what it pays for it: the S nodes above it, and its tree."""
    block = value // theta
    found: dict[object, Fraction] = {}
    for k in range(block + 1, scales.blocks):  # the last S node is public
        found["S", k] = 1 / (scales.first if k == 1 else scales.sums)
    for level in range(scales.height):
        scale = scales.first if block == 0 else scales.trees
        found[block, level, value % theta // fig_ranges.FANOUT**level] = 1 / scale
    return found


@pytest.mark.parametrize(("size", "theta"), [(16, 4), (16, 1), (17, 5), (16, 16), (40, 9), (33, 2)])
def test_no_step_costs_more_than_epsilon(size, theta, monkeypatch):
    monkeypatch.setattr(fig_ranges, "FANOUT", 2)
    epsilon = Fraction(1)
    scales = safe_scales(size, theta, epsilon)
    for x in range(size):
        for y in range(x + 1, min(size, x + theta + 1)):
            mine, other = nodes(x, theta, scales), nodes(y, theta, scales)
            assert (
                sum(mine[k] for k in mine.keys() - other.keys()) + sum(other[k] for k in other.keys() - mine.keys())
                <= epsilon
            )


def test_the_ordered_mechanism_errs_by_one_noise_a_running_count():
    """Variance of 40,000 draws within 12 standard errors (Laplace, kurtosis 6): a false alarm below 1e-9."""
    errors = np.concatenate([hierarchical_noise(401, 1, Fraction(1))[:-1] for _ in range(100)])
    expected = laplace_variance(Fraction(1))
    assert abs(np.var(errors) / expected - 1) < 12 * np.sqrt(6 / len(errors))
