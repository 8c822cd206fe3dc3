"""`tetraodon ledger key`: the public key that strangers check releases with."""

from __future__ import annotations

from typing import Annotated

import typer

from tetraodon.cli.command_boundary import Edge
from tetraodon.cli.ledger_commands import DEFAULT, LedgerUrl, ledger_name
from tetraodon.cli.output import Json, emit, say, wrapped


def key(
    new: Annotated[bool, typer.Option("--new", help="Make a new key, which signs from now on.")] = False,
    ledger: LedgerUrl = DEFAULT,
    as_json: Json = False,
) -> None:
    """Print the public key of the ledger, which releases are signed with, and its fingerprint.

    Publish both where people trust you, on the web site of your office for instance. The private key is in a file
    beside the ledger (tetraodon.key beside tetraodon.db), or where the environment variable TETRAODON_KEY says.

    \b
    Examples:
      tetraodon ledger key
      tetraodon ledger key > office.pem

    \b
    --json gives {"ledger", "fingerprint", "public_key", "pem", "signs", "why_not", "earlier": [FINGERPRINT]}; "signs"
    is whether the private key is at hand.
    """
    with Edge(as_json):
        from tetraodon.errors import LedgerError
        from tetraodon.ledger import Ledger

        with Ledger(ledger) as book:
            if new:
                book.new_key()
            *earlier, found = book.keys() or (None,)
            try:
                book.signer()
                why_not = None
            except LedgerError as error:
                why_not = str(error)
                if found is None:
                    raise
        assert found is not None
        if as_json:
            emit(
                {
                    "ledger": ledger_name(ledger),
                    "fingerprint": found.fingerprint,
                    "public_key": found.text,
                    "pem": found.pem,
                    "signs": why_not is None,
                    "why_not": why_not,
                    "earlier": [one.fingerprint for one in earlier if one is not None],
                }
            )
            return
        say(found.pem.rstrip())
        note_fingerprint(found.fingerprint)
        if why_not is not None:
            wrapped(f"Releases are NOT signed: {why_not}")


def note_fingerprint(fingerprint: str) -> None:
    """Print a fingerprint in groups that can be read aloud, apart from the key, which may go to a file."""
    from tetraodon.cli.output import note

    groups = " ".join(fingerprint[place : place + 4] for place in range(0, 64, 4))
    note(f"Fingerprint: {groups}")
