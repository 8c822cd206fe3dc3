"""The Starlette application that server and studio share: body limits, security headers, pages, errors as documents."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from tetraodon.errors import TetraodonError
from tetraodon.policy.publication import NOBODY
from tetraodon.report.page import FOLDER as REPORT
from tetraodon.report.page import templates as report_templates
from tetraodon.web.http_errors import HttpError, error_document, not_found, status_of

if TYPE_CHECKING:
    from jinja2 import Environment

HERE = Path(__file__).parent
MAX_BYTES, READING_SECONDS = 1_000_000, 20.0
Answer = Callable[[Request], Awaitable[Response]]
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # without a referrer policy a form would not send its origin
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Strict-Transport-Security": "max-age=31536000",  # browsers ignore it where there is no TLS, as on loopback
}
PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
"""Content security policy of pages: they load nothing from another origin."""
REPORT_POLICY = "sandbox allow-scripts; frame-ancestors 'none'"
"""A report brings a policy of its own, and gets none of the rights of our pages."""
DATA_POLICY = "default-src 'none'"
SCRIPTS = {"studio.js": HERE, "map.js": HERE, "blocks.js": HERE, "strips.js": REPORT}


@cache
def templates() -> Environment:
    """The templates of pages, and the parts of reports. Every value is escaped."""
    from jinja2 import FileSystemLoader

    return report_templates().overlay(loader=FileSystemLoader([HERE / "templates", REPORT / "templates"]))


def render(template: str, /, **values: Any) -> str:
    """The text of a template."""
    return templates().get_template(f"{template}.html.j2").render(publisher=NOBODY, words={}, **values)


def asset(name: str, *, scripts: bool) -> Response:
    """The style sheet, or one of the scripts where the page may run them."""
    if name == "style.css":
        return respond((REPORT / name).read_bytes() + (HERE / "web.css").read_bytes(), kind="text/css")
    if scripts and name in SCRIPTS:
        return respond((SCRIPTS[name] / name).read_bytes(), kind="text/javascript")
    return respond("There is no such file.", 404, kind="text/plain")


def respond(
    content: str | bytes, status: int = 200, *, kind: str = "text/html", policy: str = PAGE_POLICY, cookie: str = ""
) -> Response:
    """A response with the security headers."""
    headers = HEADERS | {"Content-Security-Policy": policy} | ({"Set-Cookie": cookie} if cookie else {})
    return Response(content, status, headers, media_type=kind)


def document(content: Any, status: int = 200, *, cookie: str = "") -> Response:
    """A response in JSON."""
    text = json.dumps(content, allow_nan=False)
    return respond(text, status, kind="application/json", policy=DATA_POLICY, cookie=cookie)


def redirect(where: str, cookie: str = "") -> Response:
    """A redirect that a browser follows with GET."""
    found = respond("", 303, cookie=cookie)
    found.headers["Location"] = where
    return found


class WebApp:
    """Routes as a Starlette application, with its counts of calls by route and status.

    `log` takes one line for each call: its route and status, and nothing that was said.
    """

    def __init__(self, log: Callable[[str], object] = lambda _: None) -> None:
        self._log = log
        self._counts: Counter[tuple[str, int]] = Counter()
        self._lock, self._started = threading.Lock(), time.monotonic()

    def application(self, routes: Sequence[tuple[str, Sequence[str], Answer]]) -> Starlette:
        """The application of these paths, methods and answers."""
        handlers: Any = {HTTPException: self._unrouted, Exception: self._broken}
        made = [Route(path, self._guarded(path, answer), methods=[*methods]) for path, methods, answer in routes]
        app = Starlette(routes=made, exception_handlers=handlers)
        app.router.redirect_slashes = False  # it would redirect to whatever the header Host says
        return app

    def _guarded(self, route: str, answer: Answer) -> Answer:
        async def guarded(request: Request) -> Response:
            try:
                if "\0" in request.scope["path"]:
                    raise not_found("page")
                response = await answer(request)
            except TetraodonError as error:
                response = self.refusal(error)
            except ClientDisconnect:
                response = document({}, 400)
            self._record(request.method, route, response.status_code)
            return response

        return guarded

    def refusal(self, error: TetraodonError) -> Response:
        """An error as a response."""
        response = document({"error": error_document(error)}, status_of(error))
        if isinstance(error, HttpError) and error.after:
            response.headers["Retry-After"] = str(error.after)
        return response

    def _record(self, method: str, route: str, status: int) -> None:
        with self._lock:
            self._counts[route, status // 100] += 1
        at = datetime.now(UTC).isoformat(timespec="seconds")
        self._log(json.dumps({"at": at, "method": method, "route": route, "status": status}))

    async def _unrouted(self, request: Request, error: HTTPException) -> Response:
        self._record(request.method, "", error.status_code)
        fix = "check address and method, which /openapi.json of a server lists"
        return self.refusal(HttpError(error.status_code, "there is nothing at this address", fix=fix))

    async def _broken(self, request: Request, error: Exception) -> Response:
        """A bug: only its type is shown, because its text may hold data."""
        self._record(request.method, "", 500)
        return self.refusal(HttpError(500, f"internal error: {type(error).__name__}", fix="report it to the operator"))


async def read_body(request: Request, limit: int | None = None) -> bytes:
    """The body, unless it is too long or too slow."""
    limit = MAX_BYTES if limit is None else limit
    too_long = HttpError(413, "the body is too long", fix=f"send at most {limit} bytes")
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and (len(declared) > 9 or int(declared) > limit):
        raise too_long
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(READING_SECONDS):
            async for part in request.stream():
                size += len(part)
                if size > limit:
                    raise too_long
                parts.append(part)
    except TimeoutError:
        raise HttpError(408, "the body did not come in time", fix="send it at once") from None
    return b"".join(parts)


def to_stderr(line: str) -> None:
    """Write a line of the log. Where there is no room for it, it is lost, and calls are still answered."""
    with suppress(OSError):
        print(line, file=sys.stderr, flush=True)
