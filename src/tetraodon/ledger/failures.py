"""What the database complains of, in words that name the remedy and hide everything stored."""

from __future__ import annotations

from sqlalchemy.exc import DBAPIError

from tetraodon.errors import LedgerError

_BACKUP = "restore the ledger from a backup"

# By the beginning of SQLite's name for the error.
_SQLITE: tuple[tuple[str, str, str], ...] = (
    ("SQLITE_NOTADB", "this is not a ledger", "name the ledger's own file, or a new one"),
    ("SQLITE_CORRUPT", "the ledger is damaged", _BACKUP),
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
_POSTGRES: tuple[tuple[str, str, str], ...] = (
    ("23", *_SQLITE[-1][1:]),
    ("55P03", *_SQLITE[-2][1:]),
    ("42P01", "the ledger is damaged", _BACKUP),
    ("42703", "the ledger is damaged", _BACKUP),
    ("53100", *_SQLITE[2][1:]),
)


def damaged(name: str) -> LedgerError:
    """What is said of a ledger whose tables are not as we made them."""
    return LedgerError("the ledger is damaged", fix=_BACKUP, where=name)


def explained(error: DBAPIError, name: str) -> LedgerError:
    """A complaint of the database as one of ours.

    Post  holds the ledger's name, and nothing of the statement, its values or the connection.
    """
    code = getattr(error.orig, "sqlite_errorname", "")
    for start, what, fix in _SQLITE:
        if code.startswith(start):
            return LedgerError(what, fix=fix, where=name)
    state = getattr(error.orig, "sqlstate", None) or ""
    for start, what, fix in _POSTGRES:
        if state.startswith(start):
            return LedgerError(what, fix=fix, where=name)
    return LedgerError(
        f"the ledger's database refused to work ({type(error.orig).__name__})",
        fix="check that the database is running and that this ledger is whole, then ask again",
        where=name,
    )
