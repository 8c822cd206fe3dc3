"""Quantiles of sums of noise: never too small, and not much too large."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tetraodon.noise import gaussian_pmf, laplace_pmf
from tetraodon.noise import laws as quantiles
from tetraodon.noise.laws import GAUSSIAN, LAPLACE

SURE = Fraction(95, 100)


def law_of_sum(scale: Fraction, terms: int, reach: int) -> np.ndarray:
    """The law of the sum by plain convolution."""
    one = np.array([laplace_pmf(scale, k) for k in range(-reach, reach + 1)])
    law = one
    for _ in range(terms - 1):
        law = np.convolve(law, one)
    return law


@pytest.mark.parametrize(("scale", "terms"), [("1/2", 2), ("2", 2), ("3", 5), ("7/3", 9), ("10", 3)])
def test_it_is_the_least_that_covers(scale: str, terms: int) -> None:
    law = law_of_sum(Fraction(scale), terms, 400)
    centre = len(law) // 2
    found = LAPLACE.sum_quantile(Fraction(scale), terms, SURE)
    assert law[centre - found : centre + found + 1].sum() >= 0.95
    assert law[centre - found + 1 : centre + found].sum() < 0.95


def test_more_terms_never_need_less() -> None:
    found = [LAPLACE.sum_quantile(Fraction(3), terms, SURE) for terms in range(300)]
    assert found == sorted(found)
    assert found[0] == 0


def test_rounding_up_terms_costs_little() -> None:
    fewer, more = (LAPLACE.sum_quantile(Fraction(3), terms, SURE) for terms in (992, 1008))  # six binary digits
    exact = fewer * (1000 / 992) ** 0.5
    assert more == LAPLACE.sum_quantile(Fraction(3), 1000, SURE)
    assert exact <= LAPLACE.sum_quantile(Fraction(3), 1000, SURE) <= 1.02 * exact


def test_the_bound_for_long_sums_is_safe(monkeypatch: pytest.MonkeyPatch) -> None:
    truth = LAPLACE.sum_quantile(Fraction(5), 40, SURE)
    monkeypatch.setattr(quantiles, "LONGEST", 16)
    quantiles._quantile.cache_clear()
    bound = LAPLACE.sum_quantile(Fraction(5), 40, SURE)
    quantiles._quantile.cache_clear()
    assert truth <= bound <= 2 * truth


@pytest.mark.parametrize(("sigma", "terms"), [("0.3", 2), ("1", 3), ("7/2", 2), ("40", 5)])
def test_gaussian_sums_are_those_of_the_law_written_out(sigma: str, terms: int) -> None:
    """Convolution of the exact weights, term by term."""
    law = np.array([gaussian_pmf(Fraction(sigma), k) for k in range(-1200, 1201)])
    whole = law
    for _ in range(terms - 1):
        whole = np.convolve(whole, law, mode="same")
    middle = len(whole) // 2
    inside = [float(whole[middle - t : middle + t + 1].sum()) for t in range(600)]
    least = next(t for t, part in enumerate(inside) if part >= float(SURE))
    assert least <= GAUSSIAN.sum_quantile(Fraction(sigma), terms, SURE) <= least + 1


def test_the_bound_for_long_gaussian_sums_is_safe(monkeypatch: pytest.MonkeyPatch) -> None:
    truth = GAUSSIAN.sum_quantile(Fraction(5), 40, SURE)
    monkeypatch.setattr(quantiles, "LONGEST", 8)
    quantiles._quantile.cache_clear()
    bound = GAUSSIAN.sum_quantile(Fraction(5), 40, SURE)
    quantiles._quantile.cache_clear()
    assert truth <= bound <= 1.5 * truth
