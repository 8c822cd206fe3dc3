"""Mixed losses compose to no less than they lose together, whoever chooses the releases and whenever."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import ndtr

from tetraodon.exact.zcdp import epsilon_at, rho_at
from tetraodon.ledger.account import ReleaseLoss, composed, spent_by

DELTA = Fraction(1, 10**6)
TOTAL = Fraction(3)
pure = st.fractions(Fraction(1, 100), 3, max_denominator=100).map(ReleaseLoss)
mixed = st.fractions(Fraction(1, 1000), 1, max_denominator=1000).map(
    lambda rho: ReleaseLoss(epsilon_at(rho, DELTA), rho)
)
totals = st.fractions(Fraction(1, 100), 20, max_denominator=100)


def best_each_time(losses: list[ReleaseLoss], delta: Fraction) -> Fraction:
    """What is true of releases that were fixed beforehand, and no filter: the best order of what happened to be spent.

    Version 0.1 charged this or less.
    """
    rho = sum((loss.rho for loss in losses if loss.rho is not None), Fraction(0))
    return sum((loss.epsilon for loss in losses if loss.rho is None), Fraction(0)) + epsilon_at(rho, delta)


def accounted(losses: list[ReleaseLoss], delta: Fraction) -> float:
    """The other bound that version 0.1 took where it was smaller: Renyi divergences, by an accountant of others."""
    from dp_accounting import NeighboringRelation, RandomizedResponseDpEvent, ZCDpEvent
    from dp_accounting.rdp import RdpAccountant

    orders = [1.02 + 0.1 * math.exp(step / 8) for step in range(80)]
    accountant = RdpAccountant(orders, NeighboringRelation.REPLACE_ONE)
    for loss in losses:
        if loss.rho is None:
            accountant.compose(RandomizedResponseDpEvent(2 / (1 + math.exp(float(loss.epsilon))), 2))
        else:
            accountant.compose(ZCDpEvent(float(loss.rho), 0))
    return float(accountant.get_epsilon(float(delta)))


def delta_of(losses: list[ReleaseLoss], epsilon: float) -> float:
    """The exact delta of honest answers turned round, as often as their pure losses allow, beside continuous Gaussian
    noise of the added-up rho: mechanisms that have these losses.
    """
    distance = math.sqrt(2 * sum(float(loss.rho) for loss in losses if loss.rho is not None))
    law = {0.0: 1.0}
    for loss in losses:
        if loss.rho is None:
            up = 1 / (1 + math.exp(-float(loss.epsilon)))
            after: dict[float, float] = {}
            for place, chance in law.items():
                for step, part in ((float(loss.epsilon), up), (-float(loss.epsilon), 1 - up)):
                    after[round(place + step, 9)] = after.get(round(place + step, 9), 0.0) + chance * part
            law = after

    def gaussian(rest: float) -> float:
        if not distance:
            return max(0.0, -math.expm1(rest))
        high = math.erfc((rest / distance - distance / 2) / math.sqrt(2)) / 2
        return high - math.exp(min(rest, 700)) * math.erfc((rest / distance + distance / 2) / math.sqrt(2)) / 2

    return sum(chance * gaussian(epsilon - place) for place, chance in law.items())


def adaptive_delta(total: float, rho: float, allowed: Callable[[float], float], *, steps: int, unit: float) -> float:
    """At most the delta that an analyst reaches who sees each answer and decides: one more Gaussian step, or one count
    with the pure loss that the rule still allows, and then nothing more.

    Why  the loss so far is kept in whole units, rounded down, and what can be won from it only grows with it; so this
         is a bound from below. The best decisions are found backwards. A count with discrete Laplace noise loses
         +epsilon with chance 1 / (1 + e^-epsilon), and -epsilon otherwise.
    """
    step, width = rho / steps, math.sqrt(2 * rho / steps)
    low, high = -round((total + 3) / unit), round((total + 6) / unit)
    loss = unit * np.arange(low, high)
    reach = math.ceil((9 * width + step) / unit)
    places = unit * np.arange(-reach, reach + 1)
    chance = ndtr((places + unit - step) / width) - ndtr((places - step) / width)

    def exceeding(reached: NDArray[np.float64]) -> NDArray[np.float64]:
        return -np.expm1(np.minimum(total - reached, 0.0))

    def last(spent: float) -> NDArray[np.float64]:
        epsilon = math.floor(max(allowed(spent), 0.0) / unit) * unit
        up = 1 / (1 + math.exp(-epsilon))
        return up * exceeding(loss + epsilon) + (1 - up) * exceeding(loss - epsilon)

    won = last(rho)
    for number in range(steps - 1, -1, -1):
        padded = np.concatenate([np.zeros(reach), won, np.full(reach, won[-1])])
        won = np.maximum(last(number * step), np.convolve(padded, chance[::-1], "valid"))
    return float(won[-low])


def exactly(number: float) -> Fraction:
    return Fraction(number).limit_denominator(10**12)


@pytest.mark.parametrize(("total", "delta"), [(1, "1e-6"), (2, "1e-6"), (8, "1e-6")])
def test_whoever_chooses_after_each_answer_keeps_delta(total: int, delta: str) -> None:
    forgiven, whole = Fraction(delta), Fraction(total)
    rho = float(rho_at(whole, forgiven)) * (1 - 1e-9)

    def gaussian(spent: float) -> list[ReleaseLoss]:
        return [ReleaseLoss(Fraction(0), exactly(spent))] if spent else []

    def hopeful(spent: float) -> float:
        return total - float(best_each_time(gaussian(spent), forgiven))

    def ours(spent: float) -> float:
        return total - float(composed(gaussian(spent), forgiven, whole))

    terms = {"steps": 40, "unit": total / 1000}
    assert adaptive_delta(total, rho, hopeful, **terms) > 1.05 * float(forgiven)  # type: ignore[arg-type]
    assert 0.05 * float(forgiven) < adaptive_delta(total, rho, ours, **terms) <= float(forgiven)  # type: ignore[arg-type]


@settings(max_examples=40, deadline=None)
@given(st.lists(pure, max_size=6), st.lists(mixed, max_size=3), totals)
def test_it_is_never_below_what_version_one_charged(
    one: list[ReleaseLoss], other: list[ReleaseLoss], total: Fraction
) -> None:
    losses = [*one, *other]
    found = composed(losses, DELTA, total)
    assert delta_of(losses, float(found)) <= float(DELTA)
    assert found >= best_each_time(losses, DELTA) - Fraction(1, 10**9)  # the best order is searched for


def test_nor_below_what_an_accountant_says_of_many_small_releases() -> None:
    losses = [*[ReleaseLoss(Fraction(1, 10))] * 60, ReleaseLoss(Fraction(1), Fraction(1, 50))]
    assert accounted(losses, DELTA) < composed(losses, DELTA, TOTAL)
    assert composed([ReleaseLoss(Fraction(1, 10))] * 60, DELTA, TOTAL) == 6


@settings(max_examples=25, deadline=None)
@given(st.lists(st.one_of(pure, mixed), min_size=1, max_size=5), st.one_of(pure, mixed), totals)
def test_one_more_release_never_lowers_it(losses: list[ReleaseLoss], more: ReleaseLoss, total: Fraction) -> None:
    before, after = composed(losses, DELTA, total), composed([*losses, more], DELTA, total)
    assert before <= after
    if more.rho is None:
        assert after == before + more.epsilon


@settings(max_examples=40, deadline=None)
@given(totals, st.integers(1, 9), st.integers(1, 12))
def test_gaussian_releases_alone_may_spend_everything(total: Fraction, parts: int, power: int) -> None:
    delta = Fraction(1, 10**power)
    rho = rho_at(total, delta)
    assert composed([ReleaseLoss(total, rho / parts)] * parts, delta, total) <= total
    assert composed([ReleaseLoss(total, rho * Fraction(10**6 + 1, 10**6) + Fraction(1, 10**9))], delta, total) > total


@settings(max_examples=25, deadline=None)
@given(st.lists(pure, max_size=3), mixed, st.lists(st.one_of(pure, mixed), max_size=3), totals)
def test_the_order_is_fixed_before_the_first_gaussian_noise(
    before: list[ReleaseLoss], first: ReleaseLoss, later: list[ReleaseLoss], total: Fraction
) -> None:
    order = spent_by([*before, ReleaseLoss(Fraction(1), Fraction(1, 7))]).order(DELTA, total)
    assert spent_by([*before, first, *later]).order(DELTA, total) == order


def test_what_is_left_for_gaussian_noise_is_what_pure_releases_left() -> None:
    rest = rho_at(Fraction(2), DELTA)
    assert composed([ReleaseLoss(Fraction(1)), ReleaseLoss(Fraction(2), rest)], DELTA, TOTAL) <= TOTAL


def test_without_delta_losses_add_up() -> None:
    assert composed([ReleaseLoss(Fraction(1, 3))] * 2, Fraction(0), Fraction(1)) == Fraction(2, 3)
    assert composed([], DELTA, TOTAL) == 0
    with pytest.raises(AssertionError):
        composed([ReleaseLoss(Fraction(1), Fraction(1, 2))], Fraction(0), TOTAL)
