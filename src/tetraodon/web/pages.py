"""The server's pages: data sets, requests, approvals, budget over time, audit, accounts."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import Response

from tetraodon.errors import TetraodonError
from tetraodon.ledger import shown_above, shown_below
from tetraodon.web.app import asset, read_body, redirect, render, respond
from tetraodon.web.app_context import AppContext
from tetraodon.web.auth import COOKIE, EVERYBODY, READERS, ROLES, Person, cookie_for
from tetraodon.web.forms import FORMS, Submitted, submit
from tetraodon.web.http_errors import HttpError, forbidden, not_found, status_of
from tetraodon.web.requests import moment

if TYPE_CHECKING:
    from tetraodon.web.server import ServerApp

ATTEMPT = "__Host-tetraodon-attempt"
MOMENT = timedelta(microseconds=1)
AUDITING = frozenset(("auditor", "curator"))
MENU = {"datasets": READERS, "requests": READERS, "audit": AUDITING, "account": EVERYBODY}
"""The pages of the menu, and the roles that see them there."""
TITLES = {"datasets": "Data sets", "requests": "Requests", "audit": "Audit", "account": "Account"}


async def answer(server: ServerApp, page: str, request: Request) -> Response:
    """A page, or a redirect to the sign-in page."""
    if page == "assets":
        return asset(request.path_params["asset"], scripts=False)
    if page in ("oidc-start", "oidc-back"):
        return await to_thread.run_sync(_oidc, server, page, request, limiter=server.away)
    fields = _fields(await read_body(request)) if request.method == "POST" else {}
    if page == "sign-in":
        return await _sign_in(server, request, fields)
    cookie = request.cookies.get(COOKIE, "")
    try:
        user = server.authenticator.session_user
        who = await to_thread.run_sync(user, request.method, request.headers, cookie, limiter=server.quick)
    except HttpError as refused:
        if refused.status == 401 and request.method == "GET":
            return redirect("/sign-in")
        return _sign_in_page(server, refused)
    if page == "sign-out":
        await to_thread.run_sync(server.context.accounts.sign_out, cookie, limiter=server.quick)
        return redirect("/sign-in", cookie_for(""))
    if page == "password":
        return await _change_password(server, request, who, fields)
    sent = Submitted(who, request.path_params, fields)
    work, limiter = (_act, server.slow) if page == "act" else (partial(_page, name=page), server.quick)
    return await to_thread.run_sync(work, server.context, sent, limiter=limiter)


def _fields(content: bytes) -> dict[str, str]:
    """The first value of each field of a form; none where a database could not store one."""
    try:
        fields = {key: found[0] for key, found in parse_qs(content.decode(), max_num_fields=50).items()}
    except ValueError:
        return {}
    return {} if any("\0" in text for text in fields.values()) else fields


async def _sign_in(server: ServerApp, request: Request, fields: dict[str, str]) -> Response:
    if request.method == "GET":
        return _sign_in_page(server)
    try:
        secret = await server.sign_in(request, fields.get("name", ""), fields.get("password", ""))
    except TetraodonError as error:
        return _sign_in_page(server, error)
    return redirect("/datasets", cookie_for(secret))


async def _change_password(server: ServerApp, request: Request, who: Person, fields: dict[str, str]) -> Response:
    old, new = fields.get("password", ""), fields.get("new", "")
    try:
        secret = await server.change_password(request, who.name, old, new)
    except TetraodonError as error:
        return await to_thread.run_sync(partial(_page, server.context, Submitted(who, {}), name="account", error=error))
    return redirect("/account", cookie_for(secret))


def _oidc(server: ServerApp, page: str, request: Request) -> Response:
    """The redirect to the OpenID provider, and the callback from it.

    Why  the callback answers with a page and not with a redirect: a browser would not send the strict session cookie
         along a redirect that began at another site.
    """
    try:
        if server.oidc is None:
            raise not_found("page")
        if page == "oidc-start":
            secret, where = server.oidc.begin()
            return redirect(where, f"{ATTEMPT}={secret}; Max-Age=600; Path=/; Secure; HttpOnly; SameSite=Lax")
        subject = server.oidc.subject(request.cookies.get(ATTEMPT, ""), request.query_params)
        name = server.context.accounts.identified(server.oidc.issuer, subject)
        if not name:
            who = f"issuer {server.oidc.issuer}, subject {subject[:255]}"
            raise HttpError(
                403, "there is no account for you here", fix=f"ask an admin to give yours this identity: {who}"
            )
        secret = server.context.accounts.begin(name, "sign-in-elsewhere")
    except TetraodonError as error:
        return _sign_in_page(server, error)
    return respond(_html("welcome", None), cookie=cookie_for(secret))


def _sign_in_page(server: ServerApp, error: TetraodonError | None = None) -> Response:
    found = _html("sign-in", None, error=error, oidc=server.oidc is not None)
    return respond(found, 200 if error is None else status_of(error))


def _html(name: str, who: Person | None, **values: Any) -> str:
    menu = {page: TITLES[page] for page, roles in MENU.items() if who and who.role in roles}
    return render(name, menu=menu, here=name, who=who, root="/", **({"error": None} | values))


def _act(context: AppContext, sent: Submitted) -> Response:
    """Carry out a form, and redirect or show its page again."""
    try:
        found = submit(context, sent)
    except TetraodonError as error:
        found = {"error": error}
    if isinstance(found, str):
        return redirect(found)
    form = FORMS.get(sent.fields.get("form", ""))
    again = Submitted(sent.who, {"dataset": sent.fields.get("dataset", "")}, sent.fields)
    return _page(context, again, name="account" if form is None else form.page, **found)


def _page(
    context: AppContext, sent: Submitted, *, name: str, error: TetraodonError | None = None, **more: Any
) -> Response:
    """A page, with the result of a form, or the reason why it was refused."""
    if name == "datasets" and sent.who.role == "admin" and error is None:
        return redirect("/account")
    try:
        values = VIEWS[name](context, sent)
    except TetraodonError as unseen:
        name, values, error = "refused", {}, error or unseen
    values = {"plan": None, "secret": None} | values | more
    return respond(_html(name, sent.who, error=error, **values), 200 if error is None else status_of(error))


# -- pages -----------------------------------------------------------------------------------------


def datasets(context: AppContext, sent: Submitted) -> dict[str, Any]:
    return {"datasets": context.datasets.listed(sent.who), "fields": sent.fields}


def dataset(context: AppContext, sent: Submitted) -> dict[str, Any]:
    """One data set: its promise, its budget over time, and the forms that the viewer may send."""
    name, who = sent.path["dataset"], sent.who
    found = context.datasets.shown(who, name)
    values: dict[str, Any] = {"found": found, "fields": sent.fields, "history": [], "steps": ""}
    values["key"] = secrets.token_hex(16)
    values["allotments"] = [] if who.role == "analyst" else context.datasets.allotments(who, name)
    if found["left"] is not None and who.role != "analyst":
        values |= _history(context, name)
    return values


def _history(context: AppContext, name: str) -> dict[str, Any]:
    """What was charged and when, and the steps of the sum as points of a line: time to the right, the total on top."""
    account, entries = context.ledger.account(name), context.ledger.entries(name)
    begun, now = datetime.fromisoformat(account.opened), datetime.now(UTC)
    spent, rows, points, height = account.total * 0, [], ["0,0"], 0.0
    for entry in entries:
        spent += entry.charged
        at = 100 * min(max((datetime.fromisoformat(entry.when) - begun) / max(now - begun, MOMENT), 0.0), 1.0)
        points.append(f"{at:.2f},{height:.2f}")
        height = 40 * min(float(spent / account.total), 1.0) if account.total else 0.0
        points.append(f"{at:.2f},{height:.2f}")
        rows.append({"when": _minute(entry.when), "owner": entry.owner, "charged": shown_above(entry.charged)})
    since = _minute(account.opened)
    points.append(f"100,{height:.2f}")
    return {"history": rows[::-1], "steps": " ".join(points), "since": since, "left": shown_below(account.left)}


def _minute(when: str) -> str:
    """A time, to the minute."""
    return when[:16].replace("T", " ")


def requests(context: AppContext, sent: Submitted) -> dict[str, Any]:
    found = context.requests.listed(sent.who)
    asked = [[json.dumps(item, ensure_ascii=False) for item in one["items"]] for one in found]
    return {"requests": [one | {"asked": items} for one, items in zip(found, asked, strict=True)]}


def audit(context: AppContext, sent: Submitted) -> dict[str, Any]:
    if sent.who.role not in AUDITING:
        raise forbidden()
    among = None if sent.who.role == "auditor" else context.datasets.curated(sent.who)
    events = context.state.events(among=among, newest=True)
    head = context.ledger.audit().head if sent.who.role == "auditor" else ""
    return {"events": [{"when": moment(event.moment), "event": event} for event in events], "head": head}


def account(context: AppContext, sent: Submitted) -> dict[str, Any]:
    """One's own tokens, and for admins all accounts."""
    own = [one | {"expires": moment(one["expires"])} for one in context.accounts.own_tokens(sent.who)]
    everyone = context.accounts.listed() if sent.who.role == "admin" else []
    scopes = {scope: words for scope, (words, roles) in TOKENS.items() if sent.who.role in roles}
    return {"tokens": own, "accounts": everyone, "roles": ROLES, "scopes": scopes, "fields": sent.fields}


TOKENS: Final = {
    "read": ("look", EVERYBODY),
    "plan": ("plan, and ask releases", READERS),
    "request": ("ask for releases", frozenset(("analyst",))),
    "govern": ("propose, open, allot, approve", frozenset(("curator",))),
    "accounts": ("manage accounts", frozenset(("admin",))),
}
"""What a token may be made for, in words, and by whom."""
VIEWS: dict[str, Callable[[AppContext, Submitted], dict[str, Any]]] = {
    "datasets": datasets,
    "dataset": dataset,
    "requests": requests,
    "audit": audit,
    "account": account,
}
"""What each page shows, under the name of its template."""
ROUTES: tuple[tuple[str, list[str], str], ...] = (
    ("/", ["GET"], "datasets"),
    ("/assets/{asset}", ["GET"], "assets"),
    ("/sign-in", ["GET", "POST"], "sign-in"),
    ("/sign-out", ["POST"], "sign-out"),
    ("/oidc/start", ["GET"], "oidc-start"),
    ("/oidc/back", ["GET"], "oidc-back"),
    ("/datasets", ["GET"], "datasets"),
    ("/datasets/{dataset}", ["GET"], "dataset"),
    ("/requests", ["GET"], "requests"),
    ("/audit", ["GET"], "audit"),
    ("/account", ["GET"], "account"),
    ("/password", ["POST"], "password"),
    ("/act", ["POST"], "act"),
)
