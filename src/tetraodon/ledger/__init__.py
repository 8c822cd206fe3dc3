"""The ledger: one total per data set, and every charge ever made against it.

`Ledger` is fetched on first use, because SQLAlchemy is slow to import and most commands need only the
values.
"""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from tetraodon.ledger.account import Account, Correction, Entry, RecordedRefusal, Reservation
from tetraodon.ledger.amount import document_hash, shown_above, shown_below

__all__ = [
    "Account",
    "Correction",
    "Entry",
    "Ledger",
    "RecordedRefusal",
    "Reservation",
    "document_hash",
    "opened",
    "shown_above",
    "shown_below",
]

if TYPE_CHECKING:
    from tetraodon.ledger.store import Ledger
else:  # hidden from the type check, so that a misspelt name is still found

    def __getattr__(name: str) -> object:
        if name == "Ledger":
            from tetraodon.ledger.store import Ledger

            return Ledger
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def opened(ledger: Ledger | str | os.PathLike[str]) -> AbstractContextManager[Ledger]:
    """A ledger that is open stays so; the one at a place is opened, and closed after its use."""
    if isinstance(ledger, str | os.PathLike):
        from tetraodon.ledger.store import Ledger

        return Ledger(ledger)
    return nullcontext(ledger)
