"""Who is let in: by a token, or by the cookie of a browser that is on one of our own pages; and how often."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tetraodon.server.accounts import Accounts, Person
from tetraodon.server.refusal import Turned, not_allowed
from tetraodon.server.routes import Entrance

SAFE = ("GET", "HEAD")
MOST_NAMES = 10_000


class Buckets:
    """`burst` calls at once, and then `rate` a second, for each name by itself.

    Why  a clock that only goes forward: whoever sets the time of day gives nobody more calls.

    >>> buckets = Buckets(1, 2, clock=lambda: 0.0)
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
            while len(self._left) > MOST_NAMES:
                self._left.popitem(last=False)
            return left >= 1


@dataclass(frozen=True)
class Doorway:
    """Lets in or turns away. `origin` is the server's own address, as browsers see it."""

    accounts: Accounts
    origin: str
    calls: Buckets = field(default_factory=lambda: Buckets(rate=50, burst=200))
    sign_ins: Buckets = field(default_factory=lambda: Buckets(rate=1 / 30, burst=10))

    def let_in(self, door: Entrance, headers: Mapping[str, str], cookie: str) -> Person:
        """Who calls, if they may."""
        person = self.known(door.method, headers, cookie)
        if person.role not in door.roles:
            raise not_allowed()
        if door.scope not in person.scopes:
            raise Turned(403, f"this token lacks the scope {door.scope}", fix="make one that has it")
        return person

    def known(self, method: str, headers: Mapping[str, str], cookie: str) -> Person:
        """Who calls, by a token or by the cookie of a browser."""
        said = headers.get("authorization", "")
        if not said:
            return self.in_browser(method, headers, cookie)
        kind, _, secret = said.partition(" ")
        return self._counted(self.accounts.of_token(secret.strip()) if kind.lower() == "bearer" else None)

    def in_browser(self, method: str, headers: Mapping[str, str], cookie: str) -> Person:
        """Who looks at a page. A token does not count: pages check roles, and no scopes."""
        person = self.accounts.of_session(cookie) if cookie else None
        if person is not None and not self.from_here(method, headers):
            raise Turned(403, "this came from a page of somebody else", fix="use the server's own pages, or a token")
        return self._counted(person)

    def _counted(self, person: Person | None) -> Person:
        if person is None:
            raise Turned(401, "you are not signed in", fix="sign in, or send a token that has not expired")
        if not self.calls.take(person.name):
            raise Turned(429, "you call too often", fix="wait a little", after=1)
        return person

    def from_here(self, method: str, headers: Mapping[str, str]) -> bool:
        """Whether a browser says that one of our own pages sent it.

        Why  a page of another origin can make a browser send a cookie; it cannot choose these headers.
        """
        site, origin = headers.get("sec-fetch-site"), headers.get("origin")
        if origin is not None and origin != self.origin:
            return False
        if method in SAFE:
            return site in (None, "same-origin", "none")
        return site == "same-origin" or (site is None and origin == self.origin)

    def may_try(self, name: str, headers: Mapping[str, str]) -> None:
        """Refuse to try passwords too often, whether or not there is such an account."""
        if (headers.get("sec-fetch-site") or headers.get("origin")) and not self.from_here("POST", headers):
            raise Turned(403, "this came from a page of somebody else", fix="use the server's own pages")
        if not self.sign_ins.take(name):
            raise Turned(429, "too many attempts to sign in", fix="wait a minute", after=30)
