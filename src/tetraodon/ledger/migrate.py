"""Creating and migrating the tables of a ledger, and roles that may charge it."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import Connection, insert, inspect, select, text, update

from tetraodon.errors import LedgerError
from tetraodon.ledger.amount import damage
from tetraodon.ledger.entries import Kind, extend, fill
from tetraodon.ledger.schema import (
    CHARGED,
    FORMAT,
    LACKING,
    SETTLING,
    VERSION,
    accounts,
    allotments,
    chain,
    check_version,
    entries,
    guard,
    meta,
    refusals,
    running,
    tables,
)

# -- migrate ----------------------------------------------------------------------------------------


def create_if_empty(connection: Connection) -> None:
    """Make the tables in a database that has none; leave any other alone."""
    if not inspect(connection).get_table_names():
        tables.create_all(connection, checkfirst=False)
        rows = [{"key": "format", "value": FORMAT}, {"key": "version", "value": str(VERSION)}]
        connection.execute(insert(meta), rows)
        guard(connection)


def migrate(connection: Connection, version: int) -> None:
    """Give a ledger of an older version the tables that it lacks, with their guards. One of this version is left alone.

    Pre   this transaction is the only writer, so that two who open it at once do it once.
    Post  everything that was recorded is in the chain, in the order of its time, and what was spent is kept by entry.
    """
    if version == VERSION:
        return
    lacking = LACKING[version]
    if set(inspect(connection).get_table_names()) & {table.name for table in lacking}:
        raise damage()
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


# -- grant ------------------------------------------------------------------------------------------
# Roles of a Postgres server that may charge a ledger, and do nothing else to it.

_CHANGED = {entries.name: SETTLING, accounts.name: {"opened"}, allotments.name: {"allotted_at"}}
_NUMBERED = [table for table in tables.sorted_tables if "id" in table.c]
_OWNER = "SELECT pg_has_role(:role, tableowner, 'MEMBER') FROM pg_tables WHERE tablename = :table"


def grant(connection: Connection, role: str) -> None:
    """Let a role of a Postgres server charge the ledger here: read it, add charges and refusals, settle charges.

    Post it opens, corrects and allots nothing, and adds no key: a row added there could raise a total. What it was
         granted before is taken away; refused where it has more still, from elsewhere, and nothing is changed.
    Why  only a role that may change some column of a row can lock it; of accounts and allotments none can be changed,
         by any role, because the triggers refuse, and the role owns neither these nor the tables.
    """
    if connection.dialect.name == "sqlite":
        raise LedgerError("a file has no roles", fix="keep the ledger on a Postgres server")
    to = connection.dialect.identifier_preparer.quote(role)
    every = ", ".join(table.name for table in tables.sorted_tables)
    numbers = ", ".join(f"{table.name}_id_seq" for table in _NUMBERED)
    for statement in (
        f"REVOKE ALL ON {every} FROM {to}",  # that of columns goes with it
        f"REVOKE ALL ON SEQUENCE {numbers} FROM {to}",
        f"GRANT SELECT ON {every} TO {to}",
        f"GRANT INSERT ON {', '.join(table.name for table in CHARGED)} TO {to}",
        *(f"GRANT UPDATE ({', '.join(sorted(names))}) ON {table} TO {to}" for table, names in _CHANGED.items()),
        *(f"GRANT USAGE ON SEQUENCE {table.name}_id_seq TO {to}" for table in (entries, refusals)),
    ):
        connection.exec_driver_sql(statement)
    more = next(_more(connection, role), "")
    if more:
        raise LedgerError(
            f"the role {role!r} may do more than charge, whatever is granted here: it may {more}",
            fix="use a role of its own: no owner, no superuser, and in no group that may; and grant nothing to PUBLIC",
        )


def _more(connection: Connection, role: str) -> Iterator[str]:
    """What a role may do that was not granted here: as owner, superuser or member, or because everybody may."""

    def may(question: str, **values: str) -> bool:
        return bool(connection.execute(text(question), {"role": role, **values}).scalar())

    for table in tables.sorted_tables:
        if may(_OWNER, table=table.name):
            yield f"act as the owner of {table.name}"
        for deed in ("DELETE", "TRUNCATE", "TRIGGER"):
            if may("SELECT has_table_privilege(:role, :table, :deed)", table=table.name, deed=deed):
                yield f"{deed} {table.name}"
        for column in table.c:
            named = {"table": table.name, "column": column.name}
            for deed, given in (("INSERT", table in CHARGED), ("UPDATE", column.name in _CHANGED.get(table.name, ()))):
                asked = "SELECT has_column_privilege(:role, :table, :column, :deed)"
                if not given and may(asked, **named, deed=deed):
                    yield f"{deed} {table.name}.{column.name}"
