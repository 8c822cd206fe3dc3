from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.special import ndtr
from tests.noise import truth
from tests.noise.fit import bin_edges, counts, fits
from tests.noise.walk import walk

from tetraodon.noise import discrete_gaussian
from tetraodon.noise.coins import SystemCoins
from tetraodon.noise.discrete import GaussianByRejection, assemble, gaussian_sampler, laplace_sampler
from tetraodon.noise.guide_table import GuideTable

COUNT = 1 << 19


@pytest.mark.parametrize("margin", [2.0**-36, 2.0**64])
@pytest.mark.parametrize("sigma", [Fraction(1, 2), Fraction(3, 2)])
def test_rejection_walks_to_exactly_the_law(sigma, margin):
    # One round: what is kept has mass proportional to the law; what is thrown away is `None`.
    laplace = assemble(sigma // 1 + Fraction(1), 0, widest=1, lead=4, rest=3)
    sampler = GaussianByRejection(laplace, sigma, margin, width=5)

    def once(coins):
        kept = sampler._kept(1, coins)
        return int(kept[0]) if len(kept) else 10**6

    mass, undecided = walk(once, depth=15)
    thrown = mass.pop(10**6)
    kept = 1 - thrown  # undecided mass may belong to either
    assert undecided < Fraction(1, 20)
    for k in range(-6, 7):
        pmf = truth.gaussian(sigma, k)
        assert mass.get(k, 0) / kept <= pmf + Fraction(1, 10**50)
        assert pmf <= (mass.get(k, 0) + undecided) / (kept - undecided)


def test_the_rejection_walk_catches_a_wrong_centre():
    laplace = assemble(Fraction(3), 0, widest=1, lead=4, rest=3)  # the scale should be 2
    sampler = GaussianByRejection(laplace, Fraction(3, 2), width=5)

    def once(coins):
        kept = sampler._kept(1, coins)
        return int(kept[0]) if len(kept) else 10**6

    mass, undecided = walk(once, depth=15)
    kept = 1 - mass.pop(10**6)
    pmf = truth.gaussian(Fraction(3, 2), 3)
    assert not mass[3] / kept <= pmf <= (mass[3] + undecided) / (kept - undecided)


def test_narrow_widths_have_a_table_and_wide_ones_are_thinned():
    assert isinstance(gaussian_sampler(Fraction(1024)), GuideTable)
    assert isinstance(gaussian_sampler(Fraction(2049, 2)), GaussianByRejection)
    assert gaussian_sampler(Fraction(2)) is gaussian_sampler(Fraction(2))


@pytest.mark.parametrize("sigma", ["0.3", 1, "7/3", 30, 100, 500, 1000, "12345.678", 10**6])
def test_real_draws_fit_the_law(sigma):
    values = discrete_gaussian(sigma, COUNT)
    s = float(Fraction(sigma))
    edges = bin_edges(s, 6)
    if s < 2000:
        far = np.arange(-int(12 * s) - 2, int(12 * s) + 3)
        weight = np.exp(-(far**2) / (2 * s * s))
        below = np.cumsum(weight)[np.clip(edges - far[0], 0, len(far) - 1)] / weight.sum()
    else:
        below = ndtr((edges + 0.5) / s)  # within 1 / s**2: a thousandth of the noise in the counts
    due = np.diff(below, prepend=0.0, append=1.0)
    assert fits(counts(values, edges), due * COUNT)


@pytest.mark.parametrize("sigma", [1025, 10**6, 10**12])
def test_real_draws_have_even_last_bits(sigma):
    # X mod 16 is uniform to within e**-(2 pi**2 sigma**2 / 256), by Poisson summation.
    values = discrete_gaussian(sigma, COUNT)
    assert fits(np.bincount(values % 16, minlength=16), np.full(16, COUNT / 16))


def test_forcing_the_exact_path_changes_nothing_but_time():
    sampler = GaussianByRejection(laplace_sampler(Fraction(11)), Fraction(10), margin=2.0**64)
    values = sampler.draw(4000, SystemCoins())
    edges = bin_edges(10, 6)
    far = np.arange(-130, 131)
    weight = np.exp(-(far**2) / 200)
    below = np.cumsum(weight)[edges - far[0]] / weight.sum()
    assert fits(counts(values, edges), np.diff(below, prepend=0.0, append=1.0) * 4000)


def test_rejection_draws_as_many_as_asked():
    sampler = GaussianByRejection(laplace_sampler(Fraction(1001)), Fraction(1000))
    for count in (0, 1, 2, 1000):
        assert sampler.draw(count, SystemCoins()).shape == (count,)


def test_tiny_widths_give_zero():
    # P(X != 0) < 3 * e**-500000.
    assert not discrete_gaussian("1/1000", 10_000).any()


def test_int_and_array_results():
    assert type(discrete_gaussian(3)) is int
    assert type(discrete_gaussian(3000)) is int
    values = discrete_gaussian(3, (2, 5))
    assert values.dtype == np.int64
    assert values.shape == (2, 5)
