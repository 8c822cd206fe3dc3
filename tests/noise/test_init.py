from __future__ import annotations

import inspect

from tetraodon import noise


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
