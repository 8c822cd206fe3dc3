"""Each kind of noise is drawn, spread and bounded by its own functions."""

from __future__ import annotations

from fractions import Fraction
from typing import get_args

import numpy as np
import pytest

from tetraodon.noise import gaussian_quantile, gaussian_variance, laplace_quantile, laplace_variance
from tetraodon.noise.kind import Noise, draw_noise, noise_quantile, noise_variance

WIDTH, SURE = Fraction(7, 2), Fraction(95, 100)


def test_each_kind_has_its_own_numbers() -> None:
    assert noise_variance("laplace", WIDTH) == laplace_variance(WIDTH)
    assert noise_variance("gaussian", WIDTH) == gaussian_variance(WIDTH)
    assert noise_quantile("laplace", WIDTH, SURE) == laplace_quantile(WIDTH, SURE)
    assert noise_quantile("gaussian", WIDTH, SURE) == gaussian_quantile(WIDTH, SURE)


@pytest.mark.parametrize("noise", get_args(Noise))
def test_what_is_drawn_has_the_variance_of_its_kind(noise: Noise) -> None:
    """Within 7% of either variance for 40,000 values: the squares' spread is below 2.3 variances, so this is six
    deviations, a false alarm in 1e-8. The two variances are a factor of two apart.
    """
    values = draw_noise(noise, WIDTH, 40_000)
    assert values.shape == (40_000,)
    assert float(np.mean(values.astype(float) ** 2)) == pytest.approx(noise_variance(noise, WIDTH), rel=0.07)
