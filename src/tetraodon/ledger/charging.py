"""A charge, in one transaction: lock the account and then the allotment, check both, and write the entry.

And that it was settled, in another.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from sqlalchemy import Connection, bindparam, insert, select, update

from tetraodon.errors import LedgerError
from tetraodon.ledger.account import Entry, Reservation
from tetraodon.ledger.allotment import check_allotment
from tetraodon.ledger.amount import amount_text
from tetraodon.ledger.bill import Bill, check_affordable
from tetraodon.ledger.chain import append
from tetraodon.ledger.compose import Spent
from tetraodon.ledger.document import canonical_text, document_from_text
from tetraodon.ledger.population import check_wave, join, population_in
from tetraodon.ledger.rows import SAME_ENTRY, named_by, unknown
from tetraodon.ledger.running import note
from tetraodon.ledger.schema import entries
from tetraodon.ledger.standing import account_of

_ENTRY = insert(entries)
_STATE = select(entries.c.state).where(SAME_ENTRY).with_for_update()
_SETTLED = update(entries).where(SAME_ENTRY)
_SETTLED = _SETTLED.values(state="settled", settled_at=bindparam("at"), manifest_hash=bindparam("digest"))


@dataclass(frozen=True, slots=True)
class Fitting:
    """An entry that fits: what is spent of its account with it, what it adds to that, and what its owner has spent."""

    entry: Entry
    spent: Spent
    added: Fraction
    owned: Fraction


def fitting(
    connection: Connection, dataset: str, bill: Bill, when: str, *, lock: bool, upto: int | None = None
) -> Fitting:
    """The entry that a bill becomes, now or after an entry. Refused where account or owner's allotment do not cover it.

    Post  with `lock`, nobody can spend of either before the transaction ends.
    """
    new = bill.entry(dataset, when)
    account = account_of(connection, new.dataset, lock=lock, upto=upto)
    if account.dataset != new.dataset or population_in(new.document["policy"]):
        check_wave(connection, new.dataset, new.document["policy"])
    new = replace(new, dataset=account.dataset)
    spent = check_affordable(account, new, after=bill.after)
    added = spent.epsilon(account.delta, account.total) - account.charged
    return Fitting(new, spent, added, check_allotment(connection, account, new, spent, lock=lock))


def charge(connection: Connection, dataset: str, bill: Bill, when: str) -> tuple[Entry, str]:
    """Write the entry of a bill, if it fits; the entry, and its hash in the chain.

    Pre   nobody else can write before the transaction ends.
    """
    found = fitting(connection, dataset, bill, when, lock=True)
    new, document = found.entry, canonical_text(found.entry.document)
    if population_in(new.document["policy"]):
        join(connection, new.dataset, new.document["policy"], new.when)
    made = connection.execute(
        _ENTRY,
        {
            "dataset": new.dataset,
            "asked": amount_text(new.asked),
            "charged": amount_text(new.charged),
            "delta": amount_text(new.delta),
            "state": new.state,
            "reserved_at": new.when,
            "document": document,
        },
    )
    (key,) = made.inserted_primary_key or []
    note(connection, new.dataset, replace(found.spent, last=key), owner=new.owner, owned=found.owned)
    head = append(connection, "reserved", key)
    return replace(new, id=key, document=document_from_text(document)), head


def settle(connection: Connection, reservation: Reservation, digest: str, when: str) -> None:
    """Note that what a reservation pays for has been written. Pre: nobody else can write meanwhile."""
    same = named_by(reservation)
    state = connection.execute(_STATE, same).scalar_one_or_none()
    if state is None:
        raise unknown()
    if state != "reserved":
        raise LedgerError("this reservation is already settled", fix="make a reservation for each release")
    connection.execute(_SETTLED, {**same, "at": when, "digest": digest})
    append(connection, "settled", reservation.id)
