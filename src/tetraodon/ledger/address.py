"""Where a ledger lives, and how to speak of it without giving a password away."""

from __future__ import annotations

import os
from dataclasses import dataclass

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from tetraodon.errors import LedgerError
from tetraodon.server_address import may_hold_password, server_name

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
