"""Authentication: accounts with passwords, sessions and tokens; rate limits; the studio's one-time address."""

from __future__ import annotations

import hashlib
import hmac
import math
import re
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Protocol
from urllib.parse import parse_qs, urlsplit

from argon2 import PasswordHasher
from argon2.exceptions import Argon2Error, InvalidHashError
from sqlalchemy import Connection, Row, Table, delete, insert, select, update

from tetraodon.web.http_errors import HttpError, conflict, forbidden, not_found
from tetraodon.web.state import State, identities, people, sessions, tokens

if TYPE_CHECKING:
    from tetraodon.web.api import Endpoint

ROLES: Final = ("analyst", "curator", "auditor", "admin")
SCOPES: Final = ("read", "plan", "request", "govern", "accounts")
"""What a token may do: look, plan, ask for a release, decide as a curator, manage accounts. The role limits it too."""
ANALYST, CURATOR, AUDITOR, ADMIN = ROLES
EVERYBODY = frozenset(ROLES)
READERS = frozenset((ANALYST, CURATOR, AUDITOR))
PLANNERS = frozenset((ANALYST, CURATOR))
ONLY = {role: frozenset((role,)) for role in ROLES}
COOKIE, SESSION_SECONDS = "__Host-tetraodon", 12 * 3600
MIN_PASSWORD, MAX_PASSWORD = 12, 1000
MAX_TOKENS = 50
_NAME = re.compile(r"[a-z][a-z0-9._-]{0,31}")


@dataclass(frozen=True, slots=True)
class Person:
    """A caller with role and scopes. `token` and `expires` are those of a bearer token; `shown` is the hash of the
    session or token that was sent.
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
def _decoy_hash() -> str:
    """Compared with where there is no such account, so that it takes as long as for one that exists."""
    return hasher().hash(secrets.token_urlsafe(32))


def digest(secret: str) -> str:
    """The stored form of a random secret."""
    return hashlib.sha256(secret.encode()).hexdigest()


class Accounts:
    """The accounts of a server."""

    def __init__(self, state: State) -> None:
        self._state = state
        _decoy_hash()

    def add(self, by: str, name: str, role: str, password: str) -> None:
        """A new account. Without a password it signs in at the OpenID provider only."""
        if not _NAME.fullmatch(name):
            raise HttpError(422, "the account name is invalid", fix="write 1 to 32 of a-z, 0-9, dot, dash, underscore")
        if role not in ROLES:
            raise HttpError(422, "the role is unknown", fix=f"use one of: {', '.join(ROLES)}")
        kept = self._kept(password) if password else ""
        with self._state.writing() as connection:
            if connection.execute(select(people.c.name).where(people.c.name == name)).one_or_none():
                raise conflict("there is an account of that name", "choose another name")
            connection.execute(insert(people).values(name=name, role=role, password=kept))
            self._state.note(connection, by, f"account-{role}", subject=name)

    @staticmethod
    def _kept(password: str) -> str:
        if not MIN_PASSWORD <= len(password) <= MAX_PASSWORD:
            fix = f"use {MIN_PASSWORD} to {MAX_PASSWORD} characters"
            raise HttpError(422, "the password is too short or too long", fix=fix)
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
        """Change the password, disable or enable the account, or set its identity at an OpenID provider.

        Any change ends all sessions and tokens, because a stolen one may be the reason for it. With `kept`, nothing
        changes unless the stored hash is still that one.
        """
        values: dict[str, Any] = {}
        if password is not None:
            values["password"] = self._kept(password)
        if disabled is not None:
            values["disabled"] = int(disabled)
        if not values and identity is None:
            fix = "give a password or an identity, or say whether it is disabled"
            raise HttpError(422, "nothing is to be changed", fix=fix)
        with self._state.writing() as connection:
            row = connection.execute(select(people).where(people.c.name == name)).one_or_none()
            if row is None:
                raise not_found("account")
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
        """Change a password, given the old one. It ends all sessions and tokens; the secret of a new session."""
        self.change(name, name, password=new, kept=self._prove(name, password))
        return self.sign_in(name, new)

    def _prove(self, name: str, password: str) -> str:
        """The stored hash of a correct password. Any other is refused in the same words after the same work."""
        row = self._state.one(people, people.c.name == name)
        known = row is not None and bool(row.password) and not row.disabled
        try:
            hasher().verify(row.password if row is not None and known else _decoy_hash(), password[: MAX_PASSWORD + 1])
        except (Argon2Error, InvalidHashError):
            known = False
        if row is None or not known:
            raise _wrong()
        return str(row.password)

    def begin(self, name: str, how: str, kept: str | None = None) -> str:
        """A session for a proven identity: by a password whose stored hash is `kept`, or at an OpenID provider.

        Why  comparing a password takes a while, and a change made in the meantime ended all sessions.
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
        """The person of a session, if it is valid."""
        row = self._shown(sessions, secret)
        return None if row is None else Person(row.name, row.role, frozenset(SCOPES), shown=row.hash)

    # -- programs ------------------------------------------------------------------------------------

    def new_token(self, person: Person, label: str, scopes: list[str], days: int) -> dict[str, Any]:
        """A token with some of the caller's scopes. Its secret is returned once.

        Post  one that is made with a token ends no later than that, and none is made with one that was removed
              meanwhile, so that a found token cannot be kept alive.
        """
        wanted = frozenset(scopes)
        if not wanted or not wanted <= person.scopes:
            raise HttpError(422, "a token has some of your own scopes", fix=f"use some of: {', '.join(SCOPES)}")
        secret, key = f"td_{secrets.token_urlsafe(32)}", secrets.token_hex(8)
        expires = min(self._state.clock() + days * 86400, person.expires)
        with self._state.writing() as connection:
            connection.execute(delete(tokens).where(tokens.c.expires <= self._state.clock()))
            shown = [connection.execute(select(t).where(t.c.hash == person.shown)).first() for t in (sessions, tokens)]
            if person.shown and not any(shown):
                raise HttpError(
                    401, "you are not signed in any more", fix="sign in, or send a token that is still there"
                )
            mine = connection.execute(select(tokens.c.id).where(tokens.c.person == person.name)).all()
            if len(mine) >= MAX_TOKENS:
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
        """Remove a token and all made with it: any of one's own from a session, only itself with a token."""
        if person.token not in ("", key):
            raise not_found("token")
        with self._state.writing() as connection:
            this = select(tokens.c.id).where(tokens.c.id == key, tokens.c.person == person.name).cte(recursive=True)
            removed = this.union(select(tokens.c.id).join(this, tokens.c.made_with == this.c.id))
            found = connection.execute(select(removed.c.id)).scalars().all()
            if not found:
                raise not_found("token")
            connection.execute(delete(tokens).where(tokens.c.id.in_(found)))
            for one in found:
                self._state.note(connection, person.name, "token-removed", subject=one)

    def of_token(self, secret: str) -> Person | None:
        """The person of a token, if it is valid."""
        row = self._shown(tokens, secret)
        if row is None:
            return None
        return Person(row.name, row.role, frozenset(row.scopes.split()), row.id, row.expires, row.hash)

    def _shown(self, table: Table, secret: str) -> Row[Any] | None:
        """The session or token with this secret, joined with its account, if both are valid now."""
        mine = (table.c.hash == digest(secret)) & (table.c.expires > self._state.clock()) & (people.c.disabled == 0)
        with self._state.reading() as connection:
            query = select(people.c.name, people.c.role, table).join(people, people.c.name == table.c.person)
            return connection.execute(query.where(mine)).one_or_none()

    def role_of(self, name: str) -> str:
        """The role of an account that is not disabled; empty if there is none."""
        row = self._state.one(people, people.c.name == name)
        return "" if row is None or row.disabled else str(row.role)


def _wrong() -> HttpError:
    return HttpError(401, "name or password is wrong", fix="try again, or ask an admin for a new password")


def cookie_for(secret: str) -> str:
    """The session cookie: for this host alone, over TLS alone, hidden from scripts. Empty, it ends one."""
    age = SESSION_SECONDS if secret else 0
    return f"{COOKIE}={secret}; Max-Age={age}; Path=/; Secure; HttpOnly; SameSite=Strict"


# -- where requests come from ----------------------------------------------------------------------

SAFE = ("GET", "HEAD")
MAX_NAMES = 10_000


class Headers(Protocol):
    """The headers of a request, by names in lower case."""

    def get(self, name: str, /) -> str | None: ...


def _same_origin(method: str, headers: Headers, origins: Sequence[str], *, declared: bool = False) -> bool:
    """Whether a browser says that a page of these origins sent a request; with `declared`, it has to say so.

    Why  a page of another origin can make a browser send a request, with its cookies. It cannot choose these headers.
    """
    site, origin = headers.get("sec-fetch-site"), headers.get("origin")
    if origin is not None and origin not in origins:
        return False
    if site is None:
        return not declared and (method in SAFE or origin in origins)
    return site == "same-origin" or (site == "none" and method in SAFE)


class TokenBuckets:
    """Rate limits: for each name `burst` calls at once, and then `rate` a second.

    Why  a monotonic clock: setting the time of day grants no calls.

    >>> buckets = TokenBuckets(1, 2, clock=lambda: 0.0)
    >>> [buckets.take("ann") for _ in range(3)], buckets.take("bob")
    ([True, True, False], True)
    """

    def __init__(self, rate: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._burst, self._clock = rate, burst, clock
        self._lock = threading.Lock()
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, name: str) -> bool:
        """Whether one more call is allowed now."""
        now = self._clock()
        with self._lock:
            left, since = self._left.pop(name, (float(self._burst), now))
            left = min(left + (now - since) * self._rate, float(self._burst))
            self._left[name] = (left - 1 if left >= 1 else left, now)
            while len(self._left) > MAX_NAMES:
                self._left.popitem(last=False)
            return left >= 1


@dataclass(frozen=True)
class Authenticator:
    """Authenticates calls to the server. `origin` is the server's own address, as browsers see it."""

    accounts: Accounts
    origin: str
    calls: TokenBuckets = field(default_factory=lambda: TokenBuckets(rate=50, burst=200))
    sign_ins: TokenBuckets = field(default_factory=lambda: TokenBuckets(rate=1 / 30, burst=10))

    def authorize(self, endpoint: Endpoint, headers: Headers, cookie: str) -> Person:
        """The caller of an endpoint, if role and scope allow it."""
        person = self.caller(endpoint.method, headers, cookie)
        if person.role not in endpoint.roles:
            raise forbidden()
        if endpoint.scope not in person.scopes:
            raise HttpError(403, f"this token lacks the scope {endpoint.scope}", fix="make one that has it")
        return person

    def caller(self, method: str, headers: Headers, cookie: str) -> Person:
        """The person behind a bearer token, or else behind a session cookie."""
        sent = headers.get("authorization") or ""
        if not sent:
            return self.session_user(method, headers, cookie)
        kind, _, secret = sent.partition(" ")
        return self._counted(self.accounts.of_token(secret.strip()) if kind.lower() == "bearer" else None)

    def session_user(self, method: str, headers: Headers, cookie: str) -> Person:
        """The person behind a session cookie. Pages take no token, because they check roles and no scopes."""
        person = self.accounts.of_session(cookie) if cookie else None
        if person is not None and not self.same_origin(method, headers):
            raise HttpError(
                403, "this came from a page of another origin", fix="use the server's own pages, or a token"
            )
        return self._counted(person)

    def _counted(self, person: Person | None) -> Person:
        if person is None:
            raise HttpError(401, "you are not signed in", fix="sign in, or send a token that has not expired")
        if not self.calls.take(person.name):
            raise HttpError(429, "you call too often", fix="wait a little", after=1)
        return person

    def same_origin(self, method: str, headers: Headers) -> bool:
        """Whether one of the server's own pages sent a request, as far as its browser says."""
        return _same_origin(method, headers, (self.origin,))

    def limit_sign_ins(self, name: str, headers: Headers) -> None:
        """Refuse passwords that are tried too often for a name, whether or not there is such an account."""
        if (headers.get("sec-fetch-site") or headers.get("origin")) and not self.same_origin("POST", headers):
            raise HttpError(403, "this came from a page of another origin", fix="use the server's own pages")
        if not self.sign_ins.take(name):
            raise HttpError(429, "too many attempts to sign in", fix="wait a minute", after=30)


class LoopbackAuth:
    """Lets one browser of this machine into the studio: a one-time address leads it to a secret path.

    Why  a browser sends cookies of 127.0.0.1 to every port, and so to other local servers. It sends the path of an
         address to that port alone.
    """

    def __init__(self, port: int) -> None:
        self._token: str | None = secrets.token_urlsafe(32)
        self.port, self.root = port, f"/{secrets.token_urlsafe(32)}/"
        self._hosts = (f"127.0.0.1:{port}", f"localhost:{port}")

    @property
    def address(self) -> str:
        """The one-time address."""
        return f"http://127.0.0.1:{self.port}/?token={self._token}"

    @property
    def pages(self) -> str:
        """The address that the names of pages are added to."""
        return f"http://127.0.0.1:{self.port}{self.root}"

    def redeem(self, target: str) -> bool:
        """Whether this is the one-time address, which is worth nothing afterwards."""
        given = parse_qs(urlsplit(target).query).get("token", [""])[0]
        if self._token is None or not _same_secret(given, self._token):
            return False
        self._token = None
        return True

    def allows(self, method: str, target: str, headers: Headers) -> bool:
        """Whether a request for this host comes from the studio's own pages, and knows the secret path."""
        origins = [f"http://{host}" for host in self._hosts]
        ours = self.host_matches(headers) and _same_origin(method, headers, origins, declared=True)
        return ours and _same_secret(target[: len(self.root)], self.root)

    def name(self, target: str) -> str:
        """The page or form under the secret path. Pre: `allows`."""
        return urlsplit(target[len(self.root) :]).path

    def host_matches(self, headers: Headers) -> bool:
        """Whether a request names this host. Another name that resolves to this machine (DNS rebinding) does not."""
        return headers.get("host") in self._hosts


def _same_secret(given: str, secret: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), secret.encode())
