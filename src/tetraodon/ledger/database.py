"""The database of a ledger: durable commits, serialised writers, and its address.

SQLite keeps a rollback journal (DELETE), not a write-ahead log. The whole ledger is then one file: a copy
of it between two commands holds every charge, while a copy that forgot the log would lose the newest
ones and so let them be spent twice. A log also needs memory shared between processes, which network
folders do not have. The price is that readers wait for a writer, for milliseconds.

`synchronous=EXTRA` is FULL and, in this journal mode, also syncs the folder after the journal is deleted.
With FULL alone a power cut just after the commit may bring the journal back, and undo the charge.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Final
from weakref import finalize

from sqlalchemy import URL, Connection, Engine, NullPool, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError

from tetraodon.database_url import may_hold_password, server_name
from tetraodon.errors import LedgerError
from tetraodon.ledger.account import no_ledger
from tetraodon.ledger.amount import damage
from tetraodon.ledger.migrate import create_if_empty, migrate
from tetraodon.ledger.schema import check_version

# -- address ----------------------------------------------------------------------------------------
# Where a ledger lives, and how to speak of it without giving a password away.

_FIX = "give the path of a file, sqlite:///FILE or postgresql://USER@HOST/NAME"
_SQLITE = ("sqlite", "sqlite+pysqlite")


@dataclass(frozen=True, slots=True)
class Address:
    """A ledger's place.

    Attributes
    ----------
    name: for messages; a file as its user wrote it, or host and database of a server.
    url:  for SQLAlchemy; may hold a password.
    path: the absolute path of a SQLite file; empty for a server.
    """

    name: str
    url: URL
    path: str


def ledger_address(given: str | os.PathLike[str]) -> Address:
    """The address meant by a path or a URL.

    >>> ledger_address("sqlite:///budget.db").name, ledger_address("budget.db").name
    ('budget.db', 'budget.db')
    >>> ledger_address("postgresql://ann:secret@db.example/budget").name
    'postgresql://db.example/budget'
    """
    if not isinstance(given, str) or "://" not in given:
        if isinstance(given, str) and may_hold_password(given) and not os.path.exists(given):
            raise LedgerError("the address of the ledger cannot be read", fix=_FIX)
        return _file(os.fspath(given))
    try:
        url = make_url(given)
    except (ArgumentError, ValueError):
        raise LedgerError("the address of the ledger cannot be read", fix=_FIX) from None
    if url.drivername in _SQLITE:
        # Parameters could switch SQLite's locks off, and with them the promise of one total.
        if url.query or url.host or url.username or url.password:
            raise LedgerError("a SQLite ledger takes a path and no parameters", fix=_FIX)
        return _file(url.database or "")
    if url.get_backend_name() == "postgresql":
        return Address(server_name(given), url, "")
    raise LedgerError("a ledger cannot live in this kind of database", fix=_FIX)


def _file(given: str) -> Address:
    if given in ("", ":memory:"):
        raise LedgerError("a ledger in memory would forget what was spent", fix=_FIX)
    path = os.path.abspath(given)
    return Address(given, URL.create("sqlite", database=path), path)


# -- database ---------------------------------------------------------------------------------------

BUSY_SECONDS = 30
PRAGMAS = ("foreign_keys=ON", "synchronous=EXTRA", "fullfsync=ON", "journal_mode=DELETE")
SILENCE: Final[Mapping[str, int]] = {
    "connect_timeout": 10,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 4,
    "tcp_user_timeout": 30_000,
}
"""For how long a machine that does not answer any more is waited for, in libpq's words: some 30 seconds. A network that
drops everything breaks no connection, and a worker would wait on it for hours. What an address says itself is kept.
"""

_READING = "tetraodon_reading"
_WRITERS = int.from_bytes(b"tetraodo")
"""The lock that one writer of a Postgres ledger holds at a time."""
ALONE = {
    "sqlite": "BEGIN IMMEDIATE",
    "postgresql": "SELECT set_config('synchronous_commit', 'on', true), "
    f"set_config('lock_timeout', '{BUSY_SECONDS}s', true), pg_advisory_xact_lock({_WRITERS})",
}
"""How a change begins: from here to its end it is the only writer. Settings and lock are one question to a server."""

# Closing any handle of a file drops all locks that the process holds on it, SQLite's too. So no thread
# may see a new file before the handle that made it is closed.
_making = threading.Lock()


class Database:
    """The engine behind a ledger.

    Why  connections to a server are kept and used again, since making one takes longer than a charge; a forked child
         makes its own. A file is opened for each transaction: that is quick, and leaves no lock behind.
    """

    def __init__(self, address: Address) -> None:
        self._address = address
        self._seen, self._process = False, os.getpid()
        try:
            self._engine = _sqlite(address) if address.path else _server(address)
        except (ImportError, ArgumentError):
            raise LedgerError(
                "the driver for this database is not installed",
                fix="install it, for instance with `pip install psycopg`",
                where=address.name,
            ) from None
        finalize(self, _let_go, self._engine, self._process)

    def close(self) -> None:
        """Let go of the database."""
        self._engine.dispose()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """One consistent look; works on a file that may not be written."""
        self._find(make=False)
        with self._transaction(reading=True, make=False) as connection:
            yield connection

    @contextmanager
    def writing(self, *, make: bool = False) -> Iterator[Connection]:
        """One change as the only writer between its first read and its commit.

        Post  on leaving without an error, the change is on the disk. A ledger of an older version is brought up to
              date first.
        """
        self._find(make=make)
        with self._transaction(reading=False, make=make) as connection:
            yield connection

    @contextmanager
    def _transaction(self, *, reading: bool, make: bool) -> Iterator[Connection]:
        name = self._address.name
        if self._process != os.getpid():
            self._engine.dispose(close=False)  # those are still the parent's
            self._process = os.getpid()
        try:
            with (
                self._engine.connect().execution_options(**{_READING: reading}) as connection,
                connection.begin(),
            ):
                if make:
                    create_if_empty(connection)
                version = check_version(connection, seen=self._seen)
                self._seen = not self._address.path
                if not reading:
                    migrate(connection, version)
                yield connection
        except DBAPIError as error:
            raise explained(error, name) from None
        except (SQLAlchemyError, UnicodeDecodeError):  # tables, rows or messages that are not as they were made
            raise damage().at(name) from None
        except LedgerError as error:
            if error.where:
                raise
            raise error.at(name) from None

    def _find(self, *, make: bool) -> None:
        """Make the file, for its owner only, or insist that it is there: SQLite would make any file."""
        address = self._address
        if not address.path:
            return
        with _making:
            if make:
                try:
                    with suppress(FileExistsError):
                        os.close(os.open(address.path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
                except OSError as error:
                    raise LedgerError(
                        f"the ledger cannot be made ({error.strerror})",
                        fix="name a file in a folder that exists, is writable and has room",
                        where=address.name,
                    ) from None
            elif not os.path.exists(address.path):
                raise no_ledger(address.name)


def _let_go(engine: Engine, process: int) -> None:
    """Close the connections of an abandoned engine, in the process that made it."""
    engine.dispose(close=os.getpid() == process)


def _sqlite(address: Address) -> Engine:
    engine = create_engine(
        address.url,
        poolclass=NullPool,
        hide_parameters=True,
        connect_args={"timeout": BUSY_SECONDS},
    )

    def connected(connection: sqlite3.Connection, _record: object) -> None:
        # Left alone, the driver begins only at the first write, after our reads: `begun` does it instead.
        connection.isolation_level = None
        try:
            for pragma in PRAGMAS:
                connection.execute(f"PRAGMA {pragma}")
        except (sqlite3.Error, UnicodeDecodeError):
            connection.close()
            raise

    def begun(connection: Connection) -> None:
        reading = connection.get_execution_options().get(_READING, False)
        connection.exec_driver_sql("BEGIN" if reading else ALONE["sqlite"])

    event.listen(engine, "connect", connected)
    event.listen(engine, "begin", begun)
    return engine


def _server(address: Address) -> Engine:
    # READ COMMITTED, whatever the server's default: after waiting for the lock, the next statement must see
    # the charges of the writer that held it. A snapshot taken before the wait would not.
    # A connection that broke while it was kept is noticed before it is used (pool_pre_ping).
    of_libpq = address.url.get_driver_name().startswith("psycopg")
    settings = {name: value for name, value in SILENCE.items() if of_libpq and name not in address.url.query}
    engine = create_engine(
        address.url, hide_parameters=True, isolation_level="READ COMMITTED", pool_pre_ping=True, connect_args=settings
    )

    def begun(connection: Connection) -> None:
        if not connection.get_execution_options().get(_READING, False):
            connection.exec_driver_sql(ALONE["postgresql"])

    event.listen(engine, "begin", begun)
    return engine


# -- what the database complains of, in words that name the remedy and hide everything stored --------

_DAMAGED = (damage().what, damage().fix)
# By the beginning of SQLite's name for the error.
_SQLITE_WORDS: tuple[tuple[str, str, str], ...] = (
    ("SQLITE_NOTADB", "this is not a ledger", "name the ledger's own file, or a new one"),
    ("SQLITE_CORRUPT", *_DAMAGED),
    ("SQLITE_FULL", "the disk is full, so nothing was charged", "make room, then ask again"),
    (
        "SQLITE_IOERR",
        "the ledger cannot be read or written",
        "check that the disk works and has room, then ask again",
    ),
    (
        "SQLITE_READONLY",
        "the ledger may not be written, so nothing was charged",
        "make the file and its folder writable",
    ),
    (
        "SQLITE_CANTOPEN",
        "the ledger cannot be opened",
        "check that the path is a file, and that its folder exists and is writable",
    ),
    (
        "SQLITE_BUSY",
        "another process kept the ledger for too long",
        "wait for it to end, then ask again",
    ),
    (
        "SQLITE_CONSTRAINT",
        "this would change what the ledger has already recorded",
        "leave entries as they are: they are only ever added",
    ),
)


# By the beginning of Postgres's code for the error.
_POSTGRES_WORDS: tuple[tuple[str, str, str], ...] = (
    ("23", *_SQLITE_WORDS[-1][1:]),
    ("55P03", *_SQLITE_WORDS[-2][1:]),
    ("42P01", *_DAMAGED),
    ("42703", *_DAMAGED),
    ("53100", *_SQLITE_WORDS[2][1:]),
)


def explained(error: DBAPIError, name: str) -> LedgerError:
    """A complaint of the database as one of ours.

    Post  holds the ledger's name, and nothing of the statement, its values or the connection.
    """
    for attribute, words in (("sqlite_errorname", _SQLITE_WORDS), ("sqlstate", _POSTGRES_WORDS)):
        code = getattr(error.orig, attribute, None) or ""
        for start, what, fix in words:
            if code.startswith(start):
                return LedgerError(what, fix=fix, where=name)
    return LedgerError(
        f"the ledger's database refused to work ({type(error.orig).__name__})",
        fix="check that the database is running and that this ledger is whole, then ask again",
        where=name,
    )
