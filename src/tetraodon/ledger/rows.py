"""The rows of a ledger as values. Whatever Tetraodon would not have written is damage, and refused in words."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, Row, and_, bindparam, select

from tetraodon.errors import LedgerError
from tetraodon.ledger.account import Correction, Entry, RecordedRefusal, Reservation
from tetraodon.ledger.amount import amount_from_text, amount_text
from tetraodon.ledger.chain import hash_of
from tetraodon.ledger.document import document_from_text
from tetraodon.ledger.schema import corrections, entries, holds
from tetraodon.rational import decimal_text

_NAMED = {
    "own_id": "id",
    "own_dataset": "dataset",
    "own_asked": "asked",
    "own_charge": "charged",
    "own_time": "reserved_at",
}
SAME_ENTRY = and_(*(entries.c[column] == bindparam(name) for name, column in _NAMED.items()))
"""The entry of a reservation. All of it, not the number alone: a restored backup may have given that to another."""
_ENTRY = select(entries).where(SAME_ENTRY)
_CORRECTIONS = select(corrections).where(corrections.c.dataset == bindparam("account")).order_by(corrections.c.id)


def corrections_of(connection: Connection, name: str) -> tuple[Correction, ...]:
    """How the total of an account was corrected, the last one last."""
    if not holds(connection, corrections):
        return ()
    rows = connection.execute(_CORRECTIONS, {"account": name})
    return tuple(
        Correction(name, amount_from_text(row.total), amount_from_text(row.delta), text_in(row.corrected_at))
        for row in rows
    )


def terms_in(connection: Connection, row: Row[Any]) -> tuple[Fraction, Fraction]:
    """The total and the delta of the account that a row holds, as they were corrected last."""
    corrected = corrections_of(connection, text_in(row.dataset))
    if corrected:
        return corrected[-1].total, corrected[-1].delta
    return amount_from_text(row.total), amount_from_text(row.delta)


@lru_cache(maxsize=256)
def entry_in(row: Row[Any]) -> Entry:
    """The charge that a row holds.

    Why   remembered by all that the row holds, since every charge that is priced with earlier ones reads them again.
    """
    return Entry(
        id=row.id,
        dataset=text_in(row.dataset),
        asked=amount_from_text(row.asked),
        charged=amount_from_text(row.charged),
        state=row.state,
        when=text_in(row.reserved_at),
        document=document_from_text(row.document),
        settled=text_in(row.settled_at),
        manifest_hash=text_in(row.manifest_hash),
        delta=amount_from_text(row.delta),
    )


def entry_of(connection: Connection, reservation: Reservation) -> Entry:
    """The entry of a reservation."""
    row = connection.execute(_ENTRY, named_by(reservation)).one_or_none()
    if row is None:
        raise unknown()
    return entry_in(row)


def statement_of(connection: Connection, entry: Entry, taken: Fraction) -> dict[str, Any]:
    """An entry as a manifest states it: with what it has taken of its account, and its hash in the chain.

    Why  the hash stands for everything that was recorded up to the charge, and tells nothing of it. The place in the
         chain is left out: it would tell how many refusals came before. Of the moment the day is stated, as in the rest
         of a manifest: whoever asked on a server would read when a worker came to it, and how long the one before took.
    """
    amounts = {"asked": entry.asked, "charged": taken, "delta": entry.delta}
    return {
        "entry": entry.id,
        "dataset": entry.wave,
        **({"population": entry.dataset} if entry.wave != entry.dataset else {}),
        "when": entry.when[:10],
        **{name: decimal_text(exact) for name, exact in amounts.items()},
        "chain": hash_of(connection, "reserved", entry.id),
    }


def named_by(reservation: Reservation) -> dict[str, str | int]:
    """The entry of a reservation, for statements with `SAME_ENTRY`."""
    told = (reservation.id, reservation.dataset, amount_text(reservation.asked), amount_text(reservation.charged))
    return dict(zip(_NAMED, (*told, reservation.when), strict=True))


def unknown() -> LedgerError:
    """What is said of a reservation that this ledger never gave."""
    return LedgerError("the ledger does not know this reservation", fix="settle it in the ledger that gave it")


def refusal_in(row: Row[Any]) -> RecordedRefusal:
    """The refusal that a row holds."""
    return RecordedRefusal(text_in(row.dataset), text_in(row.kind), text_in(row.refused_at))


def text_in(value: object) -> str:
    """A value that is stored as text; SQLite would keep anything."""
    if not isinstance(value, str):
        raise LedgerError(
            "the ledger holds something that Tetraodon did not write", fix="restore the ledger from a backup"
        )
    return value
