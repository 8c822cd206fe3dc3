"""The bound on weighted sums of noise, against exact laws."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tetraodon.noise import gaussian_pmf, laplace_pmf
from tetraodon.noise.laws import gaussian_reach, laplace_reach


def law_of_sum(weights: list[int], scales: list[Fraction], length: int) -> np.ndarray:
    """The exact law of a weighted sum of discrete Laplace numbers, on -length..length, up to what lies outside."""
    total = np.zeros(2 * length + 1)
    total[length] = 1.0
    for weight, scale in zip(weights, scales, strict=True):
        one = np.zeros(2 * length + 1)
        for k in range(-(length // weight), length // weight + 1):
            one[length + weight * k] = laplace_pmf(scale, k)
        total = np.convolve(total, one)[length : 3 * length + 1]
    return total


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.tuples(st.integers(1, 3), st.fractions(Fraction(1, 2), 3, max_denominator=4)), min_size=1, max_size=4),
    st.sampled_from([Fraction(9, 10), Fraction(95, 100), Fraction(975, 1000)]),
)
def test_the_bound_holds_for_every_sum(parts: list[tuple[int, Fraction]], confidence: Fraction) -> None:
    weights, scales = [w for w, _ in parts], [s for _, s in parts]
    law = law_of_sum(weights, scales, 150)
    spread = np.array([w * float(s) for w, s in parts])
    reach = float(laplace_reach(np.array(2 * (spread**2).sum()), np.array(spread.max()), confidence))
    inside = law[150 - int(reach) : 151 + int(reach)].sum()
    assert inside >= float(confidence)


def test_no_noise_no_reach() -> None:
    assert laplace_reach(np.array([0.0]), np.array([0.0]), Fraction(95, 100)).tolist() == [0.0]


def test_many_small_parts_are_nearly_normal() -> None:
    """Chernoff's bound for a normal law is sqrt(2 log(2 / 0.05)) deviations."""
    reach = laplace_reach(np.array([1.0]), np.array([0.0]), Fraction(95, 100))
    assert reach[0] == pytest.approx(np.sqrt(2 * np.log(40)), rel=1e-2)


def test_gaussian_sums_stay_within_their_bound() -> None:
    """Sums of two discrete Gaussians of widths 1/2 and 3, weighted 2 and 1, written out."""
    laws = [np.array([gaussian_pmf(s, k) for k in range(-100, 101)]) for s in (Fraction(1, 2), Fraction(3))]
    law = np.zeros(801)
    for k, weight in zip(range(-100, 101), laws[0], strict=True):
        law[400 + 2 * k - 100 : 400 + 2 * k + 101] += weight * laws[1]
    for confidence in (Fraction(9, 10), Fraction(99, 100)):
        reach = int(gaussian_reach(np.array([4 * 0.25 + 9]), confidence)[0])
        assert law[400 - reach : 401 + reach].sum() >= float(confidence)
