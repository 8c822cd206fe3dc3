"""The server: endpoints and pages over an app context, answered within limits on threads."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from functools import partial

from anyio import CapacityLimiter, to_thread
from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import Response

from tetraodon.web import pages
from tetraodon.web.api import ENDPOINTS, Body, Call, Credentials, Endpoint, Reply, openapi, storable_json
from tetraodon.web.app import DATA_POLICY, REPORT_POLICY, Answer, WebApp, document, read_body, respond
from tetraodon.web.app_context import AppContext
from tetraodon.web.auth import COOKIE, Authenticator, cookie_for
from tetraodon.web.http_errors import HttpError
from tetraodon.web.oidc import OidcClient, Provider
from tetraodon.web.slow_client_limits import MAX_CONNECTIONS

MAX_KEY = 100


class ServerApp(WebApp):
    """The server as an ASGI application, `app`. `origin` is its address as browsers see it."""

    def __init__(
        self,
        context: AppContext,
        origin: str,
        log: Callable[[str], object] = lambda _: None,
        provider: Provider | None = None,
    ) -> None:
        super().__init__(log)
        self.oidc = None if provider is None else OidcClient(provider, f"{origin}/oidc/back")
        self.context, self.authenticator = context, Authenticator(context.accounts, origin)
        self.slow = CapacityLimiter(MAX_CONNECTIONS)  # slow calls wait in the planner's queue, and nowhere else
        self.quick = CapacityLimiter(40)
        self.away = CapacityLimiter(4)  # calls that wait for the OpenID provider
        self._passwords = CapacityLimiter(4)  # comparing a password takes 64 MB and a core
        self._document = json.dumps(openapi())
        own: list[tuple[str, str, Answer]] = [
            ("/v1/session", "POST", self._sign_in),
            ("/healthz", "GET", self._health),
            ("/metrics", "GET", self._metrics),
            ("/openapi.json", "GET", self._describe),
        ]
        self.app = self.application(
            [(endpoint.path, [endpoint.method], partial(self._call, endpoint)) for endpoint in ENDPOINTS]
            + [(path, [method], answer) for path, method, answer in own]
            + [(path, methods, partial(pages.answer, self, page)) for path, methods, page in pages.ROUTES]
        )

    async def _call(self, endpoint: Endpoint, request: Request) -> Response:
        cookie = request.cookies.get(COOKIE, "")
        authorize = self.authenticator.authorize
        who = await to_thread.run_sync(authorize, endpoint, request.headers, cookie, limiter=self.quick)
        body = None if endpoint.body is None else _parsed(endpoint.body, await read_body(request))
        key = _key(request) if endpoint.keyed else ""
        call = Call(who, request.path_params, request.query_params, body, key, cookie)
        limiter = self.slow if endpoint.slow else self.quick
        found = await to_thread.run_sync(endpoint.answer, self.context, call, limiter=limiter)
        if not isinstance(found, Reply):
            return document(found, endpoint.status)
        if found.document is not None:
            return document(found.document, endpoint.status, cookie=found.cookie)
        return respond(found.content, endpoint.status, kind=found.kind, policy=REPORT_POLICY)

    # -- sign-in --------------------------------------------------------------------------------------

    async def _sign_in(self, request: Request) -> Response:
        sent = _parsed(Credentials, await read_body(request))
        assert isinstance(sent, Credentials)
        return document({"name": sent.name}, cookie=cookie_for(await self.sign_in(request, sent.name, sent.password)))

    async def sign_in(self, request: Request, name: str, password: str) -> str:
        """The secret of a new session."""
        return await self._with_password(request, self.context.accounts.sign_in, name, password)

    async def change_password(self, request: Request, name: str, password: str, new: str) -> str:
        """The secret of a new session, after a change of password by somebody who knows the old one."""
        return await self._with_password(request, self.context.accounts.change_own, name, password, new)

    async def _with_password(self, request: Request, act: Callable[..., str], name: str, *words: str) -> str:
        self.authenticator.limit_sign_ins(name, request.headers)
        return await to_thread.run_sync(act, name, *words, limiter=self._passwords)

    # -- without an account ---------------------------------------------------------------------------

    async def _health(self, request: Request) -> Response:
        del request
        await to_thread.run_sync(self.context.state.look, limiter=self.quick)
        return document({"ok": True})

    async def _metrics(self, request: Request) -> Response:
        """How often each route was called and how it ended; nothing of data sets, budgets or answers."""
        del request
        with self._lock:
            counted = sorted(self._counts.items())
        lines = [f"tetraodon_uptime_seconds {time.monotonic() - self._started:.0f}"]
        lines += [f'tetraodon_calls_total{{route="{route}",status="{status}xx"}} {n}' for (route, status), n in counted]
        return respond("\n".join([*lines, ""]), kind="text/plain", policy=REPORT_POLICY)

    async def _describe(self, request: Request) -> Response:
        del request
        return respond(self._document, kind="application/json", policy=DATA_POLICY)


def _parsed(kind: type[Body], content: bytes) -> Body:
    try:
        return kind.model_validate(storable_json(content))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        wrong = HttpError(422, f"the body is invalid: {first['msg']}", fix="see /openapi.json")
        wrong.where = ".".join(str(part) for part in first["loc"])
        raise wrong from None
    except (ValueError, RecursionError):
        raise HttpError(400, "the body is not JSON that can be stored", fix="send valid JSON in UTF-8") from None


def _key(request: Request) -> str:
    key = request.headers.get("idempotency-key", "")
    if not 1 <= len(key) <= MAX_KEY or not key.isascii() or not key.isprintable():
        fix = f"send an Idempotency-Key of 1 to {MAX_KEY} characters, a new one for each request"
        raise HttpError(400, "a request needs a key, so that it is made once", fix=fix)
    return key
