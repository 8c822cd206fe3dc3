"""Whether a ledger is still what it was: its chain computed anew, and compared with what it holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, Row, select

from tetraodon.ledger.entries import KINDS, START, Link, chained, key_of, links, misfits, table_of
from tetraodon.ledger.schema import entries

_NAMES = {
    "opened": "data set",
    "reserved": "entry",
    "settled": "entry",
    "refused": "refusal",
    "key": "key",
    "joined": "wave",
    "corrected": "correction",
    "allotted": "allotment",
}


@dataclass(frozen=True, slots=True)
class Audit:
    """What the chain says.

    Attributes
    ----------
    records:  how many it has.
    head:     its last hash. Whoever notes it elsewhere can tell later whether anything up to here was changed.
    problems: what does not fit, in words; empty if the ledger is what its chain says.
    hashes:   every hash, in order.
    charges:  the hash of every charge, by the number of its entry.
    """

    records: int
    head: str
    problems: tuple[str, ...]
    hashes: tuple[str, ...] = field(repr=False)
    charges: Mapping[int, str] = field(repr=False, hash=False)

    @property
    def holds(self) -> bool:
        """Whether nothing was changed, added or taken away by anything but a ledger's own commands."""
        return not self.problems

    def compared(self, noted: str) -> str:
        """What is wrong if a hash that was noted earlier is not in the chain; empty if it is."""
        if noted.strip().lower() in (START, *self.hashes):
            return ""
        return (
            f"the hash {noted.strip()[:64]} is not in the chain: the ledger is older than that note, its past was "
            "rewritten, or it is another ledger"
        )


def audited(connection: Connection) -> Audit:
    """Compute the chain anew from the rows, and see that every row is in it.

    Why  each record is compared with the hash before it, so that one change is one problem. Whoever may
         write the file can compute all later hashes again; then the last one differs, which a noted hash shows.
    """
    found = links(connection)
    rows: dict[str, dict[str, Row[Any]]] = {kind: _rows(connection, kind) for kind in KINDS}
    problems = [*_broken(found, rows), *_unknown(found, rows), *_late(found, rows), *misfits(connection)]
    reserved = (link for link in found if link.kind == "reserved")
    charges = {int(one.subject): one.hash for one in reserved if one.subject.isascii() and one.subject.isdecimal()}
    hashes = tuple(str(link.hash) for link in found)
    return Audit(len(found), hashes[-1] if hashes else START, tuple(problems), hashes, charges)


def _rows(connection: Connection, kind: str) -> dict[str, Row[Any]]:
    query = select(table_of(kind))
    if kind == "settled":
        query = query.where(entries.c.state == "settled")
    return {str(row._mapping[key_of(kind).name]): row for row in connection.execute(query)}


def _broken(found: list[Link], rows: Mapping[str, Mapping[str, Row[Any]]]) -> Iterator[str]:
    before, seen = START, set[tuple[str, str]]()
    for place, link in enumerate(found, 1):
        what = f"record {link.number} of the chain ({link.kind}: {_NAMES.get(link.kind, 'thing')} {link.subject})"
        row = rows.get(link.kind, {}).get(link.subject)
        if link.number != place:
            yield f"{what} should have the number {place}: records before it were deleted or added"
            return
        if (link.kind, link.subject) in seen:
            yield f"{what} is there twice"
        elif row is None:
            yield f"{what} covers something that the ledger does not hold: it was deleted"
        elif chained(before, link, row) != link.hash:
            yield f"{what} does not fit what the ledger holds: one of the two was changed"
        seen.add((link.kind, link.subject))
        before = link.hash


def _unknown(found: list[Link], rows: Mapping[str, Mapping[str, Row[Any]]]) -> Iterator[str]:
    known = {(link.kind, link.subject) for link in found}
    for kind, those in rows.items():
        for subject in those:
            if (kind, subject) not in known:
                yield f"{_NAMES[kind]} {subject} ({kind}) is not in the chain: a record was deleted, or a row was added"


def _late(found: list[Link], rows: Mapping[str, Mapping[str, Row[Any]]]) -> Iterator[str]:
    """Totals that were corrected after something was charged: no command does that."""
    charged = set[str]()
    for link in found:
        row = rows.get(link.kind, {}).get(link.subject)
        if row is not None and link.kind == "reserved":
            charged.add(row.dataset)
        elif row is not None and link.kind == "corrected" and row.dataset in charged:
            yield f"correction {link.subject} came after a charge: a total was changed that stood"
