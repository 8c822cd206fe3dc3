"""Integer noise, exact to the last bit, and what is exactly known about it."""

from tetraodon.noise.distribution import (
    gaussian_pmf,
    gaussian_quantile,
    gaussian_variance,
    laplace_pmf,
    laplace_quantile,
    laplace_variance,
)
from tetraodon.noise.gaussian import discrete_gaussian
from tetraodon.noise.laplace import discrete_laplace

__all__ = [
    "discrete_gaussian",
    "discrete_laplace",
    "gaussian_pmf",
    "gaussian_quantile",
    "gaussian_variance",
    "laplace_pmf",
    "laplace_quantile",
    "laplace_variance",
]
