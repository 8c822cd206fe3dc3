"""Who calls: passwords, sessions of browsers, tokens of programs."""

from __future__ import annotations

import hashlib
import math
import re
import secrets
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from argon2 import PasswordHasher
from argon2.exceptions import Argon2Error, InvalidHashError
from sqlalchemy import Connection, Row, Table, delete, insert, select, update

from tetraodon.server.refusal import Turned, conflict, not_there
from tetraodon.server.state import State, identities, people, sessions, tokens

ROLES: Final = ("analyst", "curator", "auditor", "admin")
SCOPES: Final = ("read", "plan", "request", "govern", "accounts")
"""What a token may do: look, plan, ask for a release, decide as a curator, manage accounts. The role limits it too."""
SESSION_SECONDS = 12 * 3600
SHORTEST_PASSWORD, LONGEST_PASSWORD = 12, 1000
MOST_TOKENS = 50
_NAME = re.compile(r"[a-z][a-z0-9._-]{0,31}")


@dataclass(frozen=True, slots=True)
class Person:
    """Who calls, in which role, and with which scopes; with a token, its id and when it expires. `shown` is the hash of
    the session or token that they showed.
    """

    name: str
    role: str
    scopes: frozenset[str]
    token: str = ""
    expires: float = math.inf
    shown: str = ""


@cache
def hasher() -> PasswordHasher:
    """argon2id with the library's parameters, which follow RFC 9106."""
    return PasswordHasher()


@cache
def _nobody() -> str:
    """A hash to compare with where there is no such account: as much work as for one that is there."""
    return hasher().hash(secrets.token_urlsafe(32))


def digest(secret: str) -> str:
    """What is kept of a random secret."""
    return hashlib.sha256(secret.encode()).hexdigest()


class Accounts:
    """The accounts of a server."""

    def __init__(self, state: State) -> None:
        self._state = state
        _nobody()

    def add(self, by: str, name: str, role: str, password: str) -> None:
        """A new account. Without a password it can sign in elsewhere only."""
        if not _NAME.fullmatch(name):
            raise Turned(422, "that is no name for an account", fix="write 1 to 32 of a-z, 0-9, dot, dash, underscore")
        if role not in ROLES:
            raise Turned(422, "that is no role", fix=f"use one of: {', '.join(ROLES)}")
        kept = self._kept(password) if password else ""
        with self._state.writing() as connection:
            if connection.execute(select(people.c.name).where(people.c.name == name)).one_or_none():
                raise conflict("there is an account of that name", "choose another name")
            connection.execute(insert(people).values(name=name, role=role, password=kept))
            self._state.note(connection, by, f"account-{role}", subject=name)

    @staticmethod
    def _kept(password: str) -> str:
        if not SHORTEST_PASSWORD <= len(password) <= LONGEST_PASSWORD:
            fix = f"use {SHORTEST_PASSWORD} to {LONGEST_PASSWORD} characters"
            raise Turned(422, "the password is too short or too long", fix=fix)
        return hasher().hash(password)

    def change(
        self,
        by: str,
        name: str,
        *,
        password: str | None = None,
        disabled: bool | None = None,
        identity: tuple[str, str] | None = None,
        kept: str | None = None,
    ) -> None:
        """Another password, no way in any more, or the issuer and subject of another identity at an OpenID provider.
        Any change ends all sessions and tokens: whoever has one of them may be why it is made. With `kept`, nothing is
        changed unless that is what is kept of the password still.
        """
        values: dict[str, Any] = {}
        if password is not None:
            values["password"] = self._kept(password)
        if disabled is not None:
            values["disabled"] = int(disabled)
        if not values and identity is None:
            fix = "give a password or an identity, or say whether it is disabled"
            raise Turned(422, "nothing is to be changed", fix=fix)
        with self._state.writing() as connection:
            row = connection.execute(select(people).where(people.c.name == name)).one_or_none()
            if row is None:
                raise not_there("account")
            if kept is not None and (row.disabled or row.password != kept):
                raise _wrong()
            if values:
                connection.execute(update(people).where(people.c.name == name).values(**values))
            if identity is not None:
                self._identify(connection, by, name, *identity)
            for table in (sessions, tokens):
                connection.execute(delete(table).where(table.c.person == name))
            if password is not None:
                self._state.note(connection, by, "password-changed", subject=name)
            if disabled is not None:
                self._state.note(connection, by, "account-disabled" if disabled else "account-enabled", subject=name)

    def _identify(self, connection: Connection, by: str, name: str, issuer: str, subject: str) -> None:
        this = (identities.c.issuer == issuer) & (identities.c.subject == subject)
        if connection.execute(select(identities).where(this, identities.c.person != name)).one_or_none():
            raise conflict("another account has this identity", "disable that account, or give it another identity")
        connection.execute(delete(identities).where(identities.c.person == name))
        connection.execute(insert(identities).values(issuer=issuer, subject=subject, person=name))
        self._state.note(connection, by, "identity-changed", subject=name)

    def identified(self, issuer: str, subject: str) -> str:
        """The name of the account that can be used by an identity; empty if there is none."""
        row = self._state.one(identities, identities.c.issuer == issuer, identities.c.subject == subject)
        return "" if row is None or not self.role_of(row.person) else str(row.person)

    def listed(self) -> list[dict[str, Any]]:
        rows = self._state.all(people)
        return [{"name": row.name, "role": row.role, "disabled": bool(row.disabled)} for row in rows]

    # -- browsers ------------------------------------------------------------------------------------

    def sign_in(self, name: str, password: str) -> str:
        """The secret of a new session."""
        return self.begin(name, "sign-in", self._prove(name, password))

    def change_own(self, name: str, password: str, new: str) -> str:
        """Another password for somebody who knows the old one, which ends their sessions and tokens; a new session."""
        self.change(name, name, password=new, kept=self._prove(name, password))
        return self.sign_in(name, new)

    def _prove(self, name: str, password: str) -> str:
        """What is kept of a password; refused, in the same words and after the same work, if it is no good."""
        row = self._state.one(people, people.c.name == name)
        known = row is not None and bool(row.password) and not row.disabled
        try:
            hasher().verify(row.password if row is not None and known else _nobody(), password[: LONGEST_PASSWORD + 1])
        except (Argon2Error, InvalidHashError):
            known = False
        if row is None or not known:
            raise _wrong()
        return str(row.password)

    def begin(self, name: str, how: str, kept: str | None = None) -> str:
        """A session for somebody who has shown who they are: by a password of which this is `kept`, or elsewhere.

        Why  a password takes a while to be compared: whatever was changed meanwhile ended all sessions.
        """
        secret, now = secrets.token_urlsafe(32), self._state.clock()
        with self._state.writing() as connection:
            row = connection.execute(select(people).where(people.c.name == name)).one_or_none()
            if row is None or row.disabled or kept not in (None, row.password):
                raise _wrong()
            connection.execute(delete(sessions).where(sessions.c.expires <= now))
            connection.execute(insert(sessions).values(hash=digest(secret), person=name, expires=now + SESSION_SECONDS))
            self._state.note(connection, name, how)
        return secret

    def sign_out(self, secret: str) -> None:
        with self._state.writing() as connection:
            connection.execute(delete(sessions).where(sessions.c.hash == digest(secret)))

    def of_session(self, secret: str) -> Person | None:
        """Whose session it is, if it is one."""
        row = self._shown(sessions, secret)
        return None if row is None else Person(row.name, row.role, frozenset(SCOPES), shown=row.hash)

    # -- programs ------------------------------------------------------------------------------------

    def new_token(self, person: Person, label: str, scopes: list[str], days: int) -> dict[str, Any]:
        """A token with some of the caller's scopes. Its secret is told once.

        Post  one that is made with a token ends no later than that, and none is made with one that was removed
              meanwhile: whoever found a token cannot keep it alive.
        """
        wanted = frozenset(scopes)
        if not wanted or not wanted <= person.scopes:
            raise Turned(422, "a token has some of your own scopes", fix=f"use some of: {', '.join(SCOPES)}")
        secret, key = f"td_{secrets.token_urlsafe(32)}", secrets.token_hex(8)
        expires = min(self._state.clock() + days * 86400, person.expires)
        with self._state.writing() as connection:
            connection.execute(delete(tokens).where(tokens.c.expires <= self._state.clock()))
            shown = [connection.execute(select(t).where(t.c.hash == person.shown)).first() for t in (sessions, tokens)]
            if person.shown and not any(shown):
                raise Turned(401, "you are not signed in any more", fix="sign in, or send a token that is still there")
            mine = connection.execute(select(tokens.c.id).where(tokens.c.person == person.name)).all()
            if len(mine) >= MOST_TOKENS:
                raise conflict("you have too many tokens", "remove some")
            connection.execute(
                insert(tokens).values(
                    id=key,
                    hash=digest(secret),
                    person=person.name,
                    label=label,
                    scopes=" ".join(sorted(wanted)),
                    expires=expires,
                    made_with=person.token,
                )
            )
            self._state.note(connection, person.name, "token-made", subject=key)
        return {"id": key, "token": secret, "scopes": sorted(wanted), "expires": expires}

    def own_tokens(self, person: Person) -> list[dict[str, Any]]:
        rows = self._state.all(tokens, tokens.c.person == person.name)
        return [{"id": r.id, "label": r.label, "scopes": r.scopes.split(), "expires": r.expires} for r in rows]

    def remove_token(self, person: Person, key: str) -> None:
        """Remove a token and all that were made with it: any of one's own after signing in, with a token that one."""
        if person.token not in ("", key):
            raise not_there("token")
        with self._state.writing() as connection:
            this = select(tokens.c.id).where(tokens.c.id == key, tokens.c.person == person.name).cte(recursive=True)
            removed = this.union(select(tokens.c.id).join(this, tokens.c.made_with == this.c.id))
            found = connection.execute(select(removed.c.id)).scalars().all()
            if not found:
                raise not_there("token")
            connection.execute(delete(tokens).where(tokens.c.id.in_(found)))
            for one in found:
                self._state.note(connection, person.name, "token-removed", subject=one)

    def of_token(self, secret: str) -> Person | None:
        """Whose token it is, if it is one that has not expired."""
        row = self._shown(tokens, secret)
        if row is None:
            return None
        return Person(row.name, row.role, frozenset(row.scopes.split()), row.id, row.expires, row.hash)

    def _shown(self, table: Table, secret: str) -> Row[Any] | None:
        """The session or token with this secret, and its account, if both can be used now."""
        mine = (table.c.hash == digest(secret)) & (table.c.expires > self._state.clock()) & (people.c.disabled == 0)
        with self._state.reading() as connection:
            query = select(people.c.name, people.c.role, table).join(people, people.c.name == table.c.person)
            return connection.execute(query.where(mine)).one_or_none()

    def role_of(self, name: str) -> str:
        """The role of an account that can be used; empty if there is none."""
        row = self._state.one(people, people.c.name == name)
        return "" if row is None or row.disabled else str(row.role)


def _wrong() -> Turned:
    return Turned(401, "name or password is wrong", fix="try again, or ask an admin for a new password")
