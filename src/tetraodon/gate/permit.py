"""A permit to draw noise for data: only the gate makes one, after the charge, and it ends when the numbers are kept."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from tetraodon.certificate.certificate import Certificate
from tetraodon.errors import ReleaseError
from tetraodon.ledger import Entry
from tetraodon.noise.argument import Size
from tetraodon.noise.coins import Coins, system_coins
from tetraodon.noise.guide_table import Integers
from tetraodon.noise.laws import NoiseLaw

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
