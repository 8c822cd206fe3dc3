"""Mixed losses compose to no less than they lose together, computed independently, and never to more than a sum."""

from __future__ import annotations

import math
import subprocess
import sys
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tetraodon.ledger.compose import Loss, composed
from tetraodon.zcdp import epsilon_at

DELTA = Fraction(1, 10**6)
pure = st.fractions(Fraction(1, 100), 3, max_denominator=100).map(Loss)
mixed = st.fractions(Fraction(1, 1000), 1, max_denominator=1000).map(lambda rho: Loss(epsilon_at(rho, DELTA), rho))


def delta_of(losses: list[Loss], epsilon: float) -> float:
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
        return high - math.exp(rest) * math.erfc((rest / distance + distance / 2) / math.sqrt(2)) / 2

    return sum(chance * gaussian(epsilon - place) for place, chance in law.items())


@settings(max_examples=40, deadline=None)
@given(st.lists(pure, max_size=6), st.lists(mixed, max_size=3))
def test_it_is_never_hopeful_and_never_worse_than_adding_up(one: list[Loss], other: list[Loss]) -> None:
    losses = [*one, *other]
    found = composed(losses, DELTA)
    assert delta_of(losses, float(found)) <= float(DELTA)
    rho = sum((loss.rho for loss in other if loss.rho is not None), Fraction(0))
    assert found <= sum((loss.epsilon for loss in one), Fraction(0)) + epsilon_at(rho, DELTA)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.one_of(pure, mixed), min_size=1, max_size=5), st.one_of(pure, mixed))
def test_one_more_release_costs_something_and_no_more_than_it_adds(losses: list[Loss], more: Loss) -> None:
    before, after = composed(losses, DELTA), composed([*losses, more], DELTA)
    assert before <= after <= sum((loss.epsilon for loss in losses), Fraction(0)) + more.epsilon


def test_many_small_releases_cost_less_than_their_sum() -> None:
    losses = [Loss(Fraction(1, 10))] * 300
    assert composed(losses, DELTA) < 15 < sum(loss.epsilon for loss in losses)
    assert composed(losses, Fraction(0)) == 30
    assert composed([*losses, Loss(Fraction(1000))], DELTA) == 1030  # far too much for Renyi divergences


def test_only_zcdp_adds_up_by_itself() -> None:
    rho = Fraction(1, 20)
    losses = [Loss(epsilon_at(rho, DELTA), rho)] * 4
    assert composed(losses, DELTA) == epsilon_at(4 * rho, DELTA)
    assert composed([], DELTA) == 0


def test_the_accountant_is_imported_only_when_it_is_needed() -> None:
    code = "import sys, tetraodon.ledger, tetraodon.releasing.run; print('dp_accounting' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_a_zcdp_loss_needs_a_delta() -> None:
    with pytest.raises(AssertionError):
        composed([Loss(Fraction(1), Fraction(1, 2))], Fraction(0))
