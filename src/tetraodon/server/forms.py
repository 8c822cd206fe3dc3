"""The table of forms: who may send each one, and the function that carries it out, the same that the routes call."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias
from urllib.parse import quote

from pydantic import ValidationError

from tetraodon.policy.source import read_source
from tetraodon.server.accounts import SCOPES, Person
from tetraodon.server.bodies import AskedItems, ChangedAccount, NewAccount, NewAllotment, NewToken, Petition, Proposal
from tetraodon.server.office import Office
from tetraodon.server.refusal import Turned, not_allowed
from tetraodon.server.routes import EVERYBODY, ONLY, PLANNERS

MOST_WRITTEN = 20_000
"""Characters of items in a form: these are read in the process that serves everybody."""
Done: TypeAlias = str | dict[str, Any]
"""Where to go then; or what the page that is shown again has to say beside."""


@dataclass(frozen=True)
class Sight:
    """Who looks, at what, and what their form says."""

    who: Person
    path: Mapping[str, str]
    fields: Mapping[str, str] = field(default_factory=dict)


def asked(fields: Mapping[str, str]) -> dict[str, Any]:
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


@dataclass(frozen=True, slots=True)
class Form:
    """A form: what it does, for which roles, and the page that is shown again with what it says."""

    act: Callable[[Office, Sight], Done]
    roles: frozenset[str]
    page: str


def done(office: Office, sight: Sight) -> Done:
    """Carry out a form, if the role may send it."""
    form = FORMS.get(sight.fields.get("form", ""))
    if form is None or sight.who.role not in form.roles:
        raise not_allowed()
    try:
        return form.act(office, sight)
    except ValidationError as error:
        wrong = ".".join(str(part) for part in error.errors(include_url=False)[0]["loc"]) or "it"
        raise Turned(422, f"the form is not as it should be: {wrong}", fix="fill in every field") from None
    except (ValueError, RecursionError):
        raise Turned(422, "the form is not as it should be", fix="fill in every field") from None


# -- plans and requests ------------------------------------------------------------------------------


def _plan(office: Office, sight: Sight) -> Done:
    return {"plan": office.petitions.plan(sight.who, sight.fields.get("dataset", ""), asked(sight.fields))}


def _request(office: Office, sight: Sight) -> Done:
    fields = sight.fields
    said = Petition.model_validate(asked(fields) | {"purpose": fields.get("purpose", "")})
    key = fields.get("key", "")[:100] or "page"
    office.petitions.make(sight.who, fields.get("dataset", ""), said.document(), said.purpose, key)
    return "/requests"


def _decide(office: Office, sight: Sight) -> Done:
    approve = sight.fields["form"] == "approve"
    office.petitions.decide(sight.who, sight.fields.get("request", ""), approve=approve)
    return "/requests"


# -- data sets ---------------------------------------------------------------------------------------


def _propose(office: Office, sight: Sight) -> Done:
    fields = sight.fields
    given: dict[str, Any] = {key: fields.get(key, "") for key in ("policy", "total", "rows")}
    given |= {"delta": fields.get("delta") or 0, "curators": fields.get("curators", "").split()}
    said = Proposal.model_validate(given)
    terms = said.total, said.delta, said.rows
    return _page_of(office.holdings.propose(sight.who, said.policy, *terms, said.curators)["name"])


def _open(office: Office, sight: Sight) -> Done:
    name = sight.fields.get("dataset", "")
    office.holdings.open(sight.who, name)
    return _page_of(name)


def _allot(office: Office, sight: Sight) -> Done:
    fields, name = sight.fields, sight.fields.get("dataset", "")
    until = fields.get("expires", "")
    given = {"amount": fields.get("amount", ""), "expires": f"{until}T00:00:00Z" if until else None}
    said = NewAllotment.model_validate(given)
    office.holdings.allot(sight.who, name, fields.get("user", ""), said.amount, said.until)
    return _page_of(name)


def _page_of(dataset: str) -> str:
    return f"/datasets/{quote(dataset)}"


# -- tokens and accounts -----------------------------------------------------------------------------


def _new_token(office: Office, sight: Sight) -> Done:
    fields = sight.fields
    scopes = [scope for scope in SCOPES if fields.get(scope)]
    said = NewToken.model_validate({"label": fields.get("label", ""), "scopes": scopes, "days": fields.get("days", "")})
    return {"secret": office.accounts.new_token(sight.who, said.label, list(said.scopes), said.days)["token"]}


def _remove_token(office: Office, sight: Sight) -> Done:
    office.accounts.remove_token(sight.who, sight.fields.get("token", ""))
    return "/account"


def _new_account(office: Office, sight: Sight) -> Done:
    fields = sight.fields
    given = {"name": fields.get("user", ""), "role": fields.get("role", ""), "password": fields.get("password", "")}
    said = NewAccount.model_validate(given)
    office.accounts.add(sight.who.name, said.name, said.role, said.password)
    return "/account"


def _change_account(office: Office, sight: Sight) -> Done:
    fields, form = sight.fields, sight.fields["form"]
    given: dict[str, Any] = {"disabled": form == "disable"}
    if form == "password":
        given = {"password": fields.get("password", "")}
    elif form == "openid":
        given = {"identity": {name: fields.get(name, "") for name in ("issuer", "subject")}}
    said, name = ChangedAccount.model_validate(given), fields.get("user", "")
    change = office.accounts.change
    change(sight.who.name, name, password=said.password, disabled=said.disabled, identity=said.identified)
    return "/account"


FORMS: Final[Mapping[str, Form]] = {
    "plan": Form(_plan, PLANNERS, "dataset"),
    "request": Form(_request, ONLY["analyst"], "dataset"),
    "approve": Form(_decide, ONLY["curator"], "requests"),
    "reject": Form(_decide, ONLY["curator"], "requests"),
    "propose": Form(_propose, ONLY["curator"], "datasets"),
    "open": Form(_open, ONLY["curator"], "dataset"),
    "allot": Form(_allot, ONLY["curator"], "dataset"),
    "token": Form(_new_token, EVERYBODY, "account"),
    "remove-token": Form(_remove_token, EVERYBODY, "account"),
    "account": Form(_new_account, ONLY["admin"], "account"),
    "password": Form(_change_account, ONLY["admin"], "account"),
    "openid": Form(_change_account, ONLY["admin"], "account"),
    "disable": Form(_change_account, ONLY["admin"], "account"),
    "enable": Form(_change_account, ONLY["admin"], "account"),
}
"""Every form there is; another is not carried out."""
