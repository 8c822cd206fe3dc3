"""Who may come in: the browser that was given the one-time address, and no page of another origin."""

from __future__ import annotations

import hmac
import secrets
from typing import Protocol
from urllib.parse import parse_qs, urlsplit

RULES = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
"""What a browser may do with a page of the studio: nothing that is not of the studio's own address."""
REPORT_RULES = "sandbox allow-scripts; frame-ancestors 'none'"
"""A report has rules of its own in it, and none of the studio's rights."""
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # without any, a form would not say where it comes from
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}


class Headers(Protocol):
    """The headers of a request, by names in any case."""

    def get(self, name: str, /) -> str | None: ...


class Doorkeeper:
    """Gives one address with a token, once, in return for the secret path that all pages are under.

    Why  a browser sends the cookies of 127.0.0.1 to every port of it, so another local server would get one. It sends
         the path of an address to that port alone, and to no other page.
    """

    def __init__(self, port: int) -> None:
        self.port = port
        self._token: str | None = secrets.token_urlsafe(32)
        self.root = f"/{secrets.token_urlsafe(32)}/"

    @property
    def address(self) -> str:
        """Where a browser is sent first."""
        return f"http://127.0.0.1:{self.port}/?token={self._token}"

    @property
    def pages(self) -> str:
        """The address that the names of pages are added to."""
        return f"http://127.0.0.1:{self.port}{self.root}"

    def welcome(self, target: str) -> bool:
        """Whether this is the address with the token, which then is worth nothing."""
        given = parse_qs(urlsplit(target).query).get("token", [""])[0]
        if self._token is None or not _same(given, self._token):
            return False
        self._token = None
        return True

    def lets_in(self, method: str, target: str, headers: Headers) -> bool:
        """Whether a request comes from the studio's own pages, or from somebody who knows their address.

        Why  a page of another origin can send a browser here; it cannot choose these headers. A name that somebody
             makes lead to this machine is not this host.
        """
        return self.for_us(headers) and self._same_site(method, headers) and _same(target[: len(self.root)], self.root)

    def name(self, target: str) -> str:
        """What is asked for under the secret path. Pre: it was let in."""
        return urlsplit(target[len(self.root) :]).path

    def for_us(self, headers: Headers) -> bool:
        """Whether it was meant for this address, and not for a name that leads here."""
        return headers.get("Host") in (f"127.0.0.1:{self.port}", f"localhost:{self.port}")

    def _same_site(self, method: str, headers: Headers) -> bool:
        site, origin = headers.get("Sec-Fetch-Site"), headers.get("Origin")
        if origin is not None and origin not in (f"http://127.0.0.1:{self.port}", f"http://localhost:{self.port}"):
            return False
        return site in ("same-origin", "none") if method == "GET" else site == "same-origin"


def _same(given: str, secret: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), secret.encode())
