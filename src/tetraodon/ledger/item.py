"""What is to be charged: the policy, the plan and the certificate of a release, as the ledger keeps them."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from tetraodon.errors import LedgerError

if TYPE_CHECKING:
    from tetraodon.certificate.certificate import Certificate

DOCUMENT_PARTS = ("policy", "plan", "certificate")
"""What is needed to price an entry again under other rules."""


def certified(item: Mapping[str, Any]) -> Certificate:
    """The certificate of an item that has all its parts. A document that looks like one is not one.

    Why  only the kernel makes certificates, so nothing can be charged whose loss was not computed.
    """
    from tetraodon.certificate.certificate import Certificate  # the kernel is slow to import, and only charges need it

    missing = [part for part in DOCUMENT_PARTS if part not in item]
    if missing:
        raise LedgerError(
            f"the item to be charged has no {', '.join(missing)}",
            fix="give the policy, the plan and the certificate of the release",
        )
    found = item["certificate"]
    if not isinstance(found, Certificate):
        raise LedgerError(
            "what was given as a certificate is none", fix="give the certificate that the kernel computed"
        )
    if not isinstance(found.epsilon, Fraction):
        raise LedgerError("the loss is infinite, and no total covers it", fix="release what the policy allows")
    return found


def certificate_document(certificate: Certificate) -> dict[str, Any]:
    """A certificate as it is kept: its loss as exact text, and how it was found."""
    found: dict[str, Any] = {
        "epsilon_exact": str(certificate.epsilon),
        "method": certificate.method,
        "exact": certificate.exact,
    }
    if certificate.rho is not None:
        found |= {"delta": str(certificate.delta), "rho_exact": str(certificate.rho)}
    return found


def check_charge(certificate: Certificate, charged: Fraction, *, jointly: bool) -> None:
    """Refuse a charge below the certified loss, unless it is what a release adds to the loss of several together."""
    if not jointly and charged < certificate.epsilon:
        raise LedgerError(
            "the charge is below the loss that was certified", fix="charge what the certificate says, or more"
        )
