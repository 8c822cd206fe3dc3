"""What a release says of the charge that pays for it, so that a stranger can hold it against the ledger."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, select

from tetraodon.errors import LedgerError
from tetraodon.ledger.amount import amount_text
from tetraodon.ledger.chain import hash_of
from tetraodon.ledger.entry import Reservation
from tetraodon.ledger.rows import entry_in
from tetraodon.ledger.schema import entries
from tetraodon.rational import decimal_text


def statement_of(connection: Connection, reservation: Reservation) -> dict[str, Any]:
    """The entry of a reservation as a manifest states it, with its hash in the chain.

    Why  the hash stands for everything that was recorded up to the charge, and tells nothing of it. The place in the
         chain is left out: it would tell how many refusals came before.
    """
    row = connection.execute(select(entries).where(same_entry(reservation))).one_or_none()
    if row is None:
        raise unknown()
    entry = entry_in(row)
    amounts = {"asked": entry.asked, "charged": entry.charged, "delta": entry.delta}
    return {
        "entry": entry.id,
        "dataset": entry.dataset,
        "when": entry.when,
        **{name: decimal_text(exact) for name, exact in amounts.items()},
        "chain": hash_of(connection, "reserved", entry.id),
    }


def same_entry(reservation: Reservation) -> ColumnElement[bool]:
    """The entry of a reservation. All of it, not the number alone: a restored backup may have given that to another."""
    return and_(
        entries.c.id == reservation.id,
        entries.c.dataset == reservation.dataset,
        entries.c.asked == amount_text(reservation.asked),
        entries.c.charged == amount_text(reservation.charged),
        entries.c.reserved_at == reservation.when,
    )


def unknown() -> LedgerError:
    """What is said of a reservation that this ledger never gave."""
    return LedgerError("the ledger does not know this reservation", fix="settle it in the ledger that gave it")
