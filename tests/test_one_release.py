"""One release of Gaussian noise: its epsilon is held to the discrete law itself, summed over all outputs."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr

from tetraodon.exact.zcdp import (
    LARGEST,
    delta_of_normal,
    epsilon_at,
    epsilon_once,
    finest,
    rho_at,
    rounding_loss,
    sqrt_above,
)
from tetraodon.noise import gaussian_pmf

scales = st.fractions(Fraction(1, 2), 8, max_denominator=20)
deltas = st.integers(2, 9).map(lambda power: Fraction(1, 10**power))


def delta_of_discrete(scale: Fraction, shifts: tuple[int, ...], epsilon: float) -> float:
    """The least delta of discrete noise on each of a few numbers that differ by the shifts, over every output."""
    reach = math.ceil(9 * float(scale)) + max(map(abs, shifts))
    law = np.array([gaussian_pmf(scale, k) for k in range(-2 * reach, 2 * reach + 1)])
    middle = np.arange(reach, 3 * reach + 1)
    here = there = np.ones(1)
    for shift in shifts:
        here, there = np.outer(here, law[middle]).ravel(), np.outer(there, law[middle - shift]).ravel()
    return float(np.maximum(here - math.exp(epsilon) * there, 0).sum())


@settings(max_examples=30, deadline=None)
@given(scales, deltas, st.lists(st.integers(-3, 3).filter(bool), min_size=1, max_size=2))
def test_the_discrete_law_keeps_it(scale: Fraction, delta: Fraction, shifts: list[int]) -> None:
    rho = sum(Fraction(shift) ** 2 for shift in shifts) / (2 * scale**2)
    epsilon = epsilon_once(rho, ((scale, len(shifts)),), delta)
    assert epsilon <= epsilon_at(rho, delta)
    if epsilon < LARGEST:
        assert delta_of_discrete(scale, tuple(shifts), float(epsilon)) <= float(delta) * (1 + 1e-9)


@pytest.mark.parametrize("scale", [12, 40])
def test_little_less_would_not_do(scale: int) -> None:
    """The proof gives away next to nothing where noise is wide, and zCDP several in a hundred."""
    delta = Fraction(1, 10**6)
    rho = Fraction(1, 2 * scale**2)
    epsilon = float(epsilon_once(rho, ((Fraction(scale), 1),), delta))
    assert delta_of_discrete(Fraction(scale), (1,), 0.98 * epsilon) > float(delta)
    assert float(epsilon_at(rho, delta)) > 1.06 * epsilon


@settings(max_examples=50, deadline=None)
@given(st.fractions(Fraction(1, 100), 5), st.fractions(Fraction(1, 100), 5))
def test_the_normal_law_is_bounded_from_above_and_closely(apart: Fraction, epsilon: Fraction) -> None:
    """By the same formula in floats, which lose some digits in the difference."""
    found, m, e = float(delta_of_normal(apart**2, epsilon)), float(apart), float(epsilon)
    tails = float(ndtr(m / 2 - e / m)), math.exp(e) * float(ndtr(-m / 2 - e / m))
    assert found == pytest.approx(tails[0] - tails[1], abs=1e-13 * tails[0] + 1e-80)
    assert delta_of_normal((apart * (1 + Fraction(1, 10**9))) ** 2, epsilon) >= delta_of_normal(apart**2, epsilon)


def test_far_out_it_is_a_bound() -> None:
    assert 0 < delta_of_normal(Fraction(1, 10**4), Fraction(1)) < Fraction(1, 10**80)
    assert 1 - Fraction(1, 10**80) < delta_of_normal(Fraction(10**4), Fraction(1)) <= 1


@pytest.mark.parametrize("width", ["2/5", "1/2", "3/4", "1", "3"])
def test_rounded_normal_noise_is_nearly_discrete_noise(width: str) -> None:
    """The sum of the weights of rounding, at its largest and least, by summation over whole numbers."""
    r = float(Fraction(width))
    sums = [sum(math.exp(-((k - y) ** 2) / (2 * r * r)) for k in range(-60, 61)) for y in (0.0, 0.5)]
    lost = float(rounding_loss(Fraction(width)))
    assert math.log(sums[0] / sums[1]) - 1e-14 <= lost
    assert lost < 1.001 * math.log(sums[0] / sums[1]) + 1e-14 or r < 0.45


@pytest.mark.parametrize("count", [1, 1000])
@pytest.mark.parametrize(("epsilon", "saved"), [("0.1", 0.07), ("1", 0.04), ("5", 0)])
def test_noise_is_shrunk_by_as_much_as_may_be(epsilon: str, saved: float, count: int) -> None:
    budget, delta = Fraction(epsilon), Fraction(1, 10**6)
    rho = rho_at(budget, delta)
    scale = sqrt_above(1 / (2 * rho))
    factor = finest(rho, ((scale, count),), budget, delta)
    assert factor <= 1 - Fraction(saved)
    assert epsilon_once(rho / factor**2, ((scale * factor, count),), delta) <= budget
    less = factor - Fraction(1, 10**5)
    assert epsilon_once(rho / less**2, ((scale * less, count),), delta) > budget
