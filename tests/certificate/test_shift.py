"""A number that moves by so many steps loses so many times the rate of its noise."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tetraodon.certificate.shift import certify_shift
from tetraodon.errors import NoiseError
from tetraodon.noise.laws import LAPLACE, NoiseLaw


def test_it_is_steps_over_scale() -> None:
    found = certify_shift(3, LAPLACE, Fraction(6), method="here", exact=False)
    assert (found.epsilon, found.exact, found.method) == (Fraction(1, 2), False, "here")


def test_what_never_moves_needs_no_noise() -> None:
    assert certify_shift(0, LAPLACE, Fraction(0), method="here", exact=True).epsilon == 0


def test_a_law_without_a_loss_is_refused() -> None:
    with pytest.raises(NoiseError, match="no known privacy loss"):
        certify_shift(1, NoiseLaw("uniform", "uniform"), Fraction(2), method="here", exact=True)
