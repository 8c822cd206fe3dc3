"""The rows of a ledger as values. Whatever Tetraodon would not have written is damage, and refused in words."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Row, Select, select

from tetraodon.errors import LedgerError, did_you_mean
from tetraodon.ledger.account import Account
from tetraodon.ledger.amount import amount_from_text
from tetraodon.ledger.compose import ReleaseLoss, composed
from tetraodon.ledger.document import document_from_text
from tetraodon.ledger.entry import Entry, RecordedRefusal
from tetraodon.ledger.schema import accounts, entries


def locked(name: str) -> Select[Any]:
    """The row of an account, kept from other writers until the end of the transaction.

    Why  a Tetraodon of version 0.1 on a server waits for this row and for nothing else. SQLite has no such clause and
         needs none: the whole file is already ours.
    """
    return select(accounts).where(accounts.c.dataset == name).with_for_update()


def account_of(connection: Connection, name: str, *, lock: bool = False) -> Account:
    """An account with the sum of its charges; with `lock`, nobody can add to them meanwhile."""
    query = locked(name) if lock else select(accounts).where(accounts.c.dataset == name)
    row = connection.execute(query).one_or_none()
    if row is None:
        known = names(connection)
        hint = f", or {did_you_mean(name, known)}" if known else " first"
        raise LedgerError(f"data set {name!r} was never opened", fix=f"run `tetraodon ledger open POLICY`{hint}")
    total, delta, policy = amount_from_text(row.total), amount_from_text(row.delta), document_from_text(row.policy)
    charged = composed(losses_of(connection, name), delta, total)
    return Account(name, total, charged, policy, text_in(row.policy_hash), text_in(row.opened), delta)


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
