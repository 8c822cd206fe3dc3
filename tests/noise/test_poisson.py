"""Poisson numbers: the law's bounds, and the moments of what is drawn."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from tetraodon.errors import NoiseError
from tetraodon.noise.coins import system_coins
from tetraodon.noise.discrete import PoissonLaw, poisson
from tetraodon.noise.guide_table import cdf_bounds


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
