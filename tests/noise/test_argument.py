"""What the public functions of this room accept, what they say otherwise, and how they fill what was asked for."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tetraodon.errors import NoiseError, TetraodonError
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
from tetraodon.noise.coins import SystemCoins
from tetraodon.noise.discrete import CHUNK, filled, shape_of

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
