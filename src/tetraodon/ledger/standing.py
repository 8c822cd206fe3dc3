"""How accounts stand: what may be spent of each, and what is spent."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from sqlalchemy import Connection, Select, bindparam, select

from tetraodon.errors import LedgerError, did_you_mean
from tetraodon.ledger.account import Account, Entry
from tetraodon.ledger.document import document_from_text
from tetraodon.ledger.population import standing_for
from tetraodon.ledger.rows import terms_in, text_in
from tetraodon.ledger.running import spent_of
from tetraodon.ledger.schema import accounts

_ACCOUNT = select(accounts).where(accounts.c.dataset == bindparam("account"))


def locked(name: str) -> Select[Any]:
    """The row of an account, kept from other writers until the end of the transaction.

    Why  whoever charges waits here, whatever other locks a server's settings leave out. SQLite has no such clause and
         needs none: the whole file is already ours.
    """
    return select(accounts).where(accounts.c.dataset == name).with_for_update()


def account_of(connection: Connection, name: str, *, lock: bool = False, upto: int | None = None) -> Account:
    """An account with what is spent of it, of a data set or of the population that it is a wave of; with `lock`,
    nobody can add to that meanwhile; with `upto`, as it was after the entry of that number.
    """
    name = standing_for(connection, name)
    found = connection.execute(locked(name)) if lock else connection.execute(_ACCOUNT, {"account": name})
    row = found.one_or_none()
    if row is None:
        known = names(connection)
        hint = f", or {did_you_mean(name, known)}" if known else " first"
        raise LedgerError(f"data set {name!r} was never opened", fix=f"run `tetraodon ledger open POLICY`{hint}")
    policy, (total, delta) = document_from_text(row.policy), terms_in(connection, row)
    spent = spent_of(connection, name, upto)
    hashed, opened = text_in(row.policy_hash), text_in(row.opened)
    return Account(name, total, spent.epsilon(delta, total), policy, hashed, opened, delta, spent)


def taken_by(connection: Connection, entry: Entry) -> Fraction:
    """By how much an entry raised what is spent of its account: with Gaussian noise losses compose, and that is not
    what it is charged by itself.
    """
    if entry.loss.rho is None:
        return entry.charged
    before, after = (account_of(connection, entry.dataset, upto=number).charged for number in (entry.id - 1, entry.id))
    return after - before


def names(connection: Connection) -> list[str]:
    """Every data set, by name."""
    return [text_in(name) for name in connection.execute(select(accounts.c.dataset).order_by("dataset")).scalars()]
