"""The two kinds of noise that are added to answers, side by side: how they are drawn and how far they spread.

Discrete Laplace noise is what others call the (two-sided) geometric mechanism.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal, TypeAlias, assert_never

from tetraodon.noise.argument import Size
from tetraodon.noise.gaussian import discrete_gaussian
from tetraodon.noise.laplace import discrete_laplace
from tetraodon.noise.moments import gaussian_variance, laplace_variance
from tetraodon.noise.quantile import gaussian_quantile, laplace_quantile
from tetraodon.noise.table import Integers

Noise: TypeAlias = Literal["laplace", "gaussian"]
"""The width of either kind is its `scale`: the scale of a Laplace law, the sigma of a Gaussian one."""


def draw_noise(noise: Noise, scale: Fraction, size: Size) -> Integers:
    """Independent values, exact to the last bit."""
    match noise:
        case "laplace":
            return discrete_laplace(scale, size)
        case "gaussian":
            return discrete_gaussian(scale, size)
        case _:
            assert_never(noise)


def noise_variance(noise: Noise, scale: Fraction) -> float:
    """The exact variance of one value.

    >>> round(noise_variance("laplace", Fraction(10)), 3), noise_variance("gaussian", Fraction(10))
    (199.833, 100.0)
    """
    return laplace_variance(scale) if noise == "laplace" else gaussian_variance(scale)


def noise_quantile(noise: Noise, scale: Fraction, confidence: Fraction) -> int:
    """How far one value reaches: P(|X| <= t) >= confidence.

    >>> noise_quantile("gaussian", Fraction(10), Fraction(95, 100))
    20
    """
    return laplace_quantile(scale, confidence) if noise == "laplace" else gaussian_quantile(scale, confidence)
