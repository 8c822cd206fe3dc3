"""The tables of a ledger, the triggers that keep them append-only, and the version of both."""

from __future__ import annotations

from sqlalchemy import (
    DDL,
    CheckConstraint,
    Column,
    Connection,
    ForeignKey,
    Integer,
    MetaData,
    Table,
    Text,
    event,
    insert,
    inspect,
    select,
)

from tetraodon.errors import LedgerError

VERSION = 1
FORMAT = "tetraodon-ledger"

tables = MetaData()

meta = Table(
    "meta",
    tables,
    Column("key", Text, primary_key=True),
    Column("value", Text, nullable=False),
)

# `delta` is a second amount beside epsilon: above zero, `charged` is the epsilon of a loss in zCDP at that delta.
accounts = Table(
    "accounts",
    tables,
    Column("dataset", Text, primary_key=True),
    Column("total", Text, nullable=False),
    Column("delta", Text, nullable=False, server_default="0"),
    Column("policy", Text, nullable=False),
    Column("policy_hash", Text, nullable=False),
    Column("opened", Text, nullable=False),
)

entries = Table(
    "entries",
    tables,
    Column("id", Integer, primary_key=True),
    Column("dataset", ForeignKey("accounts.dataset"), nullable=False, index=True),
    Column("asked", Text, nullable=False),
    Column("charged", Text, nullable=False),
    Column("delta", Text, nullable=False, server_default="0"),
    Column("state", Text, CheckConstraint("state IN ('reserved', 'settled')"), nullable=False),
    Column("reserved_at", Text, nullable=False),
    Column("settled_at", Text, nullable=False, server_default=""),
    Column("manifest_hash", Text, nullable=False, server_default=""),
    Column("document", Text, nullable=False),
)

refusals = Table(
    "refusals",
    tables,
    Column("id", Integer, primary_key=True),
    Column("dataset", ForeignKey("accounts.dataset"), nullable=False, index=True),
    Column("kind", Text, nullable=False),
    Column("refused_at", Text, nullable=False),
)

_SETTLING = {"state", "settled_at", "manifest_hash"}


def _forbid(table: Table, name: str, action: str, when: str = "1") -> None:
    """A trigger against mistakes of other programs; ours never try. Not a defence against malice."""
    trigger = DDL(  # type: ignore[no-untyped-call]  # until SQLAlchemy annotates it
        f"CREATE TRIGGER {table.name}_{name} BEFORE {action} ON {table.name} WHEN {when} "
        f"BEGIN SELECT RAISE(ABORT, 'a ledger is only ever added to'); END"
    )
    event.listen(table, "after_create", trigger.execute_if(dialect="sqlite"))


for _table in (accounts, entries, refusals):
    _key = next(iter(_table.primary_key)).name
    _forbid(_table, "keep", "DELETE")
    # INSERT OR REPLACE deletes without asking the trigger above.
    _forbid(
        _table,
        "replace",
        "INSERT",
        f"EXISTS (SELECT 1 FROM {_table.name} WHERE {_key} = NEW.{_key})",
    )
_forbid(accounts, "fix", "UPDATE")
_forbid(refusals, "fix", "UPDATE")
_forbid(
    entries,
    "fix",
    "UPDATE",
    "NOT (OLD.state = 'reserved' AND NEW.state = 'settled' AND "
    + " AND ".join(f"NEW.{c.name} IS OLD.{c.name}" for c in entries.c if c.name not in _SETTLING)
    + ")",
)


def create_if_empty(connection: Connection) -> None:
    """Make the tables in a database that has none; leave any other alone."""
    if not inspect(connection).get_table_names():
        tables.create_all(connection, checkfirst=False)
        rows = [{"key": "format", "value": FORMAT}, {"key": "version", "value": str(VERSION)}]
        connection.execute(insert(meta), rows)


def check_version(connection: Connection) -> None:
    """Refuse a database that is not a ledger, or a ledger that we are too old to understand.

    Why  it is called in every transaction: a newer Tetraodon may have been here since the last one.
    """
    found = inspect(connection).get_table_names()
    if not found:
        raise LedgerError(
            "there is no ledger here yet",
            fix="run `tetraodon ledger open POLICY` first, or correct the path of the ledger",
        )
    kept: dict[str, str] = {}
    if meta.name in found and {c.name for c in meta.c} <= _columns(connection):
        rows = connection.execute(select(meta.c.key, meta.c.value))
        kept = {str(row.key): str(row.value) for row in rows}
    if kept.get("format") != FORMAT:
        raise LedgerError(
            "this database belongs to something else",
            fix="name the ledger's own file, or a new one",
        )
    version = kept.get("version", "")
    if version.isdecimal() and int(version) > VERSION:
        raise LedgerError("this ledger was written by a newer version of Tetraodon", fix="upgrade tetraodon")
    if version != str(VERSION):
        raise LedgerError("the ledger is damaged", fix="restore the ledger from a backup")


def _columns(connection: Connection) -> set[str]:
    return {column["name"] for column in inspect(connection).get_columns(meta.name)}
