"""Discrete Laplace noise keeps its promise, and attains it."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from tetraodon.noise import laplace_quantile, laplace_variance
from tetraodon.noise.laws import LAPLACE, Currency

SURE = Fraction(95, 100)


@pytest.mark.parametrize("scale", ["1/3", "2", "7/2"])
@pytest.mark.parametrize("shift", [1, 2, 5])
def test_the_loss_of_a_shift_is_the_largest_log_ratio(scale: str, shift: int) -> None:
    width = Fraction(scale)
    ratios = [math.log(LAPLACE.pmf(width, k) / LAPLACE.pmf(width, k - shift)) for k in range(-12, 13)]
    assert LAPLACE.currency is Currency.PURE
    assert max(map(abs, ratios)) == pytest.approx(float(shift * LAPLACE.rate(width)), rel=1e-9)


def test_its_numbers_are_those_of_the_law() -> None:
    width = Fraction(7, 2)
    assert LAPLACE.variance(width) == laplace_variance(width) <= LAPLACE.smooth_variance(width)
    assert LAPLACE.quantile(width, SURE) == laplace_quantile(width, SURE) == LAPLACE.sum_quantile(width, 1, SURE)
    assert LAPLACE.reach(np.array([24.5]), np.array([3.5]), SURE)[0] >= laplace_quantile(width, SURE)


def test_what_is_drawn_has_its_variance() -> None:
    """Within 7% for 40,000 values: six deviations, a false alarm in 1e-8."""
    values = LAPLACE.draw(Fraction(7, 2), 40_000)
    assert values.shape == (40_000,)
    assert float(np.mean(values.astype(float) ** 2)) == pytest.approx(LAPLACE.variance(Fraction(7, 2)), rel=0.07)
