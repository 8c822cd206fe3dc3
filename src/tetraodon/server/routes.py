"""The routes: who may call them, with what, and which function answers. The app and the tests read this table."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from tetraodon.ledger.signing import SIGNATURE
from tetraodon.releases.folder import MANIFEST
from tetraodon.server import bodies
from tetraodon.server.accounts import SESSION_SECONDS, Person
from tetraodon.server.office import Office
from tetraodon.server.petitions import moment
from tetraodon.server.refusal import Turned, not_there

COOKIE = "__Host-tetraodon"
ANALYST, CURATOR, AUDITOR, ADMIN = "analyst", "curator", "auditor", "admin"
EVERYBODY = frozenset((ANALYST, CURATOR, AUDITOR, ADMIN))
READERS = frozenset((ANALYST, CURATOR, AUDITOR))
PLANNERS = frozenset((ANALYST, CURATOR))
MOST_ROWS = 10_000
AnyBody = TypeVar("AnyBody", bound=bodies.Body)


@dataclass(frozen=True, slots=True)
class Visit:
    """One call: who, and what they said. Pre: the door has let them in, and the body is what the route wants."""

    who: Person
    path: Mapping[str, str]
    query: Mapping[str, str]
    body: bodies.Body | None = None
    key: str = ""
    cookie: str = ""

    def said(self, kind: type[AnyBody]) -> AnyBody:
        assert isinstance(self.body, kind)
        return self.body


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer that is no JSON, or has a cookie with it."""

    content: bytes = b""
    kind: str = "application/octet-stream"
    document: Any = None
    cookie: str = ""


Handler: TypeAlias = Callable[[Office, Visit], Any]


@dataclass(frozen=True, slots=True)
class Entrance:
    """A route: its method and path, who may come in with which scope, the kind of its body, and who answers."""

    method: str
    path: str
    answer: Handler
    summary: str
    roles: frozenset[str] = EVERYBODY
    scope: str = "read"
    body: type[bodies.Body] | None = None
    status: int = 200
    query: Mapping[str, str] | None = None
    """Parameters of the address, with what they mean; all are whole numbers."""
    keyed: bool = False
    """Whether it wants an Idempotency-Key."""
    slow: bool = False
    """Whether it may wait for a process of its own, of which there are few: then it must not keep others waiting."""


def whole(visit: Visit, name: str, otherwise: int, most: int) -> int:
    """A whole number in the address."""
    text = visit.query.get(name, "")
    if not text:
        return otherwise
    if not (text.isascii() and text.isdigit() and len(text) < 10) or int(text) > most:
        raise Turned(422, f"{name} is no whole number up to {most}", fix="write one")
    return int(text)


# -- who calls ---------------------------------------------------------------------------------------


def sign_out(office: Office, visit: Visit) -> Reply:
    office.accounts.sign_out(visit.cookie)
    return Reply(document={}, cookie=cookie_for(""))


def cookie_for(secret: str) -> str:
    """The cookie of a session: for this host alone, over TLS alone, unseen by scripts. Empty ends it."""
    age = SESSION_SECONDS if secret else 0
    return f"{COOKIE}={secret}; Max-Age={age}; Path=/; Secure; HttpOnly; SameSite=Strict"


def me(office: Office, visit: Visit) -> dict[str, Any]:
    del office
    return {"name": visit.who.name, "role": visit.who.role, "scopes": sorted(visit.who.scopes)}


def tokens(office: Office, visit: Visit) -> dict[str, Any]:
    return {"tokens": [one | {"expires": moment(one["expires"])} for one in office.accounts.own_tokens(visit.who)]}


def new_token(office: Office, visit: Visit) -> dict[str, Any]:
    said = visit.said(bodies.NewToken)
    made = office.accounts.new_token(visit.who, said.label, list(said.scopes), said.days)
    return made | {"expires": moment(made["expires"])}


def remove_token(office: Office, visit: Visit) -> dict[str, Any]:
    office.accounts.remove_token(visit.who, visit.path["token"])
    return {}


def accounts(office: Office, visit: Visit) -> dict[str, Any]:
    del visit
    return {"accounts": office.accounts.listed()}


def new_account(office: Office, visit: Visit) -> dict[str, Any]:
    said = visit.said(bodies.NewAccount)
    office.accounts.add(visit.who.name, said.name, said.role, said.password)
    return {"name": said.name, "role": said.role}


def change_account(office: Office, visit: Visit) -> dict[str, Any]:
    said, name = visit.said(bodies.ChangedAccount), visit.path["user"]
    change = office.accounts.change
    change(visit.who.name, name, password=said.password, disabled=said.disabled, identity=said.identified)
    return {"name": name}


# -- data sets ---------------------------------------------------------------------------------------


def listed(office: Office, visit: Visit) -> dict[str, Any]:
    return {"datasets": office.holdings.listed(visit.who)}


def propose(office: Office, visit: Visit) -> dict[str, Any]:
    said = visit.said(bodies.Proposal)
    return office.holdings.propose(visit.who, said.policy, said.total, said.delta, said.rows, said.curators)


def opened(office: Office, visit: Visit) -> dict[str, Any]:
    return office.holdings.open(visit.who, visit.path["dataset"])


def shown(office: Office, visit: Visit) -> dict[str, Any]:
    return office.holdings.shown(visit.who, visit.path["dataset"])


def dummy(office: Office, visit: Visit) -> dict[str, Any]:
    row = office.holdings.seen(visit.who, visit.path["dataset"])
    rows = whole(visit, "rows", 100, MOST_ROWS)
    return {"made_up": True, "rows": office.planner.made_up(visit.who.name, json.loads(row.policy), rows)}


def planned(office: Office, visit: Visit) -> dict[str, Any]:
    return office.petitions.plan(visit.who, visit.path["dataset"], visit.said(bodies.AskedItems).document())


def requested(office: Office, visit: Visit) -> dict[str, Any]:
    said = visit.said(bodies.Petition)
    return office.petitions.make(visit.who, visit.path["dataset"], said.document(), said.purpose, visit.key)


def allotments(office: Office, visit: Visit) -> dict[str, Any]:
    return {"allotments": office.holdings.allotments(visit.who, visit.path["dataset"])}


def allot(office: Office, visit: Visit) -> dict[str, Any]:
    said = visit.said(bodies.NewAllotment)
    return office.holdings.allot(visit.who, visit.path["dataset"], visit.path["user"], said.amount, said.until)


# -- requests and releases ---------------------------------------------------------------------------


def requests(office: Office, visit: Visit) -> dict[str, Any]:
    return {"requests": office.petitions.listed(visit.who)}


def request(office: Office, visit: Visit) -> dict[str, Any]:
    return office.petitions.shown(visit.who, visit.path["request"])


def approve(office: Office, visit: Visit) -> dict[str, Any]:
    return office.petitions.decide(visit.who, visit.path["request"], approve=True)


def reject(office: Office, visit: Visit) -> dict[str, Any]:
    return office.petitions.decide(visit.who, visit.path["request"], approve=False)


def folder_of(office: Office, visit: Visit) -> tuple[Path, list[str]]:
    """The folder of a release that is out, and the files in it."""
    folder = office.releases / office.petitions.released(visit.who, visit.path["release"]).id
    try:
        names = [*json.loads((folder / MANIFEST).read_bytes())["files"], MANIFEST]
    except (OSError, ValueError, KeyError):
        raise not_there("release") from None
    return folder, names + [SIGNATURE] * (folder / SIGNATURE).exists()


def release(office: Office, visit: Visit) -> dict[str, Any]:
    folder, names = folder_of(office, visit)
    return {"id": folder.name, "files": sorted(names)}


def release_file(office: Office, visit: Visit) -> Reply:
    folder, names = folder_of(office, visit)
    name = visit.path["file"]
    if name not in names:
        raise not_there("file")
    return Reply((folder / name).read_bytes(), "text/html" if name.endswith(".html") else "application/octet-stream")


def ask(office: Office, visit: Visit) -> dict[str, Any]:
    folder, _ = folder_of(office, visit)
    said = visit.said(bodies.FreeQuestion)
    sure = None if said.confidence is None else str(said.confidence)
    return office.planner.ask(visit.who.name, str(folder), said.question, sure)


def events(office: Office, visit: Visit) -> dict[str, Any]:
    among = None if visit.who.role == AUDITOR else office.holdings.curated(visit.who)
    found = office.state.events(after=whole(visit, "after", 0, 10**9 - 1), among=among)
    told = [{"id": e.id, "when": moment(e.moment), "who": e.person, "what": e.what} for e in found]
    return {
        "events": [t | {"dataset": e.dataset, "subject": e.subject} for t, e in zip(told, found, strict=True)],
        "last_hash": office.ledger.audit().head if visit.who.role == AUDITOR else None,
    }


ONLY = {role: frozenset((role,)) for role in EVERYBODY}
IN = "/v1/datasets/{dataset}"
DOORS: tuple[Entrance, ...] = (
    Entrance("DELETE", "/v1/session", sign_out, "End the session."),
    Entrance("GET", "/v1/me", me, "Who you are."),
    Entrance("GET", "/v1/tokens", tokens, "Your tokens, without their secrets."),
    Entrance("POST", "/v1/tokens", new_token, "A token; its secret is told once.", body=bodies.NewToken, status=201),
    Entrance("DELETE", "/v1/tokens/{token}", remove_token, "Remove a token."),
    Entrance("GET", "/v1/accounts", accounts, "All accounts.", ONLY[ADMIN], "accounts"),
    Entrance(
        "POST", "/v1/accounts", new_account, "A new account.", ONLY[ADMIN], "accounts", bodies.NewAccount, status=201
    ),
    Entrance(
        "PUT", "/v1/accounts/{user}", change_account, "Password, identity at an OpenID provider, or disabled.",
        ONLY[ADMIN], "accounts", bodies.ChangedAccount,
    ),
    Entrance("GET", "/v1/datasets", listed, "The data sets that you may see.", READERS),
    Entrance(
        "POST", "/v1/datasets", propose, "Propose a data set.", ONLY[CURATOR], "govern", bodies.Proposal, status=201,
        slow=True,
    ),
    Entrance("GET", IN, shown, "Policy, promise in words, your allotment, what is left.", READERS),
    Entrance("POST", f"{IN}/open", opened, "Open what another curator proposed.", ONLY[CURATOR], "govern"),
    Entrance(
        "GET", f"{IN}/dummy", dummy, "Made-up rows for writing code; no table is read.", READERS,
        query={"rows": f"how many, up to {MOST_ROWS}"}, slow=True,
    ),
    Entrance(
        "POST", f"{IN}/plan", planned, "Plan, charge, whether it fits.", PLANNERS, "plan", bodies.AskedItems, slow=True
    ),
    Entrance(
        "POST", f"{IN}/requests", requested, "Ask for a release.", ONLY[ANALYST], "request", bodies.Petition,
        status=202, keyed=True, slow=True,
    ),
    Entrance("GET", f"{IN}/allotments", allotments, "Who may spend how much.", frozenset((CURATOR, AUDITOR))),
    Entrance("PUT", f"{IN}/allotments/{{user}}", allot, "Allot.", ONLY[CURATOR], "govern", bodies.NewAllotment),
    Entrance("GET", "/v1/requests", requests, "Your requests, or those of your data sets.", READERS),
    Entrance("GET", "/v1/requests/{request}", request, "A request and its state.", READERS),
    Entrance("POST", "/v1/requests/{request}/approve", approve, "Approve; its slot begins.", ONLY[CURATOR], "govern"),
    Entrance("POST", "/v1/requests/{request}/reject", reject, "Reject it.", ONLY[CURATOR], "govern"),
    Entrance("GET", "/v1/releases/{release}", release, "The files of a release.", READERS),
    Entrance("GET", "/v1/releases/{release}/files/{file:path}", release_file, "One of them.", READERS),
    Entrance(
        "POST", "/v1/releases/{release}/ask", ask, "Ask a release; free.", READERS, "plan", bodies.FreeQuestion,
        slow=True,
    ),
    Entrance(
        "GET", "/v1/audit", events, "Who did what.", frozenset((CURATOR, AUDITOR)),
        query={"after": "only events with a larger number"},
    ),
)  # fmt: skip
