"""Variances of very little noise: least squares divide by them."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tetraodon.noise.laws import GAUSSIAN, LAPLACE, NEGLIGIBLE, NoiseLaw


@pytest.mark.parametrize("law", [LAPLACE, GAUSSIAN], ids=lambda law: law.name)
@pytest.mark.parametrize("scale", [Fraction(1, 10), Fraction(1, 1000), Fraction(1, 10**9)])
def test_no_variance_rounds_to_zero(law: NoiseLaw, scale: Fraction) -> None:
    assert law.variance(scale) >= NEGLIGIBLE * law.smooth_variance(scale) > 0


@pytest.mark.parametrize("law", [LAPLACE, GAUSSIAN], ids=lambda law: law.name)
def test_other_variances_are_exact(law: NoiseLaw) -> None:
    scale = Fraction(1, 3)
    exact = 2 * sum(k**2 * law.pmf(scale, k) for k in range(1, 60))
    assert law.variance(scale) == pytest.approx(exact, rel=1e-12)
