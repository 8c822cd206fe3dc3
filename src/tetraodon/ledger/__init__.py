"""The ledger: one total per data set, and every charge ever made against it.

`Ledger` is fetched on first use, because SQLAlchemy is slow to import and most commands need only the
values.
"""

from typing import TYPE_CHECKING

from tetraodon.ledger.account import Account, Correction, Entry, RecordedRefusal, Reservation
from tetraodon.ledger.amount import shown_above, shown_below
from tetraodon.ledger.document import document_hash

__all__ = [
    "Account",
    "Correction",
    "Entry",
    "Ledger",
    "RecordedRefusal",
    "Reservation",
    "document_hash",
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
