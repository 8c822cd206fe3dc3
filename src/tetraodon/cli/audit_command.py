"""`tetraodon ledger audit`: whether the ledger is still what it was."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tetraodon.cli.command_boundary import Edge, WrongUse, existing, fail
from tetraodon.cli.ledger_commands import DEFAULT, LedgerUrl, ledger_name
from tetraodon.cli.output import Json, emit, listed, say, working, wrapped

if TYPE_CHECKING:
    from tetraodon.ledger.audit import Audit
    from tetraodon.ledger.store import Ledger

MANIFESTS = ("release.json", "view.json")
LARGEST = 100_000_000
"""Bytes of a manifest that is compared."""


def audit(
    after: Annotated[
        list[str] | None, typer.Option(metavar="HASH", help="A hash that was noted earlier.", show_default=False)
    ] = None,
    release: Annotated[
        list[str] | None, typer.Option(metavar="FOLDER", help="A release or view it paid for.", show_default=False)
    ] = None,
    ledger: LedgerUrl = DEFAULT,
    as_json: Json = False,
) -> None:
    """Recompute the chain of hashes over everything the ledger has recorded, and say what does not fit it.

    By itself this finds entries that were changed, added, deleted or put in another order. An old copy of the ledger,
    put back, is found by a hash from outside: one that you noted, or that of a release. Both options may be repeated.
    Exit code 0 if everything holds, 1 if anything does not.

    \b
    Examples:
      tetraodon ledger audit
      tetraodon ledger audit --release release/

    \b
    --json gives {"ledger", "holds", "records", "last_hash", "problems": [TEXT]}.
    """
    with Edge(as_json, holds=False):
        for folder in release or ():
            existing(folder, option="--release", folder=True)
        from tetraodon.ledger import Ledger

        with working("auditing"), Ledger(ledger) as book:
            found = book.audit()
            problems = [*found.problems, *(told for noted in after or () if (told := found.compared(noted)))]
            for folder in release or ():
                problems += _compared(Path(folder), found, book)
        if as_json:
            emit(
                {
                    "ledger": ledger_name(ledger),
                    "holds": not problems,
                    "records": found.records,
                    "last_hash": found.head,
                    "problems": problems,
                }
            )
        else:
            kept = "is what its chain says" if not problems else "is NOT what it was"
            wrapped(f"{ledger_name(ledger)} {kept}: {found.records} records. The last hash, to be noted elsewhere:")
            say(found.head)
            if problems:
                listed(problems)
        if problems:
            fail()


def _compared(folder: Path, found: Audit, book: Ledger) -> list[str]:
    """What does not fit between a folder and the ledger that is said to have paid for it."""
    content, entry = _stated(folder)
    number, chained = entry.get("entry"), entry.get("chain")
    if not isinstance(number, int) or found.charges.get(number) != chained:
        return [
            f"the charge that {folder} states is not in the chain: the ledger is older than that release, its past was "
            "rewritten, or another ledger paid"
        ]
    settled = next((one.manifest_hash for one in book.entries() if one.id == number), "")
    if settled and settled != hashlib.sha256(content).hexdigest():
        return [f"{folder} is not the folder that entry {number} was settled with"]
    return []


def _stated(folder: Path) -> tuple[bytes, dict[str, Any]]:
    path = next((folder / name for name in MANIFESTS if (folder / name).is_file()), None)
    if path is None:
        raise WrongUse("this is no release or view", fix="name its folder", where=str(folder))
    try:
        content = path.read_bytes() if path.stat().st_size <= LARGEST else b""
        entry = json.loads(content)["ledger"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        entry = None
    if not isinstance(entry, dict):
        raise WrongUse("it does not state the ledger's entry", fix="name a newer release", where=str(folder))
    return content, entry
