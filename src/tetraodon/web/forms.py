"""Forms: those of the server call the endpoints of the API, those of the studio edit the policy file."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias
from urllib.parse import quote

from pydantic import ValidationError

from tetraodon.errors import PolicyError
from tetraodon.ledger import Ledger
from tetraodon.policy.edit import edit_policy
from tetraodon.policy.joint_graph import METRICS
from tetraodon.policy.policy import Policy
from tetraodon.policy.source import KeyPath, Plain, read_source
from tetraodon.web.api import ENDPOINTS, IN, Call, path_parameters
from tetraodon.web.app_context import AppContext
from tetraodon.web.auth import SCOPES, Person
from tetraodon.web.http_errors import HttpError, forbidden
from tetraodon.web.policy_editor import PolicyEditor, ReleaseProcess
from tetraodon.web.studio_figures import BeliefAllowed

# -- forms of the server ---------------------------------------------------------------------------

MAX_ITEMS_TEXT = 20_000
"""Characters of items in a form: they are parsed in the process that serves every call."""
Fields: TypeAlias = Mapping[str, str]
Done: TypeAlias = str | dict[str, Any]
"""The address to go to next; or values for the page that is shown again."""


@dataclass(frozen=True)
class Submitted:
    """What a browser asked of a page: its user, the names in the path, and the fields of a form."""

    who: Person
    path: Mapping[str, str]
    fields: Fields = field(default_factory=dict)


class Form:
    """A form: the endpoint that it calls, the body made of its fields, the page of the form, and where to go then."""

    def __init__(
        self,
        calls: str,
        page: str,
        body: Callable[[Fields], Any] = lambda _: None,
        then: str | Callable[[Fields, Any], Done] = "",
    ) -> None:
        [self.endpoint] = [one for one in ENDPOINTS if f"{one.method} {one.path}" == calls]
        self.page, self._body, self._then = page, body, then

    def submit(self, context: AppContext, sent: Submitted) -> Done:
        """Call the endpoint with the fields as its body."""
        fields, endpoint = sent.fields, self.endpoint
        body = None if endpoint.body is None else endpoint.body.model_validate(self._body(fields))
        path = {name: fields.get(name, "") for name in path_parameters(endpoint)}
        key = fields.get("key", "")[:100] or "page" if endpoint.keyed else ""
        found = endpoint.answer(context, Call(sent.who, path, {}, body, key))
        return self._then if isinstance(self._then, str) else self._then(fields, found)


def submit(context: AppContext, sent: Submitted) -> Done:
    """Carry out a form, if the endpoint that it calls takes the role."""
    form = FORMS.get(sent.fields.get("form", ""))
    if form is None or sent.who.role not in form.endpoint.roles:
        raise forbidden()
    try:
        return form.submit(context, sent)
    except ValidationError as error:
        wrong = ".".join(str(part) for part in error.errors(include_url=False)[0]["loc"]) or "it"
        raise HttpError(422, f"the form has an invalid field: {wrong}", fix="fill in every field") from None
    except (ValueError, RecursionError):
        raise HttpError(422, "the form is invalid", fix="fill in every field") from None


def _asked(fields: Fields) -> dict[str, Any]:
    """Items as under `release` of a policy file, and an epsilon."""
    if len(fields.get("items", "")) > MAX_ITEMS_TEXT:
        raise HttpError(422, "that is too long for a form", fix="send the items as JSON: see /openapi.json")
    found = read_source(f"release:\n{fields.get('items', '')}\n").data
    items = found.get("release") if isinstance(found, dict) else None
    if not isinstance(items, list) or not all(isinstance(one, dict) for one in items):
        raise HttpError(422, "expected a list of items", fix="write lines such as `- {name: ages, histogram: age}`")
    return {"items": json.loads(json.dumps(items)), "epsilon": fields.get("epsilon") or None}


def _proposal(fields: Fields) -> dict[str, Any]:
    given = {key: fields.get(key, "") for key in ("policy", "total", "rows")}
    return given | {"delta": fields.get("delta") or 0, "curators": fields.get("curators", "").split()}


def _allotment(fields: Fields) -> dict[str, Any]:
    until = fields.get("expires", "")
    return {"amount": fields.get("amount", ""), "expires": f"{until}T00:00:00Z" if until else None}


def _token(fields: Fields) -> dict[str, Any]:
    scopes = [scope for scope in SCOPES if fields.get(scope)]
    return {"label": fields.get("label", ""), "scopes": scopes, "days": fields.get("days", "")}


def _account(fields: Fields) -> dict[str, Any]:
    return {"name": fields.get("user", ""), "role": fields.get("role", ""), "password": fields.get("password", "")}


def _identity(fields: Fields) -> dict[str, Any]:
    return {"identity": {name: fields.get(name, "") for name in ("issuer", "subject")}}


def _page_of(name: str) -> str:
    return f"/datasets/{quote(name)}"


FORMS: Final[Mapping[str, Form]] = {
    "plan": Form(f"POST {IN}/plan", "dataset", _asked, lambda _, plan: {"plan": plan}),
    "request": Form(
        f"POST {IN}/requests",
        "dataset",
        lambda fields: _asked(fields) | {"purpose": fields.get("purpose", "")},
        "/requests",
    ),
    "approve": Form("POST /v1/requests/{request}/approve", "requests", then="/requests"),
    "reject": Form("POST /v1/requests/{request}/reject", "requests", then="/requests"),
    "propose": Form("POST /v1/datasets", "datasets", _proposal, lambda _, made: _page_of(made["name"])),
    "open": Form(f"POST {IN}/open", "dataset", then=lambda _, made: _page_of(made["name"])),
    "allot": Form(
        f"PUT {IN}/allotments/{{user}}", "dataset", _allotment, lambda fields, _: _page_of(fields.get("dataset", ""))
    ),
    "token": Form("POST /v1/tokens", "account", _token, lambda _, made: {"secret": made["token"]}),
    "remove-token": Form("DELETE /v1/tokens/{token}", "account", then="/account"),
    "account": Form("POST /v1/accounts", "account", _account, "/account"),
    "password": Form(
        "PUT /v1/accounts/{user}", "account", lambda fields: {"password": fields.get("password", "")}, "/account"
    ),
    "openid": Form("PUT /v1/accounts/{user}", "account", _identity, "/account"),
    "disable": Form("PUT /v1/accounts/{user}", "account", lambda _: {"disabled": True}, "/account"),
    "enable": Form("PUT /v1/accounts/{user}", "account", lambda _: {"disabled": False}, "/account"),
}
"""Every form of the server. No other is carried out."""

# -- what the fields of the studio's forms say -----------------------------------------------------

FieldLists: TypeAlias = Mapping[str, Sequence[str]]
KINDS = ("integer", "real", "date", "categories", "ordered", "boolean")
"""Kinds of columns that have a form; others are edited in the text."""
QUESTIONS = ("histogram", "cdf", "ranges", "quantiles", "median", "mean", "total", "count")


def one(fields: FieldLists, name: str) -> str:
    """The only value of a field, without spaces around; empty if it was left out."""
    return (fields.get(name) or [""])[0].strip()


def listed(line: str) -> list[str]:
    """The values of a line with commas. A value with a comma in it is quoted.

    >>> listed('north, "south, with islands",')
    ['north', 'south, with islands']
    """
    (parts,) = csv.reader([line], skipinitialspace=True)
    return [part.strip() for part in parts if part.strip()]


def as_line(values: Sequence[str]) -> str:
    """The line that `listed` reads.

    >>> as_line(["north", "south, with islands"])
    'north, "south, with islands"'
    """
    quoted = (
        value if value and not any(sign in value for sign in ',"') else '"' + value.replace('"', '""') + '"'
        for value in values
    )
    return ", ".join(quoted)


def lines(text: str) -> list[str]:
    """The values of a text: one a line, or one line with commas."""
    parts = text.splitlines() if "\n" in text.strip() else listed(text)
    return [part.strip() for part in parts if part.strip()]


def path_of(fields: FieldLists) -> tuple[str | int, ...]:
    """The path in a field, as JSON."""
    try:
        found = json.loads(one(fields, "path"))
    except ValueError:
        found = None
    if not isinstance(found, list) or not all(isinstance(part, str | int) for part in found) or not found:
        raise PolicyError("the form names no place in the file", fix="load the page again")
    return tuple(found)


def attribute(fields: FieldLists, before: Plain) -> dict[str, Any]:
    """A column: its kind and values; what the form does not show stays as it was."""
    kind = one(fields, "kind")
    if kind not in KINDS:
        raise PolicyError("the form names no kind of values", fix="choose one")
    kept = (
        {key: value for key, value in before.items() if key in ("unit", "format", "trim")}
        if isinstance(before, dict)
        else {}
    )
    if kind in ("integer", "real", "date"):
        values: dict[str, Any] = {kind: [one(fields, "low"), one(fields, "high")]}
        if kind == "real":
            values["step"] = one(fields, "step")
    elif kind == "boolean":
        values = {"boolean": "true"}
    else:
        values = {kind: lines(one(fields, "values"))}
    rest = {word: one(fields, word) for word in ("missing", "other") if one(fields, word)}
    return values | rest | kept


def secret(fields: FieldLists) -> object:
    """What is secret about a column."""
    match one(fields, "secret"):
        case "everything" | "public" as word:
            return word
        case "within":
            return {"within": one(fields, "within")}
        case "blocks":
            blocks = [listed(line) for line in one(fields, "blocks").splitlines() if line.strip()]
            return {"blocks": [block for block in blocks if block]}
    raise PolicyError("the form does not say what is secret", fix="choose one")


def joint(fields: FieldLists) -> dict[str, Any]:
    """Two columns that are measured as one."""
    over = [part for part in fields.get("over", ()) if part]
    if one(fields, "metric") not in METRICS or len(over) != 2:
        raise PolicyError("the form names no metric of two columns", fix="load the page again")
    return {"metric": one(fields, "metric"), "over": over, "within": one(fields, "within")}


def fact(fields: FieldLists) -> dict[str, Any]:
    """An exact figure, or a table of them, that was published before."""
    about = [part for part in fields.get("about", ()) if part]
    condition = one(fields, "condition")
    if bool(about) == bool(condition):
        raise PolicyError("the form does not say what is known", fix="choose columns, or write a condition")
    return {"marginal": about} if about else {"count": condition}


def attackers(fields: FieldLists) -> list[Any]:
    """Who might attack: people to whom records are independent, or who know of households."""
    match one(fields, "who"):
        case "independent":
            return ["independent"]
        case "groups" if one(fields, "column") and one(fields, "most"):
            return [{"groups": one(fields, "column"), "at most": one(fields, "most")}]
    raise PolicyError(
        "the form does not say who depends on whom",
        fix="choose one; of households, name the column that tells them apart and how many rows one has at most",
    )


def target(fields: FieldLists) -> object:
    """How far off an item may be; None where nothing is wanted of it any more."""
    error, records = one(fields, "error"), one(fields, "records")
    return {"within": error, "records": records} if error and records else error or None


def question(fields: FieldLists) -> dict[str, Any]:
    """An item to release."""
    kind, name = one(fields, "kind"), one(fields, "name")
    if kind not in QUESTIONS:
        raise PolicyError("the form names no kind of question", fix="choose one")
    about = [part for part in fields.get("about", ()) if part]
    asked: object = one(fields, "condition") or "all" if kind == "count" else about[0] if len(about) == 1 else about
    item: dict[str, Any] = {"name": name or "_".join([kind, *about]).replace(" ", "_"), kind: asked}
    if kind == "quantiles":
        item["at"] = ["0.25", "0.5", "0.75"]
    if by := one(fields, "by"):
        item["by"] = by
    if where := one(fields, "where"):
        item["where"] = where
    return item


# -- forms of the studio ---------------------------------------------------------------------------


def act(name: str, editor: PolicyEditor, process: ReleaseProcess, fields: FieldLists) -> None:
    """Carry out a form: one change to the file, or one step towards a release. Raises TetraodonError if refused."""
    if name in EDITS:
        path, value = EDITS[name](editor, fields)
        editor.edit(path, value, one(fields, "reason"))
    elif name in _ACTIONS:
        _ACTIONS[name](editor, process, fields)
    else:
        raise PolicyError("the studio has no such form", fix="load the page again")


EDITS: Final[Mapping[str, Callable[[PolicyEditor, FieldLists], tuple[KeyPath, object]]]] = {
    "column": lambda editor, fields: (
        ("attributes", one(fields, "name")),
        attribute(fields, editor.map_of("attributes").get(one(fields, "name"))),
    ),
    "secret": lambda _, fields: (("secrets", one(fields, "name")), secret(fields)),
    "question": lambda editor, fields: (("release", len(editor.list_of("release"))), question(fields)),
    "known": lambda editor, fields: (("known", len(editor.list_of("known"))), fact(fields)),
    "attackers": lambda _, fields: (("attackers",), attackers(fields)),
    "target": lambda _, fields: ((*path_of(fields), "error"), target(fields)),
    "epsilon": lambda editor, fields: editor.budget_with(one(fields, "value")),
    "remove": lambda _, fields: (path_of(fields), None),
    "set": lambda _, fields: (path_of(fields), one(fields, "value")),
}
"""Forms that set the value at one path of the file, with their reason as a comment."""


def _map(editor: PolicyEditor, _: ReleaseProcess, fields: FieldLists) -> None:
    """Measure two columns jointly, which replaces the secret of each alone."""
    meant, text = joint(fields), editor.text
    for name in meant["over"]:
        if name in editor.map_of("secrets"):
            text = edit_policy(text, ("secrets", name), None)
    editor.replace(edit_policy(text, ("together",), meant, reason=one(fields, "reason")))


def _belief(editor: PolicyEditor, _: ReleaseProcess, fields: FieldLists) -> None:
    belief = BeliefAllowed.read(*(one(fields, name) for name in ("before", "after", "steps", "releases")))
    policy = editor.held.policy
    if belief.steps > 1 and policy is not None and not policy.steps_join:
        raise PolicyError(
            "nothing is promised beyond one step, as figures are known", fix="choose values one step apart"
        )
    path, value = editor.budget_with(belief.allowed_text)
    editor.edit(path, value, "\n".join([str(belief), one(fields, "reason")]))


def _open_ledger(editor: PolicyEditor, _: ReleaseProcess, fields: FieldLists) -> None:
    """Set the total, once. The name of the data set has to be typed, as for a release."""
    policy = _confirmed(editor, fields)
    with Ledger(editor.ledger) as ledger:
        ledger.open(policy.dataset, one(fields, "total"), policy, delta=policy.delta)


def _run(editor: PolicyEditor, process: ReleaseProcess, fields: FieldLists) -> None:
    _confirmed(editor, fields)
    if not editor.table:
        raise PolicyError("the studio was started without a table", fix="start it as `tetraodon studio POLICY TABLE`")
    process.start(editor.path, editor.table, editor.ledger, editor.path.parent / (one(fields, "out") or "release"))


def _confirmed(editor: PolicyEditor, fields: FieldLists) -> Policy:
    """The finished policy, if the name of its data set was typed."""
    held = editor.held
    if held.problems or held.policy is None:
        raise PolicyError("the file is not finished", fix="see what it still lacks")
    if one(fields, "confirm") != held.policy.dataset:
        raise PolicyError("the name of the data set was not typed", fix=f"type {held.policy.dataset}")
    return held.policy


_ACTIONS: Final[Mapping[str, Callable[[PolicyEditor, ReleaseProcess, FieldLists], None]]] = {
    "map": _map,
    "belief": _belief,
    "text": lambda editor, _, fields: editor.replace((fields.get("text") or [""])[0]),
    "undo": lambda editor, *_: editor.undo(),
    "take": lambda editor, _, fields: editor.take(theirs=one(fields, "whose") == "theirs"),
    "open": _open_ledger,
    "run": _run,
}
