"""Descriptions of noise: exact numbers, in words."""

from fractions import Fraction

import pytest

from tetraodon.errors import NoiseError
from tetraodon.pufferfish import DiscreteLaplace, Gaussian, Laplace


def test_numbers_are_read_as_written():
    assert Laplace(0.1).scale == DiscreteLaplace("0.1").scale == Gaussian("1/10").sigma == Fraction(1, 10)
    assert [kind.text for kind in (Laplace(2), DiscreteLaplace(2), Gaussian(2))] == [
        "Laplace noise of scale 2",
        "discrete Laplace noise of scale 2",
        "Gaussian noise of standard deviation 2",
    ]


@pytest.mark.parametrize("kind", [Laplace, DiscreteLaplace, Gaussian])
@pytest.mark.parametrize("number", [0, -1])
def test_noise_is_positive(kind, number):
    with pytest.raises(NoiseError, match=r"not positive.*Fix"):
        kind(number)
