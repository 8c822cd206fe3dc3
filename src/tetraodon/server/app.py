"""The web process: calls are read within limits, answered by the table of routes, and logged without what they say."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from anyio import CapacityLimiter, to_thread
from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from tetraodon.errors import TetraodonError
from tetraodon.server import pages
from tetraodon.server.bodies import Body, Credentials, keepable
from tetraodon.server.door import Doorway
from tetraodon.server.listening import MOST_CONNECTIONS
from tetraodon.server.office import Office
from tetraodon.server.oidc import Elsewhere, Provider
from tetraodon.server.openapi import openapi
from tetraodon.server.refusal import Turned, not_there, patience, status_of, told
from tetraodon.server.routes import COOKIE, DOORS, Entrance, Reply, Visit, cookie_for

MOST_BYTES = 1_000_000
READING_SECONDS = 20.0
LONGEST_KEY = 100
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Strict-Transport-Security": "max-age=31536000",
}


class Service:
    """The app over an office. `log` takes one line for each call: its route and status, and nothing that was said."""

    def __init__(
        self,
        office: Office,
        origin: str,
        log: Callable[[str], object] = lambda _: None,
        provider: Provider | None = None,
    ) -> None:
        self.elsewhere = None if provider is None else Elsewhere(provider, f"{origin}/oidc/back")
        self.office, self.doorway, self._log = office, Doorway(office.accounts, origin), log
        self._counts: Counter[tuple[str, int]] = Counter()
        self._lock, self._since = threading.Lock(), time.monotonic()
        self.slow = CapacityLimiter(MOST_CONNECTIONS)  # slow calls wait for their turn at the planner, and nowhere else
        self.quick = CapacityLimiter(40)
        self._trying = CapacityLimiter(4)  # a password takes 64 MB and a core to be compared
        self.away = CapacityLimiter(4)  # who is sent elsewhere waits for somebody else's machine
        self._document = json.dumps(openapi()).encode()
        routes = [Route(door.path, self._answering(door), methods=[door.method]) for door in DOORS]
        routes += [
            Route("/v1/session", self._plain("/v1/session", self._sign_in), methods=["POST"]),
            Route("/healthz", self._plain("/healthz", self._health)),
            Route("/metrics", self._plain("/metrics", self._metrics)),
            Route("/openapi.json", self._plain("/openapi.json", self._described)),
        ]
        routes += [
            Route(path, self._plain(path, self._page(page)), methods=methods) for path, methods, page in pages.ROUTES
        ]
        handlers: Any = {HTTPException: self._unrouted, Exception: self._broken}
        self.app = Starlette(routes=routes, exception_handlers=handlers)
        self.app.router.redirect_slashes = False  # it would send people wherever the header Host says

    # -- the way of a call ----------------------------------------------------------------------------

    def _answering(self, door: Entrance) -> Callable[[Request], Any]:
        async def answer(request: Request) -> Response:
            headers, cookie = dict(request.headers), request.cookies.get(COOKIE, "")
            person = await to_thread.run_sync(self.doorway.let_in, door, headers, cookie, limiter=self.quick)
            body = None if door.body is None else self._body(door.body, await self._read(request))
            key = _key(request) if door.keyed else ""
            visit = Visit(person, request.path_params, request.query_params, body, key, cookie)
            limiter = self.slow if door.slow else self.quick
            found = await to_thread.run_sync(door.answer, self.office, visit, limiter=limiter)
            return self._response(found, door.status)

        return self._plain(door.path, answer)

    def _plain(self, route: str, answer: Callable[[Request], Any]) -> Callable[[Request], Any]:
        """Around every route: errors of ours become documents, and every call leaves one line."""

        async def logged(request: Request) -> Response:
            try:
                if "\0" in request.scope["path"]:
                    raise not_there("page")
                response: Response = await answer(request)
            except TetraodonError as error:
                response = self._response({"error": told(error)}, status_of(error))
                response.headers.update(patience(error))
            except ClientDisconnect:
                response = self._response({}, 400)
            self._noted(request.method, route, response.status_code)
            return response

        return logged

    def _noted(self, method: str, route: str, status: int) -> None:
        with self._lock:
            self._counts[route, status // 100] += 1
        at = datetime.now(UTC).isoformat(timespec="seconds")
        self._log(json.dumps({"at": at, "method": method, "route": route, "status": status}))

    async def _read(self, request: Request) -> bytes:
        """The body, if it is not too long and comes in time."""
        parts: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(READING_SECONDS):
                async for part in request.stream():
                    size += len(part)
                    if size > MOST_BYTES:
                        raise Turned(413, "the body is too long", fix=f"send at most {MOST_BYTES} bytes")
                    parts.append(part)
        except TimeoutError:
            raise Turned(408, "the body did not come in time", fix="send it at once") from None
        return b"".join(parts)

    @staticmethod
    def _body(kind: type[Body], content: bytes) -> Body:
        try:
            return kind.model_validate(keepable(content))
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False, include_context=False)[0]
            where = ".".join(str(part) for part in first["loc"])
            wrong = Turned(422, f"the body is not as it should be: {first['msg']}", fix="see /openapi.json")
            wrong.where = where
            raise wrong from None
        except (ValueError, RecursionError):
            raise Turned(400, "the body is no JSON that can be kept", fix="send JSON of whole characters") from None

    def _response(self, found: Any, status: int = 200) -> Response:
        reply = found if isinstance(found, Reply) else Reply(document=found)
        headers = dict(HEADERS)
        if reply.cookie:
            headers["Set-Cookie"] = reply.cookie
        if reply.document is None:
            headers["Content-Security-Policy"] = pages.RELEASE_RULES
            return Response(reply.content, status, headers, media_type=reply.kind)
        headers["Content-Security-Policy"] = "default-src 'none'"
        return Response(json.dumps(reply.document, allow_nan=False), status, headers, media_type="application/json")

    # -- what needs no account ------------------------------------------------------------------------

    async def _sign_in(self, request: Request) -> Response:
        said = self._body(Credentials, await self._read(request))
        assert isinstance(said, Credentials)
        secret = await self.signed_in(said.name, said.password, dict(request.headers))
        return self._response(Reply(document={"name": said.name}, cookie=cookie_for(secret)))

    async def signed_in(self, name: str, password: str, headers: dict[str, str]) -> str:
        """The secret of a new session, for whoever knows the password."""
        self.doorway.may_try(name, headers)
        sign_in = self.office.accounts.sign_in
        return str(await to_thread.run_sync(sign_in, name, password, limiter=self._trying))

    async def changed_password(self, name: str, password: str, new: str, headers: dict[str, str]) -> str:
        """The secret of a new session, for whoever knows the old password and has set another."""
        self.doorway.may_try(name, headers)
        change = self.office.accounts.change_own
        return str(await to_thread.run_sync(change, name, password, new, limiter=self._trying))

    async def _health(self, request: Request) -> Response:
        del request
        await to_thread.run_sync(self.office.state.look, limiter=self.quick)
        return self._response({"ok": True})

    async def _metrics(self, request: Request) -> Response:
        """How often each route was called and how it ended; nothing of data sets, budgets or answers."""
        del request
        with self._lock:
            counted = sorted(self._counts.items())
        lines = [f"tetraodon_uptime_seconds {time.monotonic() - self._since:.0f}"]
        lines += [f'tetraodon_calls_total{{route="{route}",status="{status}xx"}} {n}' for (route, status), n in counted]
        return self._response(Reply("\n".join([*lines, ""]).encode(), "text/plain"))

    async def _described(self, request: Request) -> Response:
        del request
        return self._response(Reply(self._document, "application/json"))

    def _page(self, page: str) -> Callable[[Request], Any]:
        async def answer(request: Request) -> Response:
            content = await self._read(request) if request.method == "POST" else b""
            return await pages.answered(self, page, request, content)

        return answer

    async def _unrouted(self, request: Request, error: HTTPException) -> Response:
        self._noted(request.method, "", error.status_code)
        turned = Turned(error.status_code, "there is nothing at this address", fix="see /openapi.json")
        return self._response({"error": turned.document()}, error.status_code)

    async def _broken(self, request: Request, error: Exception) -> Response:
        """A bug: its type alone is told, for its text may hold anything."""
        self._noted(request.method, "", 500)
        broken = Turned(500, f"internal error: {type(error).__name__}", fix="tell whoever runs the server")
        return self._response({"error": broken.document()}, 500)


def _key(request: Request) -> str:
    key = request.headers.get("idempotency-key", "")
    if not 1 <= len(key) <= LONGEST_KEY or not key.isascii() or not key.isprintable():
        fix = f"send an Idempotency-Key of 1 to {LONGEST_KEY} characters, a new one for each request"
        raise Turned(400, "a request needs a key, so that it is made once", fix=fix)
    return key


def to_stderr(line: str) -> None:
    """Where log lines go; if there is no room for them they are lost, and calls are answered still."""
    with suppress(OSError):
        print(line, file=sys.stderr, flush=True)
