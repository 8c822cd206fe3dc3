"""A chain of hashes over everything that a ledger records, so that a change of the past shows.

Each record has the SHA-256 of the hash before it and of the row that was added: an account opened or corrected, a
charge reserved or settled, a refusal, a key, a wave that joined a population, an allotment. Whoever knows one hash,
from a release or a note, can tell whether everything up to it is still as it was. Nobody learns more from it: a random
number goes into every hash, and stays in the ledger.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, get_args

from sqlalchemy import Column, Connection, Row, Table, bindparam, insert, select

from tetraodon.errors import LedgerError
from tetraodon.ledger.document import canonical_text
from tetraodon.ledger.schema import accounts, allotments, chain, corrections, entries, keys, refusals, waves

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


def append(connection: Connection, kind: Kind, subject: str | int) -> str:
    """Add a record of a row that was written in this transaction; its hash.

    Pre   nobody else can write before this transaction ends (`Database.writing`).
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
            raise LedgerError("the ledger is damaged", fix="restore the ledger from a backup")
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
