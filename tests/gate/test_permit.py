"""What is charged for, and the permit to draw noise for it."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from tests.ledger.certificates import FREE, pure

from tetraodon.errors import ReleaseError
from tetraodon.gate import Charge, Permit, Terms, without_ledger
from tetraodon.ledger.account import ADDS_UP, JOINTLY
from tetraodon.noise.laws import GAUSSIAN, LAPLACE


def test_the_certified_loss_is_charged() -> None:
    certificate = pure(Fraction(1, 3))
    bill = Terms(certificate, Fraction(1), {"p": 1}, {"q": 2}).bill(gate={"token": "t"})
    assert (bill.asked, bill.charged, bill.after) == (1, Fraction(1, 3), None)
    assert bill.item["certificate"] is certificate
    assert (bill.item["composition"], bill.item["gate"]) == (ADDS_UP, {"token": "t"})


def test_a_joint_charge_is_computed_when_it_is_needed() -> None:
    asked: list[bool] = []

    def price(again: bool) -> Charge:
        asked.append(again)
        return Charge(Fraction(2), JOINTLY, Fraction(1))

    terms = Terms(pure(1), Fraction(1), {}, {}, price=price)
    assert not asked
    bill = terms.bill()
    assert (bill.charged, bill.after, bill.item["composition"]) == (2, 1, JOINTLY)
    terms.bill(again=True)
    assert asked == [False, True]


def test_only_certificates_are_charged_for() -> None:
    posing: Any = {"epsilon_exact": "0"}
    with pytest.raises(TypeError, match="kernel"):
        Terms(posing, Fraction(1), {}, {})


def test_nobody_else_makes_one() -> None:
    with pytest.raises(TypeError, match="given by the gate"):
        Permit(FREE, None, object())


def test_it_draws_until_it_is_closed() -> None:
    permit = without_ledger(pure(1))
    assert permit.noise(LAPLACE, Fraction(3), (2, 3)).shape == (2, 3)
    assert permit.noise(GAUSSIAN, Fraction(3), 4).shape == (4,)
    assert permit.coins.draw(3, 16).shape == (3,)
    permit.close()
    with pytest.raises(ReleaseError, match="drawn already"):
        permit.noise(LAPLACE, Fraction(3), 1)
    with pytest.raises(ReleaseError, match="drawn already"):
        _ = permit.coins
