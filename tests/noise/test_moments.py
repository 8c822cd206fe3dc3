from __future__ import annotations

from fractions import Fraction

import pytest
from tests.noise import truth

from tetraodon.noise import gaussian_pmf, gaussian_variance, laplace_pmf, laplace_variance

SCALES = [Fraction(1, 300), Fraction(1, 7), Fraction(1), Fraction(7, 3), Fraction(100), Fraction(10**12)]
SIGMAS = [Fraction(1, 30), Fraction(1, 3), Fraction(1), Fraction(19, 10), Fraction(2), Fraction(30)]
CLOSE = Fraction(1, 10**15)


def near(found: float, true: Fraction) -> bool:
    return abs(Fraction(found) - true) <= CLOSE * true


@pytest.mark.parametrize("scale", SCALES)
def test_laplace_to_fifteen_places(scale):
    p = truth.exp_minus(1 / scale)
    assert near(laplace_variance(scale), 2 * p / (1 - p) ** 2)
    for k in (0, 1, -1, 2, int(30 * scale)):
        if abs(k) / scale < 700:
            assert near(laplace_pmf(scale, k), truth.laplace(scale, k))
            assert laplace_pmf(scale, k) == laplace_pmf(scale, -k)


@pytest.mark.parametrize("sigma", SIGMAS)
def test_gaussian_to_fifteen_places(sigma):
    ks = range(1, int(sigma * 25) + 2)
    squares = 2 * sum(k * k * truth.gaussian_weight(sigma, k) for k in ks)
    assert near(gaussian_variance(sigma), squares / truth.gaussian_total(sigma))
    assert gaussian_variance(sigma) <= float(sigma**2)
    for k in (0, 1, -1, 3, int(20 * sigma)):
        if k * k / (2 * sigma**2) < 700:
            assert near(gaussian_pmf(sigma, k), truth.gaussian(sigma, k))


def test_what_is_below_every_float_is_zero():
    assert laplace_pmf("1/1000", 1) == laplace_variance("1e-9") == 0.0
    assert gaussian_pmf("1/1000", 1) == gaussian_variance("1e-9") == 0.0
    assert laplace_pmf("1e-9", 0) == gaussian_pmf("1e-9", 0) == 1.0
