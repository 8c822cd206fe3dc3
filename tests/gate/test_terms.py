"""What the ledger is told: the certified loss, or what is computed in its place, and only when it is asked."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from tests.ledger.certificates import pure

from tetraodon.gate import Charge, Terms
from tetraodon.ledger.entry import ADDS_UP, JOINTLY


def test_the_certified_loss_is_charged() -> None:
    certificate = pure(Fraction(1, 3))
    bill = Terms(certificate, Fraction(1), {"p": 1}, {"q": 2}).bill(gate={"token": "t"})
    assert (bill.asked, bill.charged, bill.after) == (1, Fraction(1, 3), None)
    assert bill.item["certificate"] is certificate
    assert (bill.item["composition"], bill.item["gate"]) == (ADDS_UP, {"token": "t"})


def test_a_joint_charge_is_computed_when_it_is_needed() -> None:
    asked = []

    def price() -> Charge:
        asked.append(1)
        return Charge(Fraction(2), JOINTLY, Fraction(1))

    terms = Terms(pure(1), Fraction(1), {}, {}, price=price)
    assert not asked
    bill = terms.bill()
    assert (bill.charged, bill.after, bill.item["composition"]) == (2, 1, JOINTLY)


def test_only_certificates_are_charged_for() -> None:
    posing: Any = {"epsilon_exact": "0"}
    with pytest.raises(TypeError, match="kernel"):
        Terms(posing, Fraction(1), {}, {})
