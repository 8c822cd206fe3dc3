"""Reaches of weighted sums of noise: never too short, and hardly too long, by the exact distribution."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tetraodon.noise.laws import GAUSSIAN, LAPLACE, NoiseLaw
from tetraodon.noise.weighted_sums import weighted_reach


def exact_law(law: NoiseLaw, parts: list[tuple[np.ndarray, Fraction]], grid: int) -> np.ndarray:
    """Probabilities of the sum at multiples of 1 / grid from 0 on: all of it, but for 1e-9."""
    found = np.ones(1)
    for weights, scale in parts:
        far = law.quantile(scale, 1 - Fraction(1, 10**11))
        one = np.array([law.pmf(scale, k) for k in range(-far, far + 1)])
        for weight in np.abs(weights):
            spread = np.zeros(2 * far * round(weight * grid) + 1)
            spread[:: max(1, round(weight * grid))] += one
            found = np.convolve(found, spread)
    middle = len(found) // 2
    return np.concatenate([found[middle : middle + 1], 2 * found[middle + 1 :]])


@settings(max_examples=30, deadline=None)
@given(
    law=st.sampled_from([LAPLACE, GAUSSIAN]),
    eighths=st.lists(st.integers(1, 16), min_size=1, max_size=5),
    scales=st.lists(st.sampled_from([Fraction(1, 2), Fraction(3), Fraction(7, 2)]), min_size=5, max_size=5),
    confidence=st.sampled_from([Fraction(95, 100), Fraction(99, 100), Fraction(1, 2)]),
)
def test_the_reach_holds_and_is_nearly_the_shortest(
    law: NoiseLaw, eighths: list[int], scales: list[Fraction], confidence: Fraction
) -> None:
    parts = [(np.array([-e / 8]), scale) for e, scale in zip(eighths, scales, strict=False)]
    inside = np.cumsum(exact_law(law, parts, 8))
    reach = weighted_reach(law, parts, confidence)
    assert inside[min(int(reach * 8 + 1e-9), len(inside) - 1)] >= float(confidence) - 1e-9
    shortest = np.argmax(inside >= float(confidence) + 2e-4) / 8
    deviation = sum(law.smooth_variance(scale) * float(part @ part) for part, scale in parts) ** 0.5
    assert reach <= shortest + 0.09 * deviation + 1 / 8


@pytest.mark.parametrize("law", [LAPLACE, GAUSSIAN])
def test_very_many_weights_are_rounded_and_the_rounding_is_added(law: NoiseLaw) -> None:
    weights = np.linspace(0.1, 1, 500)
    reach = weighted_reach(law, [(weights, Fraction(4))], Fraction(95, 100))
    deviation = (law.variance(Fraction(4)) * float(weights @ weights)) ** 0.5
    assert 1.95 * deviation < reach < 2.2 * deviation


def test_one_weight_is_exact_and_no_weight_is_nothing() -> None:
    sure = Fraction(95, 100)
    assert weighted_reach(LAPLACE, [(np.full(3, -2.0), Fraction(5))], sure) == 2 * LAPLACE.sum_quantile(
        Fraction(5), 3, sure
    )
    assert weighted_reach(LAPLACE, [(np.zeros(3), Fraction(5))], sure) == 0


def test_where_hardly_anything_may_fail_the_bound_of_chernoff_is_taken() -> None:
    sure = 1 - Fraction(1, 10**6)
    parts = [(np.array([1.0, 0.5]), Fraction(5))]
    bound = LAPLACE.reach(np.array([2 * 25 * 1.25]), np.array([5.0]), sure)[0]
    assert weighted_reach(LAPLACE, parts, sure) == pytest.approx(bound)


@pytest.mark.parametrize("times", [10**6, 10**9])
def test_large_scales_with_small_weights_are_the_same_sum(times: int) -> None:
    """Noise of a large scale, weighed down: the digits of its characteristic function must not cancel."""
    few = [np.array([0.3, 0.7, 1.1]), np.array([1.0, 0.2])]
    near, far = (
        weighted_reach(LAPLACE, [(few[0] / n, Fraction(30 * n)), (few[1], Fraction(20))], Fraction(95, 100))
        for n in (1000, times)
    )
    assert far == pytest.approx(near, rel=1e-6)
