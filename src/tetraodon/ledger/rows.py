"""The rows of a ledger as values. Whatever Tetraodon would not have written is damage, and refused in words."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, and_, select

from tetraodon.errors import LedgerError, did_you_mean
from tetraodon.ledger.account import Account, Correction, Entry, RecordedRefusal, Reservation
from tetraodon.ledger.amount import amount_from_text, amount_text
from tetraodon.ledger.chain import hash_of
from tetraodon.ledger.compose import ReleaseLoss, composed
from tetraodon.ledger.document import document_from_text
from tetraodon.ledger.population import standing_for
from tetraodon.ledger.schema import accounts, corrections, entries, holds
from tetraodon.rational import decimal_text


def locked(name: str) -> Select[Any]:
    """The row of an account, kept from other writers until the end of the transaction.

    Why  a Tetraodon of version 0.1 on a server waits for this row and for nothing else. SQLite has no such clause and
         needs none: the whole file is already ours.
    """
    return select(accounts).where(accounts.c.dataset == name).with_for_update()


def account_of(connection: Connection, name: str, *, lock: bool = False) -> Account:
    """An account with the sum of its charges, of a data set or of the population that it is a wave of; with `lock`,
    nobody can add to them meanwhile.
    """
    name = standing_for(connection, name)
    query = locked(name) if lock else select(accounts).where(accounts.c.dataset == name)
    row = connection.execute(query).one_or_none()
    if row is None:
        known = names(connection)
        hint = f", or {did_you_mean(name, known)}" if known else " first"
        raise LedgerError(f"data set {name!r} was never opened", fix=f"run `tetraodon ledger open POLICY`{hint}")
    total, delta, policy = amount_from_text(row.total), amount_from_text(row.delta), document_from_text(row.policy)
    for corrected in corrections_of(connection, name):
        total, delta = corrected.total, corrected.delta
    charged = composed(losses_of(connection, name), delta, total)
    return Account(name, total, charged, policy, text_in(row.policy_hash), text_in(row.opened), delta)


def corrections_of(connection: Connection, name: str) -> tuple[Correction, ...]:
    """How the total of an account was corrected, the last one last."""
    if not holds(connection, corrections):
        return ()
    rows = connection.execute(select(corrections).where(corrections.c.dataset == name).order_by(corrections.c.id))
    return tuple(
        Correction(name, amount_from_text(row.total), amount_from_text(row.delta), text_in(row.corrected_at))
        for row in rows
    )


def losses_of(connection: Connection, name: str) -> list[ReleaseLoss]:
    """What every release of a data set lost, in order; documents are read only where noise was Gaussian."""
    mine = entries.c.dataset == name
    pure = select(entries.c.id, entries.c.charged).where(mine, entries.c.delta == "0")
    mixed = select(entries).where(mine, entries.c.delta != "0")
    found = {row.id: ReleaseLoss(amount_from_text(row.charged)) for row in connection.execute(pure)}
    found |= {row.id: entry_in(row).loss for row in connection.execute(mixed)}
    return [found[number] for number in sorted(found)]


def names(connection: Connection) -> list[str]:
    """Every data set, by name."""
    return [text_in(name) for name in connection.execute(select(accounts.c.dataset).order_by("dataset")).scalars()]


def entry_in(row: Row[Any]) -> Entry:
    """The charge that a row holds."""
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
        "dataset": entry.wave,
        **({"population": entry.dataset} if entry.wave != entry.dataset else {}),
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
