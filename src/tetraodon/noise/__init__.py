"""Integer noise, exact to the last bit, and what is exactly known about it."""

from tetraodon.noise.discrete import (
    discrete_gaussian,
    discrete_laplace,
    gaussian_pmf,
    gaussian_quantile,
    gaussian_variance,
    laplace_pmf,
    laplace_quantile,
    laplace_variance,
)

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


def __dir__() -> list[str]:
    return __all__
