"""What is charged for: a certificate, and the policy and plan that it was computed from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tetraodon.certificate.certificate import Certificate
from tetraodon.ledger.bill import Bill
from tetraodon.ledger.entry import ADDS_UP


@dataclass(frozen=True, slots=True)
class Charge:
    """What is taken from the total, and how releases compose. `after` is what must have been charged before it."""

    amount: Fraction
    composition: str = ADDS_UP
    after: Fraction | None = None


@dataclass(frozen=True, slots=True)
class Terms:
    """What the ledger is told of a release.

    Attributes
    ----------
    certificate: its loss under the governing policy, computed by the kernel.
    asked:       the epsilon that its own policy asked for.
    policy:      its policy, and `plan` what it measures, as documents: enough to price it again.
    witness:     the worst pair of records, as a document.
    price:       where the charge is not the certified loss, how it is computed; asked only when something is charged.
    """

    certificate: Certificate
    asked: Fraction
    policy: Mapping[str, Any]
    plan: Mapping[str, Any]
    witness: Any = None
    price: Callable[[], Charge] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.certificate, Certificate):
            raise TypeError("only what the kernel certified is charged")

    def bill(self, **more: Any) -> Bill:
        """What the ledger is asked to charge; `more` is kept in the entry too."""
        charge = Charge(Fraction(self.certificate.epsilon)) if self.price is None else self.price()
        item = {
            "composition": charge.composition,
            "policy": self.policy,
            "plan": self.plan,
            "certificate": self.certificate,
            "witness": self.witness,
        }
        return Bill(self.asked, charge.amount, item | more, charge.after)
