"""The conversion is never hopeful: compared with the exact loss of Gaussian noise, with a fine search and backwards."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tetraodon.errors import PolicyError
from tetraodon.exact.zcdp import best_order, epsilon_at, epsilon_at_order, rho_at, sqrt_above

deltas = st.integers(1, 12).map(lambda power: Fraction(1, 10**power))
losses = st.fractions(Fraction(1, 10**6), 50, max_denominator=10**6)


def delta_of_gaussian(rho: float, epsilon: float) -> float:
    """The exact delta of Gaussian noise with sensitivity 1 and 1/(2 sigma^2) = rho (Balle and Wang, 2018)."""
    distance = math.sqrt(2 * rho)

    def below(z: float) -> float:
        return math.erfc(-z / math.sqrt(2)) / 2

    far = below(distance / 2 - epsilon / distance)
    return far - math.exp(epsilon) * below(-distance / 2 - epsilon / distance) if epsilon < 700 else far


@settings(max_examples=200, deadline=None)
@given(losses, deltas)
def test_it_covers_gaussian_noise(rho: Fraction, delta: Fraction) -> None:
    epsilon = epsilon_at(rho, delta)
    assert delta_of_gaussian(float(rho), float(epsilon)) <= float(delta) * (1 + 1e-9)


@settings(max_examples=100, deadline=None)
@given(losses, deltas)
def test_no_order_does_better(rho: Fraction, delta: Fraction) -> None:
    orders = [1 + math.exp(place / 20) for place in range(-300, 500)]
    best = min(a * float(rho) + math.log1p(-1 / a) - math.log(a * float(delta)) / (a - 1) for a in orders)
    assert float(epsilon_at(rho, delta)) <= max(0.0, best) + 1e-9


@settings(max_examples=200, deadline=None)
@given(losses, deltas)
def test_backwards_it_keeps_the_budget_and_wastes_little(epsilon: Fraction, delta: Fraction) -> None:
    rho = rho_at(epsilon, delta)
    assert rho > 0
    assert epsilon_at(rho, delta) <= epsilon
    assert epsilon_at(rho * (1 + Fraction(1, 10**6)), delta) > epsilon * (1 - Fraction(1, 10**5)) or epsilon < 1e-3


@settings(max_examples=100, deadline=None)
@given(losses, deltas, losses)
def test_one_order_alone_is_never_more_hopeful_and_enough_for_its_budget(
    epsilon: Fraction, delta: Fraction, rho: Fraction
) -> None:
    order = best_order(epsilon, delta)
    assert epsilon_at_order(order, rho, delta) >= epsilon_at(rho, delta) - Fraction(1, 10**9)
    assert epsilon_at_order(order, rho_at(epsilon, delta), delta) <= epsilon


@given(losses, st.integers(1, 12))
def test_more_loss_and_less_forgiveness_cost_more(rho: Fraction, power: int) -> None:
    delta = Fraction(1, 10**power)
    assert epsilon_at(rho, delta) <= epsilon_at(rho * 2, delta)
    assert epsilon_at(rho, delta) <= epsilon_at(rho, delta / 10)
    assert epsilon_at(Fraction(0), delta) == 0


@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1), Fraction(-1, 2)])
def test_delta_is_a_small_probability(delta: Fraction) -> None:
    with pytest.raises(PolicyError, match="between 0 and 1"):
        epsilon_at(Fraction(1), delta)


@given(st.fractions(Fraction(1, 10**30), 10**30))
def test_roots_are_rounded_up(square: Fraction) -> None:
    root = sqrt_above(square)
    assert square <= root**2 <= square * (1 + Fraction(1, 10**8))
