"""What was spent up to and with each entry: one row for one entry, so that no charge adds all earlier ones up again.

Rows are only ever added, as entries are. They follow from the entries, which the chain covers; an audit adds them up
anew, and says where the two differ.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from sqlalchemy import Connection, Row, bindparam, func, insert, select

from tetraodon.errors import LedgerError
from tetraodon.ledger.amount import amount_from_text, amount_text
from tetraodon.ledger.compose import ReleaseLoss, Spent
from tetraodon.ledger.document import document_from_text
from tetraodon.ledger.rows import entry_in, terms_in
from tetraodon.ledger.schema import accounts, entries, holds, running

_SUMS = ("pure", "rho", "delta", "before")
_NEWEST = select(func.max(entries.c.id)).where(entries.c.dataset == bindparam("account")).scalar_subquery()
_KEPT = select(running).select_from(entries.outerjoin(running, running.c.entry == entries.c.id))
_NOTE = insert(running)
_LAST = _KEPT.where(entries.c.id == _NEWEST)
"""What was spent with the last entry of an account; built once, since nearly every transaction asks it."""
_EARLIER = select(func.max(entries.c.id)).where(
    entries.c.dataset == bindparam("account"), entries.c.id <= bindparam("upto")
)
_THEN = _KEPT.where(entries.c.id == _EARLIER.scalar_subquery())


def spent_of(connection: Connection, name: str, upto: int | None = None) -> Spent:
    """What is spent of an account, now or up to an entry.

    Raises LedgerError where the last entry has no row: something else wrote it, and what is spent is not known.
    """
    if not holds(connection, running):
        return deque(_sums(connection, name), 1).pop() if name in _names(connection) else Spent()
    then = {} if upto is None else {"upto": upto}
    row = connection.execute(_LAST if upto is None else _THEN, {"account": name} | then).one_or_none()
    if row is None:
        return Spent()
    if row.entry is None or row.dataset != name:
        raise LedgerError("the ledger is damaged", fix="restore the ledger from a backup")
    return Spent(**{part: amount_from_text(row._mapping[part]) for part in _SUMS}, last=row.entry)


def owned_by(connection: Connection, name: str, owner: str) -> Fraction:
    """What the releases of one owner have added to what is spent of an account."""
    mine = select(running.c.owned).where(running.c.dataset == name, running.c.owner == owner)
    found = connection.execute(mine.order_by(running.c.entry.desc()).limit(1)).scalar_one_or_none()
    return Fraction(0) if found is None else amount_from_text(found)


def newest_of(
    connection: Connection, name: str, owner: str, *, upto: int, many: int
) -> list[tuple[int, str, Fraction]]:
    """The newest charges of an owner up to an entry: number, folder of the release, what each added."""
    mine = select(running.c.entry, running.c.owned, entries.c.document).join(entries, entries.c.id == running.c.entry)
    mine = mine.where(running.c.dataset == name, running.c.owner == owner, running.c.entry <= upto)
    rows = connection.execute(mine.order_by(running.c.entry.desc()).limit(many + 1)).all()
    owned = [amount_from_text(row.owned) for row in rows] + [Fraction(0)]
    return [
        (row.entry, str(document_from_text(row.document).get("gate", {}).get("folder", "")), with_it - before)
        for row, with_it, before in zip(rows[:many], owned, owned[1:], strict=False)
    ]


def note(connection: Connection, name: str, spent: Spent, *, owner: str, owned: Fraction) -> None:
    """Keep what is spent with the entry that `spent` ends with. Pre: nobody else can write."""
    connection.execute(_NOTE, _row(name, spent, owner, owned))


def _row(name: str, spent: Spent, owner: str, owned: Fraction) -> dict[str, object]:
    amounts = {part: amount_text(getattr(spent, part)) for part in _SUMS}
    return {"entry": spent.last, "dataset": name, "owner": owner, **amounts, "owned": amount_text(owned)}


def fill(connection: Connection) -> None:
    """Keep what was spent with each entry of a ledger that had none of this, where nobody had an allotment."""
    for name in _names(connection):
        for spent in _sums(connection, name):
            note(connection, name, spent, owner="", owned=Fraction(0))


def misfits(connection: Connection) -> Iterator[str]:
    """What is kept and does not follow from the entries, in words; and the entries for which nothing is kept."""
    kept = {row.entry: row for row in connection.execute(select(running))}
    try:
        for name in _names(connection):
            yield from _misfits_of(connection, name, kept)
    except LedgerError:
        yield "what was spent cannot be added up: something was changed"
    yield from (f"what was spent is kept for entry {number}, which is not there" for number in kept)


def _misfits_of(connection: Connection, name: str, kept: dict[int, Row[Any]]) -> Iterator[str]:
    account = connection.execute(select(accounts).where(accounts.c.dataset == name)).one()
    mine = select(entries.c.id, entries.c.document).where(entries.c.dataset == name)
    documents = {row.id: row.document for row in connection.execute(mine)}
    total, delta = terms_in(connection, account)
    before, owned = Fraction(0), dict[str, Fraction]()
    for spent in _sums(connection, name):
        after, owner = spent.epsilon(delta, total), str(document_from_text(documents[spent.last]).get("owner", ""))
        owned[owner] = owned.get(owner, Fraction(0)) + (after - before if owner else 0)
        before, found = after, kept.pop(spent.last, None)
        if found is None or dict(found._mapping) != _row(name, spent, owner, owned[owner]):
            yield f"what was spent up to entry {spent.last} is not the sum of its charges: one of them was changed"


def _names(connection: Connection) -> Sequence[str]:
    return connection.execute(select(entries.c.dataset).distinct()).scalars().all()


def _sums(connection: Connection, name: str) -> Iterator[Spent]:
    """What was spent up to and with each entry, in order."""
    spent = Spent()
    for number, loss in _losses(connection, name):
        spent = spent.plus(loss, number)
        yield spent


def _losses(connection: Connection, name: str) -> list[tuple[int, ReleaseLoss]]:
    """What every release of a data set lost, in order; documents are read only where noise was Gaussian."""
    mine = entries.c.dataset == name
    pure = select(entries.c.id, entries.c.charged).where(mine, entries.c.delta == "0")
    mixed = select(entries).where(mine, entries.c.delta != "0")
    found = {row.id: ReleaseLoss(amount_from_text(row.charged)) for row in connection.execute(pure)}
    found |= {row.id: entry_in(row).loss for row in connection.execute(mixed)}
    return sorted(found.items(), key=lambda one: one[0])
