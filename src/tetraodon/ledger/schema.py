"""The tables of a ledger, the version of them, and the triggers that keep them append-only.

The triggers guard against mistakes of other programs; ours never try. They are no defence against malice: a role that
may drop a trigger may change what it guards, and that is what the chain (`entries.py`) shows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlalchemy import (
    CheckConstraint,
    Column,
    Connection,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    inspect,
    select,
)

from tetraodon.errors import LedgerError
from tetraodon.ledger.account import no_ledger
from tetraodon.ledger.amount import damage

VERSION = 4
OLDEST = 1
FORMAT = "tetraodon-ledger"

tables = MetaData()


def _texts(*names: str) -> Iterator[Column[str]]:
    """Columns of text that are never missing."""
    return (Column(name, Text, nullable=False) for name in names)


def _number() -> Column[int]:
    """The column that numbers the rows of a table."""
    return Column("id", Integer, primary_key=True)


def _account(name: str = "dataset", *, index: bool = True) -> Column[Any]:
    """The column that names the account of a row."""
    return Column(name, ForeignKey("accounts.dataset"), nullable=False, index=index)


def _empty(name: str, value: str = "") -> Column[str]:
    """A column of text with a default."""
    return Column(name, Text, nullable=False, server_default=value)


meta = Table("meta", tables, Column("key", Text, primary_key=True), *_texts("value"))

# `delta` is a second amount besides epsilon: above zero, `charged` is the epsilon of a loss in zCDP at that delta.
accounts = Table(
    "accounts",
    tables,
    Column("dataset", Text, primary_key=True),
    *_texts("total"),
    _empty("delta", "0"),
    *_texts("policy", "policy_hash", "opened"),
)

entries = Table(
    "entries",
    tables,
    _number(),
    _account(),
    *_texts("asked", "charged"),
    _empty("delta", "0"),
    Column("state", Text, CheckConstraint("state IN ('reserved', 'settled')"), nullable=False),
    *_texts("reserved_at"),
    _empty("settled_at"),
    _empty("manifest_hash"),
    *_texts("document"),
)

refusals = Table("refusals", tables, _number(), _account(), *_texts("kind", "refused_at"))

# Since version 2: the public halves of the keys that sign what is written, and the chain over everything recorded.
keys = Table("keys", tables, _number(), *_texts("public_key", "made"))

chain = Table(
    "chain",
    tables,
    Column("number", Integer, primary_key=True, autoincrement=False),
    *_texts("kind", "subject", "nonce"),
    Column("hash", Text, nullable=False, unique=True),
)

# Since version 3: data sets about people who have an account together, and totals that were mistyped.
waves = Table("waves", tables, Column("dataset", Text, primary_key=True), _account("population"), *_texts("joined_at"))

corrections = Table("corrections", tables, _number(), _account(), *_texts("total", "delta", "corrected_at"))

# Since version 4: parts of a total that are allotted to an owner, and what was spent up to and with each entry.
allotments = Table(
    "allotments",
    tables,
    _number(),
    _account(index=False),
    *_texts("owner", "amount", "expires", "allotted_at"),
    Index("allotments_by_owner", "dataset", "owner"),
)

running = Table(
    "running",
    tables,
    Column("entry", ForeignKey("entries.id"), primary_key=True),
    _account(index=False),
    *_texts("owner", "pure", "rho", "delta", "before", "owned"),
    Index("running_by_dataset", "dataset", "entry"),
    Index("running_by_owner", "dataset", "owner", "entry"),
)

_FOURTH = (allotments, running)
LACKING = {1: (keys, chain, waves, corrections, *_FOURTH), 2: (waves, corrections, *_FOURTH), 3: _FOURTH}
"""What a ledger of each older version lacks."""

GUARDED = (accounts, entries, refusals, keys, chain, waves, corrections, *_FOURTH)
CHARGED = (entries, running, refusals, waves, chain)
"""What a charge adds rows to."""
SETTLING = {"state", "settled_at", "manifest_hash"}
_READ = "tetraodon_version"
_WORDS = "a ledger is only ever added to"
_FUNCTION = "tetraodon_only_added"


def found_version(connection: Connection, *, seen: bool = False) -> int | None:
    """The version of the ledger here, None where there is nothing at all. Where one was `seen` before, its tables are
    not looked for again, which takes a server longer than a charge.

    Raises LedgerError where this is the database of something else, or of a Tetraodon that we are too old for.
    """
    there = seen or {c.name for c in meta.c} <= _columns(connection)
    if not there and not inspect(connection).get_table_names():
        return None
    kept: dict[str, str] = {}
    if there:
        rows = connection.execute(select(meta.c.key, meta.c.value))
        kept = {str(row.key): str(row.value) for row in rows}
    if kept.get("format") != FORMAT:
        raise LedgerError(
            "this database belongs to something else",
            fix="name the ledger's own file, or a new one",
        )
    version = kept.get("version", "")
    if version.isdecimal() and version.isascii() and len(version) < 10:
        if int(version) > VERSION:
            raise LedgerError("this ledger was written by a newer version of Tetraodon", fix="upgrade tetraodon")
        if version == str(int(version)) and int(version) >= OLDEST:
            return int(version)
    raise damage()


def check_version(connection: Connection, *, seen: bool = False) -> int:
    """The version of the ledger. Refuse a database that is not a ledger, or a ledger that we are too old to understand.

    Why  it is called in every transaction: a newer Tetraodon may have been here since the last one.
    """
    version = found_version(connection, seen=seen)
    if version is None:
        raise no_ledger()
    connection.info[_READ] = version
    return version


def holds(connection: Connection, table: Table) -> bool:
    """Whether a ledger of the version found here has a table: one that is only read is not brought up to date."""
    return table not in LACKING.get(connection.info[_READ], ())


def _columns(connection: Connection) -> set[str]:
    """The columns of the table that tells the version; none where it is not there. A file is asked in its own words,
    since that is done in every transaction.
    """
    if connection.dialect.name == "sqlite":
        rows = connection.exec_driver_sql(f"PRAGMA main.table_info({meta.name})")
        return {str(name) for name in rows.scalars("name")}
    looked = inspect(connection)
    return {c["name"] for c in looked.get_columns(meta.name)} if looked.has_table(meta.name) else set()


def guard(connection: Connection) -> None:
    """Put the triggers in place, whichever of them are there already."""
    made = _sqlite() if connection.dialect.name == "sqlite" else _postgres()
    for statement in made:
        connection.exec_driver_sql(statement)


def _sqlite() -> Iterator[str]:
    for table in GUARDED:
        key = next(iter(table.primary_key)).name
        # INSERT OR REPLACE deletes without asking the trigger on DELETE.
        again = f"EXISTS (SELECT 1 FROM {table.name} WHERE {key} = NEW.{key})"
        for name, action, when in (
            ("keep", "DELETE", "1"),
            ("replace", "INSERT", again),
            ("fix", "UPDATE", _changed(table, "IS")),
        ):
            yield (
                f"CREATE TRIGGER IF NOT EXISTS {table.name}_{name} BEFORE {action} ON {table.name} WHEN {when} "
                f"BEGIN SELECT RAISE(ABORT, '{_WORDS}'); END"
            )


def _postgres() -> Iterator[str]:
    yield (
        f"CREATE OR REPLACE FUNCTION {_FUNCTION}() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN RAISE EXCEPTION '{_WORDS}' USING ERRCODE = 'integrity_constraint_violation'; END $$"
    )
    for table in GUARDED:
        for name, action, each in (
            ("keep", "DELETE", "ROW"),
            ("fix", "UPDATE", f"ROW WHEN ({_changed(table, 'IS NOT DISTINCT FROM')})"),
            ("empty", "TRUNCATE", "STATEMENT"),
        ):
            yield f"DROP TRIGGER IF EXISTS {table.name}_{name} ON {table.name}"
            yield (
                f"CREATE TRIGGER {table.name}_{name} BEFORE {action} ON {table.name} "
                f"FOR EACH {each} EXECUTE FUNCTION {_FUNCTION}()"
            )


def _changed(table: Table, same: str) -> str:
    """When an UPDATE is refused: always, but for an entry that is settled and otherwise stays as it is."""
    if table is not entries:
        return "1 = 1"
    kept = " AND ".join(f"NEW.{c.name} {same} OLD.{c.name}" for c in entries.c if c.name not in SETTLING)
    return f"NOT (OLD.state = 'reserved' AND NEW.state = 'settled' AND {kept})"
