"""Pages for people: data sets, requests, approvals, budget over time, audit. Forms do what the routes do, no more."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import Response

from tetraodon.errors import TetraodonError
from tetraodon.ledger import shown_above, shown_below
from tetraodon.policy.publication import NOBODY
from tetraodon.report.page import FOLDER as REPORT
from tetraodon.report.page import templates as report_templates
from tetraodon.server.accounts import ROLES, Person
from tetraodon.server.forms import FORMS, Sight, done
from tetraodon.server.office import Office
from tetraodon.server.petitions import moment
from tetraodon.server.refusal import Turned, not_allowed, not_there, status_of
from tetraodon.server.routes import COOKIE, EVERYBODY, READERS, cookie_for
from tetraodon.studio.doorkeeper import HEADERS, REPORT_RULES, RULES
from tetraodon.studio.pages import asset

if TYPE_CHECKING:
    from jinja2 import Environment

    from tetraodon.server.app import Service

HERE = Path(__file__).parent
RELEASE_RULES: Final = REPORT_RULES
ATTEMPT = "__Host-tetraodon-attempt"
MOMENT = timedelta(microseconds=1)
AUDITING = frozenset(("auditor", "curator"))
MENU = {"datasets": READERS, "requests": READERS, "audit": AUDITING, "account": EVERYBODY}
"""Pages, and who is led to them."""
TITLES = {"datasets": "Data sets", "requests": "Requests", "audit": "Audit", "account": "Account"}


Page = Callable[[Office, Sight], tuple[str, dict[str, Any]]]
"""Gives the name of a template and what it shows."""


@cache
def templates() -> Environment:
    """Ours, and the parts of reports."""
    from jinja2 import FileSystemLoader

    return report_templates().overlay(loader=FileSystemLoader([HERE / "templates", REPORT / "templates"]))


def page_html(name: str, who: Person | None, **values: Any) -> str:
    """A page; every value in it is escaped."""
    made = templates().get_template(f"{name}.html.j2")
    menu = {page: TITLES[page] for page, roles in MENU.items() if who and who.role in roles}
    return made.render(publisher=NOBODY, words={}, menu=menu, here=name, who=who, **({"error": None} | values))


async def answered(service: Service, page: str, request: Request, content: bytes) -> Response:
    """What a browser sees: a page, or the way to sign in."""
    name = request.path_params.get("asset", "")
    if page == "assets":
        found = asset(name) if name.endswith(".css") else None
        return _html("", 404) if found is None else Response(found[0], 200, HEADERS, media_type=found[1])
    try:
        fields = {key: found[0] for key, found in parse_qs(content.decode(), max_num_fields=50).items()}
    except ValueError:
        fields = {}
    if any("\0" in text for text in fields.values()):  # no database keeps it
        fields = {}
    headers, cookie = dict(request.headers), request.cookies.get(COOKIE, "")
    if page in ("oidc-start", "oidc-back"):
        return await to_thread.run_sync(_elsewhere, service, page, request, limiter=service.away)
    if page == "sign-in":
        return await _signing_in(service, request.method, fields, headers)
    try:
        browser = service.doorway.in_browser
        who = await to_thread.run_sync(browser, request.method, headers, cookie, limiter=service.quick)
    except Turned as turned:
        if turned.status == 401 and request.method == "GET":
            return _sent("/sign-in")
        return _sign_in(service, turned)
    if page == "sign-out":
        await to_thread.run_sync(service.office.accounts.sign_out, cookie, limiter=service.quick)
        return _sent("/sign-in", cookie_for(""))
    if page == "password":
        return await _changing_password(service, who, fields, headers)
    sight = Sight(who, request.path_params, fields)
    limiter = service.slow if page == "act" else service.quick
    return await to_thread.run_sync(_seen, service.office, page, sight, limiter=limiter)


async def _signing_in(service: Service, method: str, fields: Mapping[str, str], headers: dict[str, str]) -> Response:
    if method == "GET":
        return _sign_in(service)
    try:
        secret = await service.signed_in(fields.get("name", ""), fields.get("password", ""), headers)
    except TetraodonError as error:
        return _sign_in(service, error)
    return _sent("/datasets", cookie_for(secret))


async def _changing_password(
    service: Service, who: Person, fields: Mapping[str, str], headers: dict[str, str]
) -> Response:
    old, new = fields.get("password", ""), fields.get("new", "")
    try:
        secret = await service.changed_password(who.name, old, new, headers)
    except TetraodonError as error:
        return await to_thread.run_sync(partial(_shown, service.office, "account", Sight(who, {}), error))
    return _sent("/account", cookie_for(secret))


def _elsewhere(service: Service, page: str, request: Request) -> Response:
    """To the provider, and back from there.

    Why  whoever comes back is shown a page first: a browser does not send a strict cookie on the way from elsewhere.
    """
    try:
        if service.elsewhere is None:
            raise not_there("page")
        if page == "oidc-start":
            secret, where = service.elsewhere.begin()
            return _sent(where, f"{ATTEMPT}={secret}; Max-Age=600; Path=/; Secure; HttpOnly; SameSite=Lax")
        subject = service.elsewhere.known(request.cookies.get(ATTEMPT, ""), request.query_params)
        name = service.office.accounts.identified(service.elsewhere.issuer, subject)
        if not name:
            who = f"issuer {service.elsewhere.issuer}, subject {subject[:255]}"
            raise Turned(
                403, "there is no account for you here", fix=f"ask an admin to give yours this identity: {who}"
            )
        secret = service.office.accounts.begin(name, "sign-in-elsewhere")
    except TetraodonError as error:
        return _sign_in(service, error)
    found = _html(page_html("welcome", None))
    found.headers["Set-Cookie"] = cookie_for(secret)
    return found


def _sign_in(service: Service, error: TetraodonError | None = None) -> Response:
    """The page to sign in on, here or elsewhere, and why it is shown again."""
    found = page_html("sign-in", None, error=error, elsewhere=service.elsewhere is not None)
    return _html(found, 200 if error is None else status_of(error))


def _seen(office: Office, page: str, sight: Sight) -> Response:
    if page != "act":
        return _sent("/account") if page == "datasets" and sight.who.role == "admin" else _shown(office, page, sight)
    try:
        found = done(office, sight)
    except TetraodonError as error:
        found = {"error": error}
    if isinstance(found, str):
        return _sent(found)
    form = FORMS.get(sight.fields.get("form", ""))
    again = Sight(sight.who, {"dataset": sight.fields.get("dataset", "")}, sight.fields)
    return _shown(office, "account" if form is None else form.page, again, **found)


def _shown(office: Office, page: str, sight: Sight, error: TetraodonError | None = None, **more: Any) -> Response:
    """A page, with what came of a form, or why nothing did."""
    try:
        name, values = PAGES[page](office, sight)
    except TetraodonError as unseen:
        name, values, error = "refused", {}, error or unseen
    values = {"plan": None, "secret": None} | values | more
    return _html(page_html(name, sight.who, error=error, **values), 200 if error is None else status_of(error))


def _html(text: str, status: int = 200) -> Response:
    return Response(text, status, HEADERS | {"Content-Security-Policy": RULES}, media_type="text/html")


def _sent(where: str, cookie: str = "") -> Response:
    return Response("", 303, HEADERS | {"Location": where} | ({"Set-Cookie": cookie} if cookie else {}))


# -- pages -------------------------------------------------------------------------------------------


def datasets(office: Office, sight: Sight) -> tuple[str, dict[str, Any]]:
    return "datasets", {"datasets": office.holdings.listed(sight.who), "fields": sight.fields}


def dataset(office: Office, sight: Sight) -> tuple[str, dict[str, Any]]:
    """One data set: its promise, its budget over time, and the forms of whoever looks."""
    name, who = sight.path["dataset"], sight.who
    found = office.holdings.shown(who, name)
    values: dict[str, Any] = {"found": found, "fields": sight.fields, "history": [], "steps": ""}
    values["key"] = secrets.token_hex(16)
    values["allotments"] = [] if who.role == "analyst" else office.holdings.allotments(who, name)
    if found["left"] is not None and who.role != "analyst":
        values |= _history(office, name)
    return "dataset", values


def _history(office: Office, name: str) -> dict[str, Any]:
    """What was charged and when, and the steps of the sum as points of a line: time to the right, the total on top."""
    account, entries = office.ledger.account(name), office.ledger.entries(name)
    begun, now = datetime.fromisoformat(account.opened), datetime.now(UTC)
    spent, rows, points, height = account.total * 0, [], ["0,0"], 0.0
    for entry in entries:
        spent += entry.charged
        at = 100 * min(max((datetime.fromisoformat(entry.when) - begun) / max(now - begun, MOMENT), 0.0), 1.0)
        points.append(f"{at:.2f},{height:.2f}")
        height = 40 * min(float(spent / account.total), 1.0) if account.total else 0.0
        points.append(f"{at:.2f},{height:.2f}")
        rows.append({"when": _told(entry.when), "owner": entry.owner, "charged": shown_above(entry.charged)})
    since = _told(account.opened)
    points.append(f"100,{height:.2f}")
    return {"history": rows[::-1], "steps": " ".join(points), "since": since, "left": shown_below(account.left)}


def _told(when: str) -> str:
    """A moment as a page shows it."""
    return when[:16].replace("T", " ")


def requests(office: Office, sight: Sight) -> tuple[str, dict[str, Any]]:
    found = office.petitions.listed(sight.who)
    asked = [[json.dumps(item, ensure_ascii=False) for item in one["items"]] for one in found]
    return "requests", {"requests": [one | {"asked": items} for one, items in zip(found, asked, strict=True)]}


def audit(office: Office, sight: Sight) -> tuple[str, dict[str, Any]]:
    if sight.who.role not in AUDITING:
        raise not_allowed()
    among = None if sight.who.role == "auditor" else office.holdings.curated(sight.who)
    events = office.state.events(among=among, newest=True)
    head = office.ledger.audit().head if sight.who.role == "auditor" else ""
    return "audit", {"events": [{"when": moment(event.moment), "event": event} for event in events], "head": head}


def account(office: Office, sight: Sight) -> tuple[str, dict[str, Any]]:
    """One's own tokens, and for admins all accounts."""
    own = [one | {"expires": moment(one["expires"])} for one in office.accounts.own_tokens(sight.who)]
    everybody = office.accounts.listed() if sight.who.role == "admin" else []
    scopes = {scope: words for scope, (words, roles) in TOKENS.items() if sight.who.role in roles}
    return "account", {"tokens": own, "accounts": everybody, "roles": ROLES, "scopes": scopes, "fields": sight.fields}


TOKENS: Final = {
    "read": ("look", EVERYBODY),
    "plan": ("plan, and ask releases", READERS),
    "request": ("ask for releases", frozenset(("analyst",))),
    "govern": ("propose, open, allot, approve", frozenset(("curator",))),
    "accounts": ("manage accounts", frozenset(("admin",))),
}
"""What a token may be made for, in words, and by whom."""
PAGES: dict[str, Page] = {
    "datasets": datasets,
    "dataset": dataset,
    "requests": requests,
    "audit": audit,
    "account": account,
}
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
