"""Quantiles of sums of noise: never too small, and not much too large."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tetraodon.noise import laws as quantiles
from tetraodon.noise.laws import GAUSSIAN, LAPLACE, NoiseLaw

SURE = Fraction(95, 100)


@pytest.mark.parametrize(
    ("law", "scale", "terms"),
    [
        *((LAPLACE, scale, terms) for scale, terms in (("1/2", 2), ("2", 2), ("3", 5), ("7/3", 9), ("10", 3))),
        *((GAUSSIAN, scale, terms) for scale, terms in (("0.3", 2), ("1", 3), ("7/2", 2), ("40", 5))),
    ],
)
def test_it_is_the_least_that_covers(law: NoiseLaw, scale: str, terms: int) -> None:
    """By plain convolution of the exact weights; for Gaussian noise `SLACK` may cost one."""
    one = np.array([law.pmf(Fraction(scale), k) for k in range(-600, 601)])
    whole = one
    for _ in range(terms - 1):
        whole = np.convolve(whole, one)
    middle = len(whole) // 2
    found = law.sum_quantile(Fraction(scale), terms, SURE)
    assert whole[middle - found : middle + found + 1].sum() >= 0.95
    less = found - 1 - (law is GAUSSIAN)
    assert whole[middle - less : middle + less + 1].sum() < 0.95


def test_more_terms_never_need_less() -> None:
    found = [LAPLACE.sum_quantile(Fraction(3), terms, SURE) for terms in range(300)]
    assert found == sorted(found)
    assert found[0] == 0


def test_rounding_up_terms_costs_little() -> None:
    fewer, more = (LAPLACE.sum_quantile(Fraction(3), terms, SURE) for terms in (992, 1008))  # six binary digits
    exact = fewer * (1000 / 992) ** 0.5
    assert more == LAPLACE.sum_quantile(Fraction(3), 1000, SURE)
    assert exact <= LAPLACE.sum_quantile(Fraction(3), 1000, SURE) <= 1.02 * exact


@pytest.mark.parametrize("law", [LAPLACE, GAUSSIAN], ids=["laplace", "gaussian"])
def test_the_bound_for_long_sums_is_safe(law: NoiseLaw, monkeypatch: pytest.MonkeyPatch) -> None:
    truth = law.sum_quantile(Fraction(5), 40, SURE)
    monkeypatch.setattr(quantiles, "LONGEST", 8)
    quantiles._quantile.cache_clear()
    bound = law.sum_quantile(Fraction(5), 40, SURE)
    quantiles._quantile.cache_clear()
    assert truth <= bound <= 2 * truth
