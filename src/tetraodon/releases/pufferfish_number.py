"""Releasing one number under a Pufferfish definition: charge first, then exact noise."""

from __future__ import annotations

import hashlib
import json
import os
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tetraodon.errors import Refused, ReleaseError
from tetraodon.gate import Charge, OutputFolder, Permit, ReleaseTransaction, Terms
from tetraodon.ledger import Account, document_hash
from tetraodon.ledger.account import ADDS_UP, JOINTLY
from tetraodon.noise.discrete import drawable
from tetraodon.noise.laws import LAPLACE
from tetraodon.pufferfish.calibrated import Calibrated, NoisyNumber

if TYPE_CHECKING:
    from tetraodon.ledger import Ledger

MANIFEST = "number.json"
DRAWN = "drawn.json"


def release_number(
    mechanism: Calibrated,
    data: Any,
    *,
    dataset: str,
    ledger: Ledger,
    out: str | os.PathLike[str] | None = None,
    force: bool = False,
    resume: bool = False,
) -> NoisyNumber:
    """One number of `data`, after the ledger was charged for it; with `out`, also written to a folder.

    Pre   the data set is open in the ledger on the terms of the mechanism: `ledger.open(name, total,
          mechanism.document())`.
    Post  the entry says how it composes: it adds up where the mechanism's attackers are proved to allow it; else it is
          the only one, its loss verified, and any further release is refused, since their joint loss is not known. With
          `resume`, a number that was charged and not written to `out` is, and it is the same if it was drawn.
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
    place = None if out is None else OutputFolder.of(Path(out), MANIFEST)
    plan = _plan(mechanism)
    request = document_hash({"policy": mechanism.document(), "plan": plan})
    if mechanism.steps:
        drawable(mechanism.scale, name="the scale of the noise")
    with ReleaseTransaction(ledger, dataset, request=request, place=place, force=force, resume=resume) as way:
        if way.complete and place is not None:
            return mechanism.interpret(_read(place.path / MANIFEST))
        if way.drawn is None:
            if way.entry is None:
                _check_composes(mechanism, account)
            with way.counting():
                exact = mechanism.answer(data)
            noisy = _drawn(mechanism, exact, way.spend(_terms(mechanism, account, plan)))
            way.keep(lambda folder: _write(folder / DRAWN, {"step": noisy}))
        else:
            noisy = _read(way.drawn / DRAWN)
        told = mechanism.interpret(noisy)
        if place is None:
            way.settle(document_hash({"step": noisy}))
        else:
            shown = {"promise": mechanism.promise, "median": told.median, "lower": told.lower, "upper": told.upper}
            way.finish(lambda folder, _: _write(folder / MANIFEST, {"step": noisy, **shown, "plan": plan}))
        return told


def _check_composes(mechanism: Calibrated, account: Account) -> None:
    if not mechanism.composable.adds_up and account.spent.last:
        raise Refused(
            f"how this release composes with earlier ones is not known: {mechanism.composable.reason}",
            fix="release both at once, verified with td.pufferfish.compose, or use attackers for whom losses add up",
            where=account.dataset,
        )


def _plan(mechanism: Calibrated) -> dict[str, Any]:
    query = {
        "name": mechanism.name,
        "mechanism": mechanism.method,
        "noise": {"kind": "discrete laplace", "scale": str(mechanism.scale)},
        "step": str(mechanism.grid.step),
    }
    return {"queries": [query]}


def _terms(mechanism: Calibrated, account: Account, plan: dict[str, Any]) -> Terms:
    certificate = mechanism.certificate
    if mechanism.composable.adds_up:
        charge = Charge(Fraction(certificate.epsilon), ADDS_UP)
    else:
        charge = Charge(mechanism.epsilon, JOINTLY, account.spent.last)
    return Terms(certificate, mechanism.epsilon, mechanism.document(), plan, price=lambda _: charge)


def _drawn(mechanism: Calibrated, exact: int, permit: Permit) -> int:
    return exact + int(permit.noise(LAPLACE, mechanism.scale, 1)[0]) if mechanism.steps else exact


def _write(path: Path, document: dict[str, Any]) -> str:
    """Write a document; its hash."""
    text = json.dumps(document, indent=1)
    path.write_text(text, encoding="utf-8")
    return hashlib.sha256(text.encode()).hexdigest()


def _read(path: Path) -> int:
    try:
        return int(json.loads(path.read_text(encoding="utf-8"))["step"])
    except (OSError, ValueError, KeyError, TypeError):
        raise ReleaseError("the number cannot be read", fix="restore it from a backup", where=str(path)) from None
