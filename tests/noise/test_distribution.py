"""What is exactly known of the noise: probabilities, variances, and how far it reaches."""

from __future__ import annotations

from fractions import Fraction
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.noise import truth

from tetraodon.noise import discrete as distribution
from tetraodon.noise import (
    gaussian_pmf,
    gaussian_quantile,
    gaussian_variance,
    laplace_pmf,
    laplace_quantile,
    laplace_variance,
)
from tetraodon.noise.discrete import _least, _smooth, _summed

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


scales = st.fractions(min_value=Fraction(1, 50), max_value=30, max_denominator=1000)
confidences = st.fractions(min_value=Fraction(1, 100), max_value=Fraction(999_999, 10**6))


@settings(max_examples=60, deadline=None)
@given(scales, confidences)
def test_laplace_is_the_least(scale, confidence):
    t = laplace_quantile(scale, confidence)
    assert truth.laplace_tail(scale, t) <= 1 - confidence
    assert t == 0 or truth.laplace_tail(scale, t - 1) > 1 - confidence


@settings(max_examples=30, deadline=None)
@given(scales, confidences)
def test_gaussian_is_the_least(sigma, confidence):
    inside = Fraction(0)
    for t in count():
        inside += truth.gaussian(sigma, t) * (1 if t == 0 else 2)
        if inside >= confidence:
            break
    assert gaussian_quantile(sigma, confidence) == t


@settings(max_examples=40, deadline=None)
@given(st.fractions(min_value=50, max_value=500, max_denominator=7), confidences)
def test_the_bound_for_wide_gaussians_is_never_too_small(sigma, confidence):
    exact = _summed(sigma, confidence)
    assert exact <= _smooth(sigma, confidence) <= exact + 1


@pytest.mark.parametrize("sigma", [513, 10**6, 10**12, 10**30])
def test_wide_gaussians(sigma):
    assert gaussian_quantile(sigma, "0.95") == pytest.approx(1.959963984540054 * sigma, abs=1, rel=1e-10)
    assert gaussian_quantile(sigma, "0.2") == pytest.approx(0.2533471031357998 * sigma, abs=1, rel=1e-10)


@pytest.mark.parametrize("scale", [10**6, 10**12, 10**30])
def test_wide_laplace(scale):
    t = laplace_quantile(scale, "0.95")
    assert t == pytest.approx(2.995732273553991 * scale, abs=1, rel=1e-10)
    assert truth.laplace_tail(Fraction(scale), t) <= Fraction(1, 20)
    assert truth.laplace_tail(Fraction(scale), t - 1) > Fraction(1, 20)


def test_extreme_confidence():
    nearly = 1 - Fraction(1, 10**100)
    assert laplace_quantile(1, nearly) == 230
    assert gaussian_quantile(1000, nearly) > gaussian_quantile(1000, 1 - Fraction(1, 10**99))
    assert laplace_quantile("1/1000", "0.999999") == gaussian_quantile("1/1000", "0.999999") == 0


@given(st.integers(0, 10**9))
def test_least_finds_the_step(step):
    assert _least(lambda t: t >= step) == step


def test_answers_are_kept():
    distribution._laplace.cache_clear()
    assert laplace_quantile(3, 0.9) == laplace_quantile(3, "9/10")
    assert distribution._laplace.cache_info().hits == 1
