"""Who may come in: the browser that was given the one-time address, and no page of anybody else's."""

from __future__ import annotations

import hmac
import secrets
from http.cookies import CookieError, SimpleCookie
from typing import Protocol
from urllib.parse import parse_qs, urlsplit

COOKIE = "tetraodon_studio"
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
    """Gives one address with a token, once, and knows the browser again by a cookie that scripts cannot read."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._token: str | None = secrets.token_urlsafe(32)
        self._pass = secrets.token_urlsafe(32)

    @property
    def address(self) -> str:
        """Where a browser is sent first."""
        return f"http://127.0.0.1:{self.port}/?token={self._token}"

    def welcome(self, target: str) -> str:
        """The cookie for whoever has the token, which then is worth nothing; empty for everybody else."""
        given = parse_qs(urlsplit(target).query).get("token", [""])[0]
        if self._token is None or not hmac.compare_digest(given.encode(), self._token.encode()):
            return ""
        self._token = None
        return f"{COOKIE}={self._pass}; HttpOnly; SameSite=Strict; Path=/"

    def lets_in(self, method: str, headers: Headers) -> bool:
        """Whether a request comes from the studio's own pages in the browser that was welcomed.

        Why  a page of another origin can send a browser here; it cannot choose these headers. A name that somebody
             makes lead to this machine is not this host.
        """
        return self.for_us(headers) and self._same_site(method, headers) and self._knows(headers)

    def for_us(self, headers: Headers) -> bool:
        """Whether it was meant for this address, and not for a name that leads here."""
        return headers.get("Host") in (f"127.0.0.1:{self.port}", f"localhost:{self.port}")

    def _same_site(self, method: str, headers: Headers) -> bool:
        site, origin = headers.get("Sec-Fetch-Site"), headers.get("Origin")
        if origin is not None and origin not in (f"http://127.0.0.1:{self.port}", f"http://localhost:{self.port}"):
            return False
        return site in ("same-origin", "none") if method == "GET" else site == "same-origin"

    def _knows(self, headers: Headers) -> bool:
        try:
            found = SimpleCookie(headers.get("Cookie") or "").get(COOKIE)
        except CookieError:
            return False
        return found is not None and hmac.compare_digest(found.value.encode(), self._pass.encode())
