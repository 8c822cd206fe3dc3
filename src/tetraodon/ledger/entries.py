"""Entries of a ledger: rows as values, running sums, and the hash chain over them.

Rows are only ever added, as entries are. They follow from the entries, which the chain covers; an audit adds them up
anew, and says where the two differ.
"""

from __future__ import annotations

import hashlib
import secrets
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final, Literal, TypeAlias, get_args

from sqlalchemy import Column, Connection, Row, Table, and_, bindparam, func, insert, select

from tetraodon.errors import LedgerError
from tetraodon.exact.rational import decimal_text
from tetraodon.ledger.account import Correction, Entry, RecordedRefusal, ReleaseLoss, Reservation, Spent
from tetraodon.ledger.amount import amount_from_text, amount_text, canonical_text, damage, document_from_text
from tetraodon.ledger.schema import (
    accounts,
    allotments,
    chain,
    corrections,
    entries,
    holds,
    keys,
    refusals,
    running,
    waves,
)

# -- chain ------------------------------------------------------------------------------------------
# A chain of hashes over everything that a ledger records, so that a change of the past shows.
#
# Each record has the SHA-256 of the hash before it and of the row that was added: an account opened or corrected, a
# charge reserved or settled, a refusal, a key, a wave that joined a population, an allotment. Whoever knows one hash,
# from a release or a note, shows whether everything up to it is unchanged. It reveals nothing else: a
# random number goes into every hash, and stays in the ledger.

Kind: TypeAlias = Literal["opened", "reserved", "settled", "refused", "key", "joined", "corrected", "allotted"]
KINDS: tuple[Kind, ...] = get_args(Kind)
START: Final = "0" * 64
"""What comes before the first record."""

_SETTLED = ("settled_at", "manifest_hash")
_PARTS: dict[str, tuple[Table, tuple[str, ...]]] = {
    "opened": (accounts, tuple(c.name for c in accounts.c)),
    "reserved": (entries, tuple(c.name for c in entries.c if c.name not in ("state", *_SETTLED))),
    "settled": (entries, ("id", *_SETTLED)),
    "refused": (refusals, tuple(c.name for c in refusals.c)),
    "key": (keys, tuple(c.name for c in keys.c)),
    "joined": (waves, tuple(c.name for c in waves.c)),
    "corrected": (corrections, tuple(c.name for c in corrections.c)),
    "allotted": (allotments, tuple(c.name for c in allotments.c)),
}
"""What of which row a record covers; an entry has two, since it is settled later."""


@dataclass(frozen=True, slots=True)
class Link:
    """One record of the chain. `subject` is the data set, or the number of the entry, refusal or key."""

    number: int
    kind: str
    subject: str
    nonce: str
    hash: str


def table_of(kind: str) -> Table:
    """Where the rows of such records are."""
    return _PARTS[kind][0]


def key_of(kind: str) -> Column[Any]:
    """The column that `subject` is a value of."""
    return next(iter(table_of(kind).primary_key))


def chained(before: str, link: Link, row: Row[Any] | None) -> str:
    """The hash of a record, given the hash before it and the row that it covers; empty where there can be none."""
    if link.kind not in _PARTS or row is None:
        return ""
    content = {name: row._mapping[name] for name in _PARTS[link.kind][1]}
    record = {"number": link.number, "kind": link.kind, "subject": link.subject, "nonce": link.nonce, "row": content}
    try:
        text = canonical_text(record)
    except LedgerError:
        return ""
    return hashlib.sha256(f"{before}\n{text}".encode()).hexdigest()


_LAST = select(chain).order_by(chain.c.number.desc()).limit(1)
_ROWS = {kind: select(table_of(kind)).where(key_of(kind) == bindparam("subject")) for kind in KINDS}
_LINK = insert(chain)
_INSERT = {kind: insert(table_of(kind)) for kind in KINDS}


def record(connection: Connection, kind: Kind, /, **row: object) -> tuple[Any, str]:
    """Write a row and its record in the chain; the key of the row, and the hash of the record.

    Pre   this transaction is the only writer (`Database.writing`).
    """
    (key,) = connection.execute(_INSERT[kind], row).inserted_primary_key or []
    return key, append(connection, kind, key)


def append(connection: Connection, kind: Kind, subject: str | int) -> str:
    """Add a record of a row that was written in this transaction; its hash.

    Pre   this transaction is the only writer (`Database.writing`).
    """
    return extend(connection, [(kind, subject)])


def extend(connection: Connection, records: Iterable[tuple[Kind, str | int]]) -> str:
    """Add several records, in order; the last hash."""
    last = connection.execute(_LAST).one_or_none()
    number, head = (last.number, last.hash) if last is not None else (0, START)
    for kind, subject in records:
        number += 1
        link = Link(number, kind, str(subject), secrets.token_hex(32), "")
        row = connection.execute(_ROWS[kind], {"subject": subject}).one_or_none()
        head = chained(head, link, row)
        if not head:
            raise damage()
        made = {"number": number, "kind": kind, "subject": link.subject, "nonce": link.nonce, "hash": head}
        connection.execute(_LINK, made)
    return head


def links(connection: Connection) -> list[Link]:
    """Every record of the chain, in order."""
    rows = connection.execute(select(chain).order_by(chain.c.number))
    return [Link(row.number, row.kind, row.subject, row.nonce, row.hash) for row in rows]


def hash_of(connection: Connection, kind: Kind, subject: str | int) -> str:
    """The hash of the record of one row."""
    mine = select(chain.c.hash).where(chain.c.kind == kind, chain.c.subject == str(subject))
    found = connection.execute(mine).scalars().all()
    if len(found) != 1:
        raise LedgerError(
            "the ledger's chain does not know this record", fix="run `tetraodon ledger audit`, which says what is wrong"
        )
    return str(found[0])


# -- rows -------------------------------------------------------------------------------------------
# The rows of a ledger as values. Whatever Tetraodon would not have written is damage, and refused in words.

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

    Why  the hash covers everything that was recorded up to the charge, and tells nothing of it. The place in the
         chain is left out: it would tell how many refusals came before. Of the moment the day is stated, as in the rest
         of a manifest: a user of a server could read when a worker came to it, and how long the one before took.
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
    values = (reservation.id, reservation.dataset, amount_text(reservation.asked), amount_text(reservation.charged))
    return dict(zip(_NAMED, (*values, reservation.when), strict=True))


def unknown() -> LedgerError:
    """What is said of a reservation that this ledger never gave."""
    return LedgerError("the ledger does not know this reservation", fix="settle it in the ledger that gave it")


def refusal_in(row: Row[Any]) -> RecordedRefusal:
    """The refusal that a row holds."""
    return RecordedRefusal(text_in(row.dataset), text_in(row.kind), text_in(row.refused_at))


def text_in(value: object) -> str:
    """A value that is stored as text; SQLite would keep anything."""
    if not isinstance(value, str):
        raise damage("something")
    return value


# -- running ----------------------------------------------------------------------------------------

_SUMS = ("pure", "rho", "delta", "before")
_NEWEST = select(func.max(entries.c.id)).where(entries.c.dataset == bindparam("account")).scalar_subquery()
_KEPT = select(running).select_from(entries.outerjoin(running, running.c.entry == entries.c.id))
_NOTE = insert(running)
_LAST_SUM = _KEPT.where(entries.c.id == _NEWEST)
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
    row = connection.execute(_LAST_SUM if upto is None else _THEN, {"account": name} | then).one_or_none()
    if row is None:
        return Spent()
    if row.entry is None or row.dataset != name:
        raise damage()
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
    """Keep what is spent with the entry that `spent` ends with. Pre: this transaction is the only writer."""
    connection.execute(_NOTE, _row(name, spent, owner, owned))


def _row(name: str, spent: Spent, owner: str, owned: Fraction) -> dict[str, object]:
    amounts = {part: amount_text(getattr(spent, part)) for part in _SUMS}
    return {"entry": spent.last, "dataset": name, "owner": owner, **amounts, "owned": amount_text(owned)}


def fill(connection: Connection) -> None:
    """Keep what was spent with each entry of a ledger that had none of this, where no one had an allotment."""
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
