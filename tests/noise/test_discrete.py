"""Public functions of the room: what they accept, and what is exactly known of the noise."""

from __future__ import annotations

import inspect
import math
from fractions import Fraction
from itertools import count

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.noise import truth

from tetraodon import noise
from tetraodon.errors import NoiseError, TetraodonError
from tetraodon.noise import discrete as distribution
from tetraodon.noise import (
    discrete_gaussian,
    discrete_laplace,
    gaussian_pmf,
    gaussian_quantile,
    gaussian_variance,
    laplace_pmf,
    laplace_quantile,
    laplace_variance,
)
from tetraodon.noise.coins import SystemCoins, system_coins
from tetraodon.noise.discrete import CHUNK, PoissonLaw, _least, _smooth, _summed, filled, poisson, shape_of
from tetraodon.noise.guide_table import cdf_bounds

# -- names ----------------------------------------------------------------------------------------


def test_the_public_names_are_pinned_and_sorted():
    assert noise.__all__ == [
        "discrete_gaussian",
        "discrete_laplace",
        "gaussian_pmf",
        "gaussian_quantile",
        "gaussian_variance",
        "laplace_pmf",
        "laplace_quantile",
        "laplace_variance",
    ]


def test_there_is_no_seed():
    for name in noise.__all__:
        names = set(inspect.signature(getattr(noise, name)).parameters)
        assert names <= {"scale", "sigma", "size", "k", "confidence"}


# -- arguments ------------------------------------------------------------------------------------


BAD_SCALES = [0, -1, "0/5", -0.5, float("nan"), float("inf"), True, "x", "", None, 1j, "1/0"]
BAD_SIZES = [-1, (2, -1), 1.5, "3", True, (True,), [2, 3], (None,)]
BAD_CONFIDENCES = [0, 1, -0.5, 2, float("nan"), "x", True, 1 - Fraction(1, 10**101)]


@pytest.mark.parametrize("scale", BAD_SCALES)
@pytest.mark.parametrize(
    "function",
    [
        discrete_laplace,
        discrete_gaussian,
        laplace_variance,
        gaussian_variance,
        lambda scale: laplace_pmf(scale, 0),
        lambda scale: gaussian_pmf(scale, 0),
        lambda scale: laplace_quantile(scale, 0.5),
        lambda scale: gaussian_quantile(scale, 0.5),
    ],
)
def test_a_scale_that_makes_no_sense_is_refused(function, scale):
    with pytest.raises(TetraodonError, match="Fix: "):
        function(scale)


@pytest.mark.parametrize("size", BAD_SIZES)
@pytest.mark.parametrize("function", [discrete_laplace, discrete_gaussian])
def test_a_size_that_makes_no_sense_is_refused(function, size):
    with pytest.raises(NoiseError, match="Fix: "):
        function(1, size)


@pytest.mark.parametrize("confidence", BAD_CONFIDENCES)
@pytest.mark.parametrize("function", [laplace_quantile, gaussian_quantile])
def test_a_confidence_that_makes_no_sense_is_refused(function, confidence):
    with pytest.raises(TetraodonError, match="Fix: "):
        function(1, confidence)


@pytest.mark.parametrize("function", [discrete_laplace, discrete_gaussian])
def test_a_scale_whose_values_might_not_fit_is_refused(function):
    with pytest.raises(NoiseError, match="Fix: count in a coarser unit"):
        function(2**50 + Fraction(1, 3))
    assert function(2**50, 3).dtype == np.int64


@pytest.mark.parametrize("k", [1.0, "1", None, True, Fraction(1)])
@pytest.mark.parametrize("function", [laplace_pmf, gaussian_pmf])
def test_a_place_that_is_no_integer_is_refused(function, k):
    with pytest.raises(NoiseError, match="Fix: "):
        function(1, k)


def test_sizes_may_be_numpy_integers():
    assert shape_of(np.int64(3)) == (3,)
    assert shape_of((np.uint8(3), 0)) == (3, 0)


class Counter:
    """Draws 0, 1, 2, ... and remembers how many were asked for at a time."""

    def __init__(self):
        self.asked = []

    def draw(self, count, coins):  # noqa: ARG002 - needs no coins
        start = sum(self.asked)
        self.asked.append(count)
        return np.arange(start, start + count, dtype=np.int64)


def test_none_gives_one_int():
    value = filled(Counter(), None, SystemCoins())
    assert type(value) is int


def test_shapes_are_filled_in_order():
    assert filled(Counter(), (2, 3), SystemCoins()).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert filled(Counter(), 0, SystemCoins()).shape == (0,)
    assert filled(Counter(), (), SystemCoins()).shape == ()
    assert filled(Counter(), (0, 5), SystemCoins()).shape == (0, 5)


def test_large_arrays_are_filled_a_chunk_at_a_time():
    for last in (1, 5, CHUNK):
        counter = Counter()
        values = filled(counter, 2 * CHUNK + last, SystemCoins())
        assert counter.asked == [CHUNK, CHUNK, last]
        assert np.array_equal(values, np.arange(2 * CHUNK + last))


# -- distributions --------------------------------------------------------------------------------


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


# -- poisson --------------------------------------------------------------------------------------


def test_the_bounds_hold_the_law() -> None:
    bits = 120
    lows, highs = cdf_bounds(PoissonLaw(), bits, 60)
    e = sum((Fraction(1, math.factorial(k)) for k in range(60)), Fraction(0))  # to far more digits than are compared
    total = Fraction(0)
    for k in range(12):
        total += Fraction(1, math.factorial(k))
        share = total / e * 2**bits
        assert lows[k] - 2**40 <= share <= highs[k] + 2**40
        assert (highs[k] - lows[k]) < 2 ** (bits - 50)


def test_a_sum_has_mean_and_variance_of_its_law() -> None:
    mean, rounds = 10_000, 400
    drawn = [poisson(mean, system_coins()) for _ in range(rounds)]
    average = sum(drawn) / rounds
    assert abs(average - mean) < 7 * math.sqrt(mean / rounds)  # a normal beyond 7: below 1e-11
    assert 0.5 < sum((value - mean) ** 2 for value in drawn) / rounds / mean < 1.7
    assert poisson(0, system_coins()) == 0
    with pytest.raises(NoiseError):
        poisson(-1, system_coins())
