"""Speaking of the address of a server without giving a password away, however badly it is written.

What is shown is cut out before anything is parsed: a password may hold any character, and a parser that is misled by
one takes the rest of it for a host, a database or a table.
"""

from __future__ import annotations

import re

_SCHEME = re.compile(r"\s*(?!sqlite:|duckdb:)[A-Za-z][A-Za-z0-9+.-]+(:|//)")
_PASSWORD = re.compile(r":.*@", re.DOTALL)
_PLACE = re.compile(r"([\w.-]*|\[[0-9a-fA-F:.]+\])(?P<port>:[0-9]{1,5})?(/[^/@:\s#]*)?(#[^@:/]*)?")


def may_hold_password(text: str) -> bool:
    """Whether a text is, or may be meant as, the address of a server.

    >>> [may_hold_password(text) for text in ("people.csv", "postgresql:/ann:secret@db", "ann:secret@db/census")]
    [False, True, True]
    """
    return _SCHEME.match(text) is not None or _PASSWORD.search(text) is not None


def server_name(address: str) -> str:
    """The address of a Postgres server for messages: host, port, database and table, or less if in doubt.

    >>> server_name("postgresql://ann:secret@db.example:5433/census#public.people")
    'postgresql://db.example:5433/census#public.people'
    >>> server_name("postgresql://ann:12/34secret"), server_name("postgresql://db.example/census?password=secret")
    ('postgresql://', 'postgresql://db.example/census')
    """
    named = address.partition("://")[2].partition("?")[0]
    _, user, place = named.rpartition("@")
    found = _PLACE.fullmatch(place)
    known = found is not None and (user or not found["port"])  # without a user, a port may be a password
    return f"postgresql://{place}" if known else "postgresql://"


def table_of(address: str) -> tuple[str, str]:
    """The address of the server, and the name after the `#`. One inside of a password is none.

    >>> table_of("postgresql://ann:12#34@db/census#people")
    ('postgresql://ann:12#34@db/census', 'people')
    """
    user, at, place = address.rpartition("@")
    server, _, name = place.partition("#")
    return user + at + server, name
