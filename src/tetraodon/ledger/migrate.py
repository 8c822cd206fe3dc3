"""Making a ledger's tables, and bringing those of an older version up to date, in place."""

from __future__ import annotations

from sqlalchemy import Connection, insert, inspect, select, update

from tetraodon.errors import LedgerError
from tetraodon.ledger.chain import Kind, extend
from tetraodon.ledger.running import fill
from tetraodon.ledger.schema import (
    FORMAT,
    LACKING,
    VERSION,
    accounts,
    chain,
    check_version,
    entries,
    guard,
    meta,
    refusals,
    running,
    tables,
)


def create_if_empty(connection: Connection) -> None:
    """Make the tables in a database that has none; leave any other alone."""
    if not inspect(connection).get_table_names():
        tables.create_all(connection, checkfirst=False)
        rows = [{"key": "format", "value": FORMAT}, {"key": "version", "value": str(VERSION)}]
        connection.execute(insert(meta), rows)
        guard(connection)


def migrate(connection: Connection, version: int) -> None:
    """Give a ledger of an older version the tables that it lacks, with their guards. One of this version is left alone.

    Pre   nobody else can write before this transaction ends, so that two who open it at once do it once.
    Post  everything that was recorded is in the chain, in the order of its time, and what was spent is kept by entry.
    """
    if version == VERSION:
        return
    lacking = LACKING[version]
    if set(inspect(connection).get_table_names()) & {table.name for table in lacking}:
        raise LedgerError("the ledger is damaged", fix="restore the ledger from a backup")
    tables.create_all(connection, tables=list(lacking), checkfirst=False)
    if chain in lacking:
        extend(connection, _past(connection))
    if running in lacking:
        fill(connection)
    guard(connection)
    connection.execute(update(meta).where(meta.c.key == "version").values(value=str(VERSION)))
    check_version(connection)


def _past(connection: Connection) -> list[tuple[Kind, str | int]]:
    found: list[tuple[str, int, Kind, str | int]] = []
    for opened in connection.execute(select(accounts.c.dataset, accounts.c.opened)):
        found.append((str(opened.opened), 0, "opened", opened.dataset))
    for row in connection.execute(select(entries.c.id, entries.c.reserved_at, entries.c.settled_at, entries.c.state)):
        found.append((str(row.reserved_at), 1, "reserved", row.id))
        if row.state == "settled":
            found.append((str(row.settled_at), 2, "settled", row.id))
    for refused in connection.execute(select(refusals.c.id, refusals.c.refused_at)):
        found.append((str(refused.refused_at), 3, "refused", refused.id))
    return [(kind, subject) for _, _, kind, subject in sorted(found, key=lambda one: (*one[:2], str(one[3])))]
