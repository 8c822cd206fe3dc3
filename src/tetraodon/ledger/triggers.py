"""Triggers that keep a ledger append-only, on SQLite and on Postgres.

They stand against mistakes of other programs; ours never try. They are no defence against malice: whoever may drop a
trigger may change what it guards, and that is what the chain (`chain.py`) shows.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import Connection, Table

from tetraodon.ledger.schema import accounts, chain, entries, keys, refusals

GUARDED = (accounts, entries, refusals, keys, chain)
_SETTLING = {"state", "settled_at", "manifest_hash"}
_WORDS = "a ledger is only ever added to"
_FUNCTION = "tetraodon_only_added"


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
    kept = " AND ".join(f"NEW.{c.name} {same} OLD.{c.name}" for c in entries.c if c.name not in _SETTLING)
    return f"NOT (OLD.state = 'reserved' AND NEW.state = 'settled' AND {kept})"
