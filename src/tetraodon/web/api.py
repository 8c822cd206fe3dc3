"""The HTTP API: bodies, endpoints with the roles and scopes that they need, and the OpenAPI document made from them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

from pydantic import AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field

from tetraodon import __version__
from tetraodon.errors import PolicyError
from tetraodon.exact.rational import rational
from tetraodon.ledger.signing import SIGNATURE
from tetraodon.releases.folder import MANIFEST
from tetraodon.web.app_context import AppContext
from tetraodon.web.auth import ADMIN, ANALYST, AUDITOR, CURATOR, EVERYBODY, ONLY, PLANNERS, READERS, Person, cookie_for
from tetraodon.web.http_errors import HttpError, not_found
from tetraodon.web.requests import moment

# -- bodies ----------------------------------------------------------------------------------------
# Unknown fields are refused.


MAX_DEPTH = 50


def storable_json(content: bytes) -> Any:
    """JSON that a database can store. ValueError or RecursionError otherwise.

    Why  a database would refuse a lone surrogate, infinity or a zero byte later, and be reported as broken.

    >>> storable_json(b'{"a": 1}')
    {'a': 1}
    """
    found = json.loads(content)
    text = json.dumps(found, allow_nan=False, ensure_ascii=False)
    text.encode()
    if "\\u0000" in text.replace("\\\\", ""):
        raise ValueError("a zero byte")
    level = [found] if isinstance(found, dict | list) else []
    for _ in range(MAX_DEPTH):
        level = [one for part in level for one in (part.values() if isinstance(part, dict) else part)]
        level = [one for one in level if isinstance(one, dict | list)]
    if level:
        raise ValueError("too deep")
    return found


def exact(found: Any) -> Any:
    """An amount that is a number, as it was written."""
    try:
        rational(found, name="the amount")
    except PolicyError as error:
        raise ValueError(error.what) from None
    return found


Amount: TypeAlias = Annotated[
    int | float | str, BeforeValidator(exact), Field(description="Exact: 0.1 and '0.1' mean one tenth.")
]
Line: TypeAlias = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")]


class Body(BaseModel):
    """A body of a call."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class Credentials(Body):
    name: Annotated[str, Field(max_length=100)]
    password: Annotated[str, Field(max_length=1000)]


class NewAccount(Body):
    name: Annotated[str, Field(max_length=32)]
    role: Literal["analyst", "curator", "auditor", "admin"]
    password: Annotated[str, Field(max_length=1000)]


class Identity(Body):
    """A person as an OpenID provider knows them: its issuer, and the claim `sub`."""

    issuer: Line
    subject: Annotated[str, Field(min_length=1, max_length=255, pattern=r"^[^\x00-\x1f\x7f]+$")]


class ChangedAccount(Body):
    password: Annotated[str, Field(max_length=1000)] | None = None
    disabled: bool | None = None
    identity: Identity | None = None


class NewToken(Body):
    label: Line
    scopes: Annotated[list[Literal["read", "plan", "request", "govern", "accounts"]], Field(min_length=1, max_length=5)]
    days: Annotated[int, Field(ge=1, le=366)] = 30


class Proposal(Body):
    policy: str | dict[str, Any]
    total: Amount
    delta: Amount = 0
    rows: Annotated[int, Field(ge=1, le=10**12, description="How many rows there may be, from public knowledge.")]
    curators: Annotated[list[Line], Field(min_length=1, max_length=50)]


class AskedItems(Body):
    """Items as under `release` of a policy file, and an epsilon or an error."""

    items: Annotated[list[dict[str, Any]], Field(min_length=1, max_length=100)]
    epsilon: Amount | None = None
    error: int | float | str | dict[str, int | float | str] | None = None
    confidence: Amount | None = None
    records: Annotated[int, Field(ge=1, le=10**12)] | None = None

    def document(self) -> dict[str, Any]:
        """What is asked, as a planner reads it."""
        return self.model_dump(include={"items", "epsilon", "error", "confidence", "records"})


class NewRequest(AskedItems):
    purpose: Annotated[str, Field(min_length=1, max_length=2000)]


class NewAllotment(Body):
    amount: Amount
    expires: AwareDatetime | None = None


class FreeQuestion(Body):
    question: Annotated[str, Field(min_length=1, max_length=2000)]
    confidence: Amount | None = None


# -- endpoints -------------------------------------------------------------------------------------


MAX_ROWS = 10_000
AnyBody = TypeVar("AnyBody", bound=Body)


@dataclass(frozen=True, slots=True)
class Call:
    """One call of an endpoint. Pre: the caller is authorised, and the body is of the kind that the endpoint takes."""

    who: Person
    path: Mapping[str, str]
    query: Mapping[str, str]
    body: Body | None = None
    key: str = ""
    cookie: str = ""

    def sent(self, kind: type[AnyBody]) -> AnyBody:
        assert isinstance(self.body, kind)
        return self.body


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer that is not JSON, or sets a cookie."""

    content: bytes = b""
    kind: str = "application/octet-stream"
    document: Any = None
    cookie: str = ""


Handler: TypeAlias = Callable[[AppContext, Call], Any]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A route: method and path, roles and scope that may call it, the kind of its body, and its handler."""

    method: str
    path: str
    answer: Handler
    summary: str
    roles: frozenset[str] = EVERYBODY
    scope: str = "read"
    body: type[Body] | None = None
    status: int = 200
    query: Mapping[str, str] | None = None
    """Query parameters with their descriptions; all are whole numbers."""
    keyed: bool = False
    """Whether it needs an Idempotency-Key."""
    slow: bool = False
    """Whether it waits for one of the few planning processes, so that it needs a thread limit of its own."""


def whole(call: Call, name: str, otherwise: int, most: int) -> int:
    """A whole number in the query string."""
    text = call.query.get(name, "")
    if not text:
        return otherwise
    if not (text.isascii() and text.isdigit() and len(text) < 10) or int(text) > most:
        raise HttpError(422, f"{name} must be a whole number up to {most}", fix="write digits only")
    return int(text)


def _sign_out(context: AppContext, call: Call) -> Reply:
    context.accounts.sign_out(call.cookie)
    return Reply(document={}, cookie=cookie_for(""))


def _own_tokens(context: AppContext, call: Call) -> dict[str, Any]:
    return {"tokens": [one | {"expires": moment(one["expires"])} for one in context.accounts.own_tokens(call.who)]}


def _new_token(context: AppContext, call: Call) -> dict[str, Any]:
    sent = call.sent(NewToken)
    made = context.accounts.new_token(call.who, sent.label, list(sent.scopes), sent.days)
    return made | {"expires": moment(made["expires"])}


def _remove_token(context: AppContext, call: Call) -> dict[str, Any]:
    context.accounts.remove_token(call.who, call.path["token"])
    return {}


def _new_account(context: AppContext, call: Call) -> dict[str, Any]:
    sent = call.sent(NewAccount)
    context.accounts.add(call.who.name, sent.name, sent.role, sent.password)
    return {"name": sent.name, "role": sent.role}


def _change_account(context: AppContext, call: Call) -> dict[str, Any]:
    sent, name = call.sent(ChangedAccount), call.path["user"]
    identity = None if sent.identity is None else (sent.identity.issuer, sent.identity.subject)
    change = context.accounts.change
    change(call.who.name, name, password=sent.password, disabled=sent.disabled, identity=identity)
    return {"name": name}


def _propose(context: AppContext, call: Call) -> dict[str, Any]:
    sent = call.sent(Proposal)
    return context.datasets.propose(call.who, sent.policy, sent.total, sent.delta, sent.rows, sent.curators)


def _dummy(context: AppContext, call: Call) -> dict[str, Any]:
    row = context.datasets.seen(call.who, call.path["dataset"])
    rows = whole(call, "rows", 100, MAX_ROWS)
    return {"made_up": True, "rows": context.planner.synthetic_rows(call.who.name, json.loads(row.policy), rows)}


def _request(context: AppContext, call: Call) -> dict[str, Any]:
    sent = call.sent(NewRequest)
    return context.requests.make(call.who, call.path["dataset"], sent.document(), sent.purpose, call.key)


def _allot(context: AppContext, call: Call) -> dict[str, Any]:
    sent = call.sent(NewAllotment)
    return context.datasets.allot(call.who, call.path["dataset"], call.path["user"], sent.amount, sent.expires)


def _folder_of(context: AppContext, call: Call) -> tuple[Path, list[str]]:
    """The folder of a release that is published, and the files in it."""
    folder = context.releases / context.requests.released(call.who, call.path["release"]).id
    try:
        names = [*json.loads((folder / MANIFEST).read_bytes())["files"], MANIFEST]
    except (OSError, ValueError, KeyError):
        raise not_found("release") from None
    return folder, names + [SIGNATURE] * (folder / SIGNATURE).exists()


def _release(context: AppContext, call: Call) -> dict[str, Any]:
    folder, names = _folder_of(context, call)
    return {"id": folder.name, "files": sorted(names)}


def _release_file(context: AppContext, call: Call) -> Reply:
    folder, names = _folder_of(context, call)
    name = call.path["file"]
    if name not in names:
        raise not_found("file")
    return Reply((folder / name).read_bytes(), "text/html" if name.endswith(".html") else "application/octet-stream")


def _ask(context: AppContext, call: Call) -> dict[str, Any]:
    folder, _ = _folder_of(context, call)
    sent = call.sent(FreeQuestion)
    confidence = None if sent.confidence is None else str(sent.confidence)
    return context.planner.ask(call.who.name, str(folder), sent.question, confidence)


def _audit(context: AppContext, call: Call) -> dict[str, Any]:
    among = None if call.who.role == AUDITOR else context.datasets.curated(call.who)
    found = context.state.events(after=whole(call, "after", 0, 10**9 - 1), among=among)
    events = [
        {
            "id": event.id,
            "when": moment(event.moment),
            "who": event.person,
            "what": event.what,
            "dataset": event.dataset,
            "subject": event.subject,
        }
        for event in found
    ]
    return {"events": events, "last_hash": context.ledger.audit().head if call.who.role == AUDITOR else None}


IN = "/v1/datasets/{dataset}"
ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint("DELETE", "/v1/session", _sign_out, "End the session."),
    Endpoint(
        "GET", "/v1/me",
        lambda _, call: {"name": call.who.name, "role": call.who.role, "scopes": sorted(call.who.scopes)},
        "Who you are.",
    ),
    Endpoint("GET", "/v1/tokens", _own_tokens, "Your tokens, without their secrets."),
    Endpoint("POST", "/v1/tokens", _new_token, "A token; its secret is returned once.", body=NewToken, status=201),
    Endpoint("DELETE", "/v1/tokens/{token}", _remove_token, "Remove a token."),
    Endpoint(
        "GET", "/v1/accounts", lambda context, _: {"accounts": context.accounts.listed()}, "All accounts.", ONLY[ADMIN],
        "accounts",
    ),
    Endpoint("POST", "/v1/accounts", _new_account, "A new account.", ONLY[ADMIN], "accounts", NewAccount, status=201),
    Endpoint(
        "PUT", "/v1/accounts/{user}", _change_account, "Password, identity at an OpenID provider, or disabled.",
        ONLY[ADMIN], "accounts", ChangedAccount,
    ),
    Endpoint(
        "GET", "/v1/datasets", lambda context, call: {"datasets": context.datasets.listed(call.who)},
        "The data sets that you may see.", READERS,
    ),
    Endpoint(
        "POST", "/v1/datasets", _propose, "Propose a data set.", ONLY[CURATOR], "govern", Proposal, status=201,
        slow=True,
    ),
    Endpoint(
        "GET", IN, lambda context, call: context.datasets.shown(call.who, call.path["dataset"]),
        "Policy, promise in words, your allotment, what is left.", READERS,
    ),
    Endpoint(
        "POST", f"{IN}/open", lambda context, call: context.datasets.open(call.who, call.path["dataset"]),
        "Open what another curator proposed.", ONLY[CURATOR], "govern",
    ),
    Endpoint(
        "GET", f"{IN}/dummy", _dummy, "Synthetic rows for writing code; no table is read.", READERS,
        query={"rows": f"how many, up to {MAX_ROWS}"}, slow=True,
    ),
    Endpoint(
        "POST", f"{IN}/plan",
        lambda context, call: context.requests.plan(call.who, call.path["dataset"], call.sent(AskedItems).document()),
        "Plan, charge, whether it fits.", PLANNERS, "plan", AskedItems, slow=True,
    ),
    Endpoint(
        "POST", f"{IN}/requests", _request, "Ask for a release.", ONLY[ANALYST], "request", NewRequest, status=202,
        keyed=True, slow=True,
    ),
    Endpoint(
        "GET", f"{IN}/allotments",
        lambda context, call: {"allotments": context.datasets.allotments(call.who, call.path["dataset"])},
        "Who may spend how much.", frozenset((CURATOR, AUDITOR)),
    ),
    Endpoint("PUT", f"{IN}/allotments/{{user}}", _allot, "Allot.", ONLY[CURATOR], "govern", NewAllotment),
    Endpoint(
        "GET", "/v1/requests", lambda context, call: {"requests": context.requests.listed(call.who)},
        "Your requests, or those of your data sets.", READERS,
    ),
    Endpoint(
        "GET", "/v1/requests/{request}", lambda context, call: context.requests.shown(call.who, call.path["request"]),
        "A request and its state.", READERS,
    ),
    Endpoint(
        "POST", "/v1/requests/{request}/approve",
        lambda context, call: context.requests.decide(call.who, call.path["request"], approve=True),
        "Approve; its slot begins.", ONLY[CURATOR], "govern",
    ),
    Endpoint(
        "POST", "/v1/requests/{request}/reject",
        lambda context, call: context.requests.decide(call.who, call.path["request"], approve=False),
        "Reject it.", ONLY[CURATOR], "govern",
    ),
    Endpoint("GET", "/v1/releases/{release}", _release, "The files of a release.", READERS),
    Endpoint("GET", "/v1/releases/{release}/files/{file:path}", _release_file, "One of them.", READERS),
    Endpoint(
        "POST", "/v1/releases/{release}/ask", _ask, "Ask a release; free.", READERS, "plan", FreeQuestion, slow=True
    ),
    Endpoint(
        "GET", "/v1/audit", _audit, "Who did what.", frozenset((CURATOR, AUDITOR)),
        query={"after": "only events with a larger number"},
    ),
)  # fmt: skip


# -- openapi ---------------------------------------------------------------------------------------


ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["type", "what", "where", "fix"],
            "properties": {name: {"type": "string"} for name in ("type", "what", "where", "fix")},
        }
    },
}
_PART = re.compile(r"{(\w+)(?::path)?}")


def path_parameters(endpoint: Endpoint) -> list[str]:
    """The names of the variable parts of an endpoint's path."""
    return _PART.findall(endpoint.path)


def openapi(endpoints: Sequence[Endpoint] = ENDPOINTS) -> dict[str, Any]:
    """Every route, its parameters and bodies, in OpenAPI 3.1."""
    paths: dict[str, dict[str, Any]] = {}
    schemas: dict[str, Any] = {"Error": ERROR}
    for endpoint in endpoints:
        paths.setdefault(_PART.sub(r"{\1}", endpoint.path), {})[endpoint.method.lower()] = _operation(endpoint, schemas)
    signing_in = {"summary": "Sign in with a browser.", "security": [], "requestBody": _body(Credentials, schemas)}
    paths.setdefault("/v1/session", {})["post"] = signing_in | {"responses": _responses(200)}
    for path in ("/healthz", "/metrics", "/openapi.json"):
        paths[path] = {"get": {"summary": path[1:], "security": [], "responses": {"200": {"description": "Well."}}}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Tetraodon", "version": __version__},
        "security": [{"token": []}],
        "paths": paths,
        "components": {"schemas": schemas, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
    }


def _operation(endpoint: Endpoint, schemas: dict[str, Any]) -> dict[str, Any]:
    parameters: list[dict[str, Any]] = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
        for name in path_parameters(endpoint)
    ]
    for name, words in (endpoint.query or {}).items():
        schema = {"type": "integer", "minimum": 0}
        parameters.append({"name": name, "in": "query", "description": words, "schema": schema})
    if endpoint.keyed:
        schema = {"type": "string", "minLength": 1, "maxLength": 100, "pattern": "^[!-~]+$"}
        parameters.append({"name": "Idempotency-Key", "in": "header", "required": True, "schema": schema})
    who = f"For: {', '.join(sorted(endpoint.roles))}; with the scope {endpoint.scope}."
    found = {
        "summary": endpoint.summary,
        "description": who,
        "parameters": parameters,
        "responses": _responses(endpoint.status),
    }
    return found if endpoint.body is None else found | {"requestBody": _body(endpoint.body, schemas)}


def _body(body: type[Body], schemas: dict[str, Any]) -> dict[str, Any]:
    schemas[body.__name__] = body.model_json_schema(ref_template="#/components/schemas/{model}")
    reference = {"$ref": f"#/components/schemas/{body.__name__}"}
    return {"required": True, "content": {"application/json": {"schema": reference}}}


def _responses(status: int) -> dict[str, Any]:
    error = {"description": "Refused, with its fix.", "content": {"application/json": {"schema": {"$ref": _ERROR}}}}
    return {str(status): {"description": "Done."}, "4XX": error, "503": error}


_ERROR = "#/components/schemas/Error"
