"""Pages for people: data sets, requests, approvals, budget over time, audit. Forms do what the routes do, no more."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs, quote

from anyio import to_thread
from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import Response

from tetraodon.errors import TetraodonError
from tetraodon.ledger import shown_above, shown_below
from tetraodon.policy.publisher import NOBODY
from tetraodon.policy.source import read_source
from tetraodon.report.page import FOLDER as REPORT
from tetraodon.report.page import templates as report_templates
from tetraodon.server.accounts import Person
from tetraodon.server.bodies import AskedItems, NewAllotment, Petition, Proposal
from tetraodon.server.office import Office
from tetraodon.server.petitions import moment
from tetraodon.server.refusal import Turned, not_allowed, not_there, status_of
from tetraodon.server.routes import COOKIE, cookie_for
from tetraodon.studio.doorkeeper import HEADERS, REPORT_RULES, RULES
from tetraodon.studio.pages import asset

if TYPE_CHECKING:
    from jinja2 import Environment

    from tetraodon.server.app import Service

HERE = Path(__file__).parent
RELEASE_RULES: Final = REPORT_RULES
ATTEMPT = "__Host-tetraodon-attempt"
MOMENT = timedelta(microseconds=1)
MOST_WRITTEN = 20_000
"""Characters of items in a form: these are read in the process that serves everybody."""
AUDITING = ("auditor", "curator")
MENU = {"datasets": "Data sets", "requests": "Requests", "audit": "Audit"}


@dataclass(frozen=True)
class Sight:
    """Who looks, at what, and what their form says."""

    who: Person
    path: Mapping[str, str]
    fields: Mapping[str, str] = field(default_factory=dict)


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
    menu = {page: title for page, title in MENU.items() if page != "audit" or (who and who.role in AUDITING)}
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
        return await to_thread.run_sync(_elsewhere, service, page, request)
    if page == "sign-in":
        return await _signing_in(service, request.method, fields, headers)
    try:
        who = await to_thread.run_sync(service.doorway.known, request.method, headers, cookie)
    except Turned as turned:
        if turned.status == 401 and request.method == "GET":
            return _sent("/sign-in")
        return _html(page_html("sign-in", None, error=turned), turned.status)
    if page == "sign-out":
        await to_thread.run_sync(service.office.accounts.sign_out, cookie)
        return _sent("/sign-in", cookie_for(""))
    sight = Sight(who, request.path_params, fields)
    limiter = service.slow if page == "act" else service.quick
    return await to_thread.run_sync(_seen, service.office, page, sight, limiter=limiter)


async def _signing_in(service: Service, method: str, fields: Mapping[str, str], headers: dict[str, str]) -> Response:
    if method == "GET":
        return _html(page_html("sign-in", None))
    try:
        secret = await service.signed_in(fields.get("name", ""), fields.get("password", ""), headers)
    except TetraodonError as error:
        return _html(page_html("sign-in", None, error=error), status_of(error))
    return _sent("/datasets", cookie_for(secret))


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
        name = service.elsewhere.known(request.cookies.get(ATTEMPT, ""), request.query_params)
        if not service.office.accounts.role_of(name):
            raise Turned(403, "there is no account for you here", fix="ask an admin for one")
        secret = service.office.accounts.begin(name, "sign-in-elsewhere")
    except TetraodonError as error:
        return _html(page_html("sign-in", None, error=error), status_of(error))
    found = _html(page_html("welcome", None))
    found.headers["Set-Cookie"] = cookie_for(secret)
    return found


def _seen(office: Office, page: str, sight: Sight) -> Response:
    status, error = 200, None
    if page == "act":
        try:
            back = _done(office, sight)
        except TetraodonError as wrong:
            status, error, back = status_of(wrong), wrong, ""
        if back:
            return _sent(back)
        page = "dataset" if sight.fields.get("dataset") else "requests"
        page = "datasets" if sight.fields.get("form") == "propose" else page
        sight = Sight(sight.who, {"dataset": sight.fields.get("dataset", "")}, sight.fields)
    try:
        name, values = PAGES[page](office, sight)
    except TetraodonError as wrong:
        return _html(page_html("sign-in", sight.who, error=wrong), status_of(wrong))
    return _html(page_html(name, sight.who, **({"error": error} | values)), status)


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
    values: dict[str, Any] = {"found": found, "fields": sight.fields, "plan": None, "history": [], "steps": ""}
    values["key"] = secrets.token_hex(16)
    values["allotments"] = [] if who.role == "analyst" else office.holdings.allotments(who, name)
    if found["left"] is not None and who.role != "analyst":
        values |= _history(office, name)
    if sight.fields.get("form") == "plan":
        try:
            values["plan"] = office.petitions.plan(who, name, _asked(sight.fields))
        except TetraodonError as error:
            values["error"] = error
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
    return "audit", {"events": [{"when": moment(event.moment), "event": event} for event in events]}


# -- forms -------------------------------------------------------------------------------------------


def _asked(fields: Mapping[str, str]) -> dict[str, Any]:
    """What a form asks: items as in a policy file, and an epsilon."""
    return AskedItems.model_validate({"items": _items(fields), "epsilon": fields.get("epsilon") or None}).document()


def _items(fields: Mapping[str, str]) -> list[Any]:
    if len(fields.get("items", "")) > MOST_WRITTEN:
        raise Turned(422, "that is too long for a form", fix="send the items as JSON: see /openapi.json")
    found = read_source(f"release:\n{fields.get('items', '')}\n").data
    items = found.get("release") if isinstance(found, dict) else None
    if not isinstance(items, list) or not all(isinstance(one, dict) for one in items):
        raise Turned(422, "these are no items", fix="write lines such as `- {name: ages, histogram: age}`")
    return json.loads(json.dumps(items))  # type: ignore[no-any-return]


def _done(office: Office, sight: Sight) -> str:
    """Carry out a form; where to go then, or nothing to show the page again."""
    fields, who = sight.fields, sight.who
    name, key = fields.get("dataset", ""), fields.get("request", "")
    try:
        match fields.get("form", ""):
            case "plan":
                return ""
            case "request" if who.role == "analyst":
                said = Petition.model_validate(_asked(fields) | {"purpose": fields.get("purpose", "")})
                office.petitions.make(who, name, said.document(), said.purpose, fields.get("key", "")[:100] or "page")
                return "/requests"
            case "approve" | "reject" as word if who.role == "curator":
                office.petitions.decide(who, key, approve=word == "approve")
                return "/requests"
            case "propose" if who.role == "curator":
                given = {key: fields.get(key, "") for key in ("policy", "total", "rows")}
                proposed = Proposal.model_validate(given | {"curators": fields.get("curators", "").split()})
                found = office.holdings.propose(
                    who, proposed.policy, proposed.total, fields.get("delta") or 0, proposed.rows, proposed.curators
                )
                return f"/datasets/{quote(found['name'])}"
            case "open" if who.role == "curator":
                office.holdings.open(who, name)
                return f"/datasets/{quote(name)}"
            case "allot" if who.role == "curator":
                until = fields.get("expires", "")
                said_so = {"amount": fields.get("amount", ""), "expires": f"{until}T00:00:00Z" if until else None}
                allotted = NewAllotment.model_validate(said_so)
                expires: datetime | None = allotted.until
                office.holdings.allot(who, name, fields.get("user", ""), allotted.amount, expires)
                return f"/datasets/{quote(name)}"
    except ValidationError as error:
        wrong = ".".join(str(part) for part in error.errors(include_url=False)[0]["loc"]) or "it"
        raise Turned(422, f"the form is not as it should be: {wrong}", fix="fill in every field") from None
    except ValueError:
        raise Turned(422, "the form is not as it should be", fix="fill in every field") from None
    raise not_allowed()


PAGES: dict[str, Page] = {"datasets": datasets, "dataset": dataset, "requests": requests, "audit": audit}
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
    ("/act", ["POST"], "act"),
)
