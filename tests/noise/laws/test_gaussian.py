"""Discrete Gaussian noise keeps its promise in zCDP."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from tetraodon.noise import gaussian_quantile, gaussian_variance
from tetraodon.noise.laws import GAUSSIAN, Currency

SURE = Fraction(95, 100)


@pytest.mark.parametrize("scale", ["1", "2", "7/2"])
@pytest.mark.parametrize("shift", [1, 2, 5])
@pytest.mark.parametrize("order", [1.5, 2, 8])
def test_renyi_divergences_of_a_shift_are_within_its_loss(scale: str, shift: int, order: float) -> None:
    """Equal for whole orders: shifts by whole numbers only change the sum's origin ([CKS20] Prop. 5)."""
    width, far = Fraction(scale), 80
    law = np.array([GAUSSIAN.pmf(width, k) for k in range(-far, far + 1)])
    moved = np.array([GAUSSIAN.pmf(width, k - shift) for k in range(-far, far + 1)])
    both = (law > 1e-300) & (moved > 1e-300)
    powers = order * np.log(law[both]) + (1 - order) * np.log(moved[both])
    divergence = math.log(float(np.sum(np.exp(powers)))) / (order - 1)
    allowed = order * float(shift * GAUSSIAN.rate(width)) ** 2 / 2
    assert GAUSSIAN.currency is Currency.ZCDP
    assert divergence <= allowed * (1 + 1e-9)
    if order == 2:
        assert divergence == pytest.approx(allowed, rel=1e-6)


def test_its_numbers_are_those_of_the_law() -> None:
    width = Fraction(7, 2)
    assert GAUSSIAN.variance(width) == gaussian_variance(width) <= GAUSSIAN.smooth_variance(width)
    assert GAUSSIAN.quantile(width, SURE) == gaussian_quantile(width, SURE) == GAUSSIAN.sum_quantile(width, 1, SURE)
    assert GAUSSIAN.reach(np.array([12.25]), np.array([3.5]), SURE)[0] >= gaussian_quantile(width, SURE)


def test_what_is_drawn_has_its_variance() -> None:
    """Within 7% for 40,000 values: more than nine deviations, a false alarm in 1e-18."""
    values = GAUSSIAN.draw(Fraction(7, 2), 40_000)
    assert float(np.mean(values.astype(float) ** 2)) == pytest.approx(GAUSSIAN.variance(Fraction(7, 2)), rel=0.07)
