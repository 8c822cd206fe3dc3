"""What is charged for, and the permit to draw noise for it: only the gate makes one, after the charge."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from tetraodon.certificate.certificate import Certificate
from tetraodon.errors import Refused, ReleaseError
from tetraodon.ledger import Entry, document_hash, shown_above
from tetraodon.ledger.account import ADDS_UP
from tetraodon.ledger.bill import Bill
from tetraodon.noise.argument import Size
from tetraodon.noise.coins import Coins, system_coins
from tetraodon.noise.guide_table import Integers
from tetraodon.noise.laws import NoiseLaw


@dataclass(frozen=True, slots=True)
class Charge:
    """What is taken from the total, and how releases compose. `after` is the number of the entry that must be the last
    one before it; `rho` is what of a rho is charged, where that is not all of it.
    """

    amount: Fraction
    composition: str = ADDS_UP
    after: int | None = None
    rho: Fraction | None = None


@dataclass(frozen=True, slots=True)
class Terms:
    """What the ledger is told of a release.

    Attributes
    ----------
    certificate: its loss under the governing policy, computed by the kernel.
    asked:       the epsilon that its own policy asked for.
    policy:      its policy, and `plan` what it measures, as documents: enough to price it again.
    witness:     the worst pair of records, as a document.
    price:       where the charge is not the certified loss, how it is computed; told whether that was done before, and
                 something else was charged since.
    """

    certificate: Certificate
    asked: Fraction
    policy: Mapping[str, Any]
    plan: Mapping[str, Any]
    witness: Any = None
    price: Callable[[bool], Charge] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.certificate, Certificate):
            raise TypeError("only what the kernel certified is charged")

    def bill(self, owner: str = "", *, again: bool = False, **more: Any) -> Bill:
        """What the ledger is asked to charge, for an owner; `more` is kept in the entry too.

        With `again`, something else was charged since the last time.
        """
        charge = Charge(Fraction(self.certificate.epsilon)) if self.price is None else self.price(again)
        item = {
            "composition": charge.composition,
            "policy": self.policy,
            "plan": self.plan,
            "certificate": self.certificate,
            "witness": self.witness,
        }
        return Bill(self.asked, charge.amount, item | more, charge.after, owner, charge.rho)

    def charged_in(self, entry: Entry) -> bool:
        """Whether a charge was made for the same policy and plan."""
        try:
            kept = {"policy": _drawn_for(entry.document["policy"]), "plan": entry.document["plan"]}
        except KeyError:
            return False
        return document_hash(kept) == document_hash({"policy": _drawn_for(self.policy), "plan": self.plan})


def _drawn_for(policy: Mapping[str, Any]) -> dict[str, Any]:
    """A policy without `whole`, which says how answers are written and not what is drawn: its default has changed."""
    listed = [{key: told for key, told in item.items() if key != "whole"} for item in policy.get("release", [])]
    return {**policy, "release": listed}


def require_not_dearer(bill: Bill, account: str) -> None:
    """Refuse a release that is charged more than its own file asked for: nobody pays that by accident."""
    charged, asked = Fraction(bill.charged), Fraction(bill.asked)
    if charged > asked:
        raise Refused(
            f"under the policy that governs {account!r} this costs epsilon {shown_above(charged)}, and its own file "
            f"asks for {shown_above(asked)}",
            fix="pass --allow-dearer (in Python allow_dearer=True) to be charged that, or write `secrets`, `together` "
            "and `presence` as the governing policy does",
        )


_SEAL: Final = object()


class Permit:
    """Leave to draw what a certificate covers, once.

    `entry` is the charge in the ledger that pays for it; None where no ledger is kept.
    """

    def __init__(self, certificate: Certificate, entry: Entry | None, seal: object) -> None:
        if seal is not _SEAL:
            raise TypeError("a permit is given by the gate, after the charge, and by nothing else")
        self.certificate = certificate
        self.entry = entry
        self._open = True

    @property
    def coins(self) -> Coins:
        """Fresh coins, for noise that is not a sum."""
        self._check()
        return system_coins()

    def noise(self, law: NoiseLaw, scale: Fraction, size: Size) -> Integers:
        """Fresh noise of a law and a scale."""
        self._check()
        return law.draw(scale, size)

    def close(self) -> None:
        """What was drawn is kept: nothing more is drawn under this charge."""
        self._open = False

    def _check(self) -> None:
        if not self._open:
            raise ReleaseError(
                "the numbers of this charge have been drawn already", fix="make a release of its own for more"
            )


def permit_for(certificate: Certificate, entry: Entry) -> Permit:
    """For the gate only: a permit that a charge pays for."""
    return Permit(certificate, entry, _SEAL)


def without_ledger(certificate: Certificate) -> Permit:
    """A permit where no ledger is kept: for made-up data, and for callers who account for themselves."""
    return Permit(certificate, None, _SEAL)
