"""The keys of a ledger: their public halves are among its tables, and the newest one signs."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import Connection, insert, select

from tetraodon.errors import LedgerError
from tetraodon.ledger.chain import append
from tetraodon.ledger.rows import text_in
from tetraodon.ledger.schema import keys
from tetraodon.ledger.signing import PLACE, PublicKey, Signer, make_key, public_key, read_key


def known_keys(connection: Connection) -> tuple[PublicKey, ...]:
    """The public keys of a ledger, oldest first."""
    rows = connection.execute(select(keys.c.public_key).order_by(keys.c.id)).scalars()
    return tuple(public_key(text_in(text)) for text in rows)


def ensure_key(connection: Connection, place: Path | None) -> None:
    """Give a ledger a key if it has none and there is a place for its private half.

    Why  a key file that is there already was made by somebody who could not finish; it is taken.
    """
    if place is not None and not known_keys(connection):
        _add(connection, read_key(place) if place.exists() else make_key(place))


def replace_key(connection: Connection, place: Path | None) -> PublicKey:
    """Make a new key, which signs from now on; what older ones signed can still be checked."""
    return _add(connection, make_key(_required(place)))


def signer_of(connection: Connection, place: Path | None) -> Signer:
    """The private half of the newest key; refused where it is missing, unreadable or another."""
    found = known_keys(connection)
    if not found:
        raise LedgerError("the ledger has no key", fix="make one with `tetraodon ledger key --new`")
    signer = read_key(_required(place))
    if signer.key != found[-1]:
        raise LedgerError(
            "the key file does not hold this ledger's key",
            fix=f"put it back, name the right file in {PLACE}, or move it away and run `tetraodon ledger key --new`",
            where=str(place),
        )
    return signer


def _required(place: Path | None) -> Path:
    if place is None:
        raise LedgerError(
            "nobody says where the ledger's key is", fix=f"name its file in the environment: {PLACE}=FILE"
        )
    return place


def _add(connection: Connection, signer: Signer) -> PublicKey:
    now = datetime.now(UTC).isoformat(timespec="microseconds")
    made = connection.execute(insert(keys).values(public_key=signer.key.text, made=now))
    (number,) = made.inserted_primary_key or []
    append(connection, "key", number)
    return signer.key
