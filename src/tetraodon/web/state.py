"""The server's tables, in the ledger's database: accounts, data sets, requests, and the audit trail.

They share a database so that one backup has everything, and the ledger's chain shows what a restored one lacks.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Float,
    Integer,
    MetaData,
    Row,
    Table,
    Text,
    UniqueConstraint,
    insert,
    inspect,
    select,
)
from sqlalchemy.schema import CreateColumn

from tetraodon.ledger.database import Database, ledger_address

PROPOSED, OPEN, STOPPED = "proposed", "open", "stopped"
"""The states of a data set."""

tables = MetaData()

people = Table(
    "server_people",
    tables,
    Column("name", Text, primary_key=True),
    Column("role", Text, nullable=False),
    Column("password", Text, nullable=False),  # argon2id; empty for OpenID accounts
    Column("disabled", Integer, nullable=False, server_default="0"),
)

# Only hashes of sessions and tokens are stored, so that reading the database gives no access.
sessions = Table(
    "server_sessions",
    tables,
    Column("hash", Text, primary_key=True),
    Column("person", Text, nullable=False, index=True),
    Column("expires", Float, nullable=False),
)

tokens = Table(
    "server_tokens",
    tables,
    Column("id", Text, primary_key=True),
    Column("hash", Text, nullable=False, unique=True),
    Column("person", Text, nullable=False, index=True),
    Column("label", Text, nullable=False),
    Column("scopes", Text, nullable=False),
    Column("expires", Float, nullable=False),
    Column("made_with", Text, nullable=False, server_default=""),  # the token, if it was made with one
)

# Names at a provider can be changed by their owners; what a provider vouches for is its own identifier of a person.
identities = Table(
    "server_identities",
    tables,
    Column("issuer", Text, primary_key=True),
    Column("subject", Text, primary_key=True),
    Column("person", Text, nullable=False, index=True),
)

datasets = Table(
    "server_datasets",
    tables,
    Column("name", Text, primary_key=True),
    Column("policy", Text, nullable=False),
    Column("total", Text, nullable=False),
    Column("delta", Text, nullable=False),
    Column("rows", BigInteger, nullable=False),  # as its curators declare it, never as it was counted
    Column("state", Text, nullable=False),
    Column("proposed_by", Text, nullable=False),
    Column("overruns", Integer, nullable=False, server_default="0"),
)

curators = Table(
    "server_curators",
    tables,
    Column("dataset", Text, primary_key=True),
    Column("person", Text, primary_key=True),
)

requests = Table(
    "server_requests",
    tables,
    Column("id", Text, primary_key=True),
    Column("dataset", Text, nullable=False, index=True),
    Column("person", Text, nullable=False, index=True),
    Column("key", Text, nullable=False),
    Column("asked", Text, nullable=False),  # a hash of the body, to know the same request again
    Column("policy", Text, nullable=False),
    Column("charge", Text, nullable=False),
    Column("purpose", Text, nullable=False),
    Column("made", Float, nullable=False),
    Column("slot", Integer, nullable=False),
    Column("state", Text, nullable=False, index=True),
    Column("decided_by", Text, nullable=False, server_default=""),
    Column("decided", Float),
    Column("leased", Float),
    Column("attempts", Integer, nullable=False, server_default="0"),
    Column("moved", Integer, nullable=False, server_default="0"),
    Column("finished", Float),
    Column("told", Text, nullable=False, server_default=""),  # an error document for the analyst
    Column("note", Text, nullable=False, server_default=""),  # what only a curator may see
    UniqueConstraint("person", "key"),
)

audit = Table(
    "server_audit",
    tables,
    Column("id", Integer, primary_key=True),
    Column("moment", Float, nullable=False),
    Column("person", Text, nullable=False),
    Column("what", Text, nullable=False),
    Column("dataset", Text, nullable=False, index=True),
    Column("subject", Text, nullable=False),
)


@dataclass(frozen=True, slots=True)
class AuditEvent:
    """An entry of the audit trail: who did what, to what."""

    id: int
    moment: float
    person: str
    what: str
    dataset: str
    subject: str


class State:
    """The server's tables. Every change is one serial transaction; `clock` gives seconds since 1970."""

    def __init__(self, ledger: str, clock: Callable[[], float] = time.time) -> None:
        self._database = Database(ledger_address(ledger))
        self.clock = clock
        with self._database.writing(make=True) as connection:
            if _lacking(connection):
                tables.create_all(connection)
                for column in _lacking(connection):
                    connection.exec_driver_sql(f"ALTER TABLE {column.table.name} ADD COLUMN {CreateColumn(column)}")
                guard(connection)

    def close(self) -> None:
        self._database.close()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        with self._database.reading() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        with self._database.writing() as connection:
            yield connection

    def look(self) -> None:
        """Raise where the database, or the server's own tables, cannot be read: one row, however much there is."""
        with self.reading() as connection:
            connection.execute(select(audit.c.id).limit(1)).one_or_none()

    def one(self, table: Table, *conditions: Any) -> Row[Any] | None:
        """The row of which the conditions hold, if there is one."""
        with self.reading() as connection:
            return connection.execute(select(table).where(*conditions)).one_or_none()

    def all(self, table: Table, *conditions: Any) -> list[Row[Any]]:
        """The rows of which the conditions hold, in the order of their keys."""
        with self.reading() as connection:
            query = select(table).where(*conditions).order_by(*table.primary_key)
            return list(connection.execute(query))

    def note(self, connection: Connection, person: str, what: str, dataset: str = "", subject: str = "") -> None:
        """Record an audit event, in the transaction of the deed."""
        made = {"moment": self.clock(), "person": person, "what": what, "dataset": dataset, "subject": subject}
        connection.execute(insert(audit).values(**made))

    def events(
        self, *, after: int = 0, most: int = 500, among: list[str] | None = None, newest: bool = False
    ) -> list[AuditEvent]:
        """The audit trail, oldest first, or `newest` first; with `among`, of these data sets only."""
        order = audit.c.id.desc() if newest else audit.c.id
        query = select(audit).where(audit.c.id > after).order_by(order).limit(most)
        if among is not None:
            query = query.where(audit.c.dataset.in_(among))
        with self.reading() as connection:
            return [AuditEvent(*row) for row in connection.execute(query)]


def _lacking(connection: Connection) -> list[Column[Any]]:
    """The columns that the database does not have yet: all of a new one, some of one that an older version made.

    Why  a process that may not change tables, such as one with a role for charges alone, must be able to start.
    """
    there = inspect(connection)
    names = set(there.get_table_names())
    found = {(name, one["name"]) for name in names & set(tables.tables) for one in there.get_columns(name)}
    return [column for table in tables.sorted_tables for column in table.c if (table.name, column.name) not in found]


def guard(connection: Connection) -> None:
    """Triggers that refuse to change or remove audit events."""
    name, words = audit.name, "what was done stays written"
    if connection.dialect.name == "sqlite":
        there = f"WHEN EXISTS (SELECT 1 FROM {name} WHERE id = NEW.id)"  # INSERT OR REPLACE asks no other trigger
        for action, when in (("UPDATE", ""), ("DELETE", ""), ("INSERT", there)):
            connection.exec_driver_sql(
                f"CREATE TRIGGER IF NOT EXISTS {name}_{action.lower()} BEFORE {action} ON {name} {when} "
                f"BEGIN SELECT RAISE(ABORT, '{words}'); END"
            )
        return
    connection.exec_driver_sql(
        f"CREATE OR REPLACE FUNCTION {name}_kept() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN RAISE EXCEPTION '{words}' USING ERRCODE = 'integrity_constraint_violation'; END $$"
    )
    connection.exec_driver_sql(
        f"CREATE OR REPLACE TRIGGER {name}_keep BEFORE UPDATE OR DELETE OR TRUNCATE ON {name} "
        f"FOR EACH STATEMENT EXECUTE FUNCTION {name}_kept()"
    )
