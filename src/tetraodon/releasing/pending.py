"""What is kept beside the output folder while a charged release is not yet written, so that it can be finished.

`.NAME.pending/reservation.json` says which reservation pays for it. `measured.npz` holds the noisy numbers once they
are drawn, and is on the disk before anything is published. So whoever finds the folder knows: with `measured.npz`,
publishing those very numbers is the release that was paid for, however often it is done; without it, nothing has been
published, and the reservation still pays for drawing them. Numbers are never drawn twice for one reservation.
"""

from __future__ import annotations

import json
import os
import shutil
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

from tetraodon.errors import ReleaseError
from tetraodon.ledger import Ledger, Reservation, document_hash
from tetraodon.releasing.documents import plan_document
from tetraodon.releasing.estimates import Measured
from tetraodon.releasing.plan import Plan

BROKEN = (OSError, ValueError, KeyError, TypeError, ZeroDivisionError, zipfile.BadZipFile)


@dataclass(frozen=True)
class Pending:
    """A release that was charged and not written: its reservation, its day, and its numbers if they were drawn."""

    reservation: Reservation
    measured: Mapping[str, Measured] | None


def pending_folder(target: Path) -> Path:
    """Where it is kept."""
    return target.parent / f".{target.name}.pending"


def begin(target: Path, plan: Plan, reservation: Reservation) -> None:
    """Note that a reservation pays for the release to `target`; called before any noise is drawn."""
    folder = pending_folder(target)
    document = {
        "plan_sha256": document_hash(plan_document(plan)),
        "id": reservation.id,
        "dataset": reservation.dataset,
        "asked": str(reservation.asked),
        "charged": str(reservation.charged),
        "when": reservation.when,
    }
    try:
        folder.mkdir(parents=True, mode=0o700)
        _write(folder / "reservation.json", json.dumps(document).encode())
    except OSError:
        raise _unwritable(target) from None


def keep(target: Path, measured: Mapping[str, Measured]) -> None:
    """Put the noisy numbers on the disk; called before any of them is published."""
    arrays = {f"{name}/{place}": array for name, parts in measured.items() for place, array in enumerate(parts)}
    folder = pending_folder(target)
    try:
        with (folder / "draft.npz").open("wb") as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]
            file.flush()
            os.fsync(file.fileno())
        os.replace(folder / "draft.npz", folder / "measured.npz")
    except OSError:
        raise _unwritable(target) from None


def end(target: Path) -> None:
    """The release is written and settled."""
    shutil.rmtree(pending_folder(target), ignore_errors=True)


def find(target: Path, plan: Plan, ledger: Ledger) -> Pending | None:
    """What is left of an earlier attempt to release this plan to this place.

    Raises ReleaseError if it was another plan, or if the ledger does not know the reservation as unsettled.
    """
    folder = pending_folder(target)
    if not folder.exists():
        return None
    try:
        document = json.loads((folder / "reservation.json").read_text(encoding="utf-8"))
        reservation = Reservation(
            int(document["id"]),
            str(document["dataset"]),
            Fraction(document["asked"]),
            Fraction(document["charged"]),
            str(document["when"]),
        )
        same = document["plan_sha256"] == document_hash(plan_document(plan))
        measured = _measured(folder / "measured.npz", plan) if same else None
    except BROKEN:
        raise ReleaseError(
            "what is left of an interrupted release cannot be read",
            fix="remove it and release again, which is charged again",
            where=str(folder),
        ) from None
    if not same:
        raise ReleaseError(
            "the interrupted release had another policy or plan",
            fix="resume it with the policy and the options it was begun with, or choose another folder",
            where=str(folder),
        )
    entries = [entry for entry in ledger.entries(plan.policy.dataset) if entry.id == reservation.id]
    mine = [
        e for e in entries if (e.when, e.charged, e.asked) == (reservation.when, reservation.charged, reservation.asked)
    ]
    if not mine or mine[0].state != "reserved":
        raise ReleaseError(
            "the ledger does not have this interrupted release as charged and not written",
            fix="name the ledger that was charged; if the release is there already, remove what is left of this one",
            where=str(folder),
        )
    return Pending(reservation, measured)


def refuse_pending(target: Path) -> None:
    """Refuse to begin where something charged waits to be finished."""
    if pending_folder(target).exists():
        raise ReleaseError(
            "an earlier release to this folder was charged and not finished",
            fix="pass --resume to finish it at no further charge, or choose another folder",
            where=str(target),
        )


def _measured(path: Path, plan: Plan) -> Mapping[str, Measured] | None:
    if not path.exists():
        return None
    with np.load(path, allow_pickle=False) as arrays:
        found = {
            item.name: tuple(arrays[f"{item.name}/{place}"] for place in range(len(item.measurements))) for item in plan
        }
    for item in plan:
        shapes = [measurement.query.shape(plan.policy.domain) for measurement in item.measurements]
        if [array.shape for array in found[item.name]] != shapes:
            raise ValueError("another shape")
    return found


def _write(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _unwritable(target: Path) -> ReleaseError:
    return ReleaseError(
        "the release folder cannot be written",
        fix="make room or choose another folder; the charge stands",
        where=str(target),
    )
