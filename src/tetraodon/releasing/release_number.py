"""Releasing one number under a Pufferfish definition: charge first, then exact noise."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from tetraodon.engine import DataRefusal
from tetraodon.errors import Refused
from tetraodon.ledger import Ledger, document_hash
from tetraodon.ledger.entry import ADDS_UP, JOINTLY
from tetraodon.noise import discrete_laplace
from tetraodon.pufferfish.calibrated import Calibrated, Told


def release_number(mechanism: Calibrated, data: Any, *, dataset: str, ledger: Ledger) -> Told:
    """One number of `data`, after the ledger was charged for it.

    Pre   the data set is open in the ledger on the terms of the mechanism: `ledger.open(name, total,
          mechanism.document())`.
    Post  the entry says how it composes: it adds up where the mechanism's attackers are proved to allow it; else it is
          the only one, its loss verified, and any further release is refused, since their joint loss is not known.
    Why   an answer that loses nothing alone may tell everything beside another: who does not know either of two bits
          learns one from the other and their sum modulo two. So it is charged all that was asked for.
    """
    account = ledger.account(dataset)
    if account.policy != mechanism.document():
        raise Refused(
            "the data set is open for another promise than that of this mechanism",
            fix="open a data set with the mechanism's own `document()`",
            where=dataset,
        )
    sums = bool(mechanism.composable.adds_up)
    if not sums and account.charged:
        raise Refused(
            f"how this release composes with earlier ones is not known: {mechanism.composable.reason}",
            fix="release both at once, verified with td.compose, or use attackers for whom losses add up",
            where=dataset,
        )
    try:
        exact = mechanism.answer(data)
    except DataRefusal:
        ledger.record_refusal(dataset, "table-refused")
        raise
    certificate = mechanism.certificate
    item = {
        "composition": ADDS_UP if sums else JOINTLY,
        "policy": mechanism.document(),
        "plan": {
            "queries": [
                {
                    "name": mechanism.name,
                    "mechanism": mechanism.method,
                    "noise": {"kind": "discrete laplace", "scale": str(mechanism.scale)},
                    "step": str(mechanism.grid.step),
                }
            ]
        },
        "certificate": certificate,
    }
    reservation = ledger.reserve(
        dataset,
        asked=mechanism.epsilon,
        charged=Fraction(certificate.epsilon) if sums else mechanism.epsilon,
        after=None if sums else account.charged,
        item=item,
    )
    noisy = exact + discrete_laplace(mechanism.scale) if mechanism.steps else exact
    told = mechanism.told(noisy)
    ledger.settle(reservation, manifest_hash=document_hash({"step": noisy}))
    return told
