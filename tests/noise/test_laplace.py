from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from tests.noise import truth
from tests.noise.fit import bin_edges, counts, fits
from tests.noise.walk import agrees, walk

from tetraodon.noise import discrete_laplace
from tetraodon.noise.discrete import assemble, digit_widths, laplace_sampler

SCALES = ["0.1", 1, "7/3", 30, 100, 1000, "12345.678", 10**6]
COUNT = 1 << 22


@pytest.mark.parametrize(("shift", "widest"), [(0, 1), (1, 1), (2, 2), (2, 1)])
@pytest.mark.parametrize("scale", [Fraction(3, 4), Fraction(5, 2)])
def test_every_coin_string_gives_exactly_the_law(scale, shift, widest):
    sampler = assemble(scale, shift, widest=widest, lead=4, rest=3)
    depth = 7 * (1 + len(sampler.digits)) + (4 if len(sampler.digits) < 2 else 0)
    mass, undecided = walk(lambda coins: int(sampler.draw(1, coins)[0]), depth=min(depth, 17))
    assert undecided < Fraction(1, 8)
    assert agrees(mass, undecided, lambda k: truth.laplace(scale, k), around=12)


def test_the_walk_catches_digits_in_the_wrong_place():
    sampler = assemble(Fraction(5, 2), 2, widest=1, lead=4, rest=3)
    swapped = type(sampler)(sampler.blocks, sampler.digits[::-1])
    mass, undecided = walk(lambda coins: int(swapped.draw(1, coins)[0]), depth=15)
    assert not agrees(mass, undecided, lambda k: truth.laplace(Fraction(5, 2), k), around=12)


@pytest.mark.parametrize("widest", [1, 5, 11])
def test_digits_add_up_and_are_even(widest):
    for shift in range(50):
        widths = digit_widths(shift, widest)
        assert sum(widths) == shift
        assert max(widths, default=0) <= widest
        assert max(widths, default=0) - min(widths, default=0) <= 1


def cdf(scale: float, k: np.ndarray) -> np.ndarray:
    p = np.exp(-1 / scale)
    beyond = np.exp(-np.where(k >= 0, k + 1, -k) / scale) / (1 + p)
    return np.where(k >= 0, 1 - beyond, beyond)


@pytest.mark.parametrize("scale", SCALES)
def test_real_draws_fit_the_law(scale):
    values = discrete_laplace(scale, COUNT)
    s = float(Fraction(scale))
    edges = bin_edges(s, 12)
    due = np.diff(cdf(s, edges), prepend=0.0, append=1.0)
    assert fits(counts(values, edges), due * COUNT)


@pytest.mark.parametrize("scale", [100, 1000, "12345.678", 10**6, 10**12])
def test_real_draws_fit_the_law_of_the_last_four_bits(scale):
    # P(X mod 16 = r) is proportional to p**r + p**(16 - r) for r > 0, and to 1 + p**16 for r = 0.
    values = discrete_laplace(scale, COUNT)
    r = np.arange(16)
    s = float(Fraction(scale))
    due = np.exp(-r / s) + np.exp(-(16 - r) / s)
    assert fits(np.bincount(values % 16, minlength=16), due / due.sum() * COUNT)


def test_the_fit_catches_a_scale_two_per_cent_off():
    edges = bin_edges(30, 12)
    due = np.diff(cdf(30.6, edges), prepend=0.0, append=1.0)
    # The statistic is about 240 + 0.02**2 * COUNT = 1900, with deviation 85; the alarm is below 420.
    values = discrete_laplace(30, COUNT)
    assert not fits(counts(values, edges), due * COUNT)


def test_tiny_scales_give_zero():
    # P(X != 0) < 3 * e**-1000.
    assert not discrete_laplace("1/1000", 10_000).any()
    assert not discrete_laplace("1e-9", 10_000).any()


def test_huge_scales_stay_in_range_and_spread():
    # |X| / scale is nearly exponential: one of 2**19 is above 60 with probability below 5e-21.
    size = np.abs(discrete_laplace(10**12, 1 << 19)) / 1e12
    assert size.max() < 60
    assert 0.98 < size.mean() < 1.02  # 14 standard deviations


def test_int_and_array_results():
    assert type(discrete_laplace(3)) is int
    values = discrete_laplace(3, (2, 5))
    assert values.dtype == np.int64
    assert values.shape == (2, 5)


def test_a_sampler_is_built_once():
    assert laplace_sampler(Fraction(3)) is laplace_sampler(Fraction(3))
