"""What forms on pages say, carried out by what the routes call: they can do no more, and no role more than there."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeAlias
from urllib.parse import quote

from pydantic import ValidationError

from tetraodon.policy.source import read_source
from tetraodon.server.accounts import SCOPES, Person
from tetraodon.server.bodies import AskedItems, NewAccount, NewAllotment, NewToken, Petition, Proposal
from tetraodon.server.office import Office
from tetraodon.server.refusal import Turned, not_allowed

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


def done(office: Office, sight: Sight) -> Done:
    """Carry out a form."""
    try:
        found = _own(office, sight)
        if found is None and sight.who.role in _OF_ROLES:
            found = _OF_ROLES[sight.who.role](office, sight)
    except ValidationError as error:
        wrong = ".".join(str(part) for part in error.errors(include_url=False)[0]["loc"]) or "it"
        raise Turned(422, f"the form is not as it should be: {wrong}", fix="fill in every field") from None
    except ValueError:
        raise Turned(422, "the form is not as it should be", fix="fill in every field") from None
    if found is None:
        raise not_allowed()
    return found


def _own(office: Office, sight: Sight) -> Done | None:
    """What everybody may do with what is theirs."""
    fields, who = sight.fields, sight.who
    match fields.get("form", ""):
        case "plan":
            return {}
        case "token":
            scopes = [scope for scope in SCOPES if fields.get(scope)]
            wanted = {"label": fields.get("label", ""), "scopes": scopes, "days": fields.get("days", "")}
            said = NewToken.model_validate(wanted)
            return {"secret": office.accounts.new_token(who, said.label, list(said.scopes), said.days)["token"]}
        case "remove-token":
            office.accounts.remove_token(who, fields.get("token", ""))
            return "/account"
    return None


def _petitioned(office: Office, sight: Sight) -> Done | None:
    fields = sight.fields
    if fields.get("form") != "request":
        return None
    said = Petition.model_validate(asked(fields) | {"purpose": fields.get("purpose", "")})
    key = fields.get("key", "")[:100] or "page"
    office.petitions.make(sight.who, fields.get("dataset", ""), said.document(), said.purpose, key)
    return "/requests"


def _governed(office: Office, sight: Sight) -> Done | None:
    fields, who = sight.fields, sight.who
    name = fields.get("dataset", "")
    match fields.get("form", ""):
        case "approve" | "reject" as word:
            office.petitions.decide(who, fields.get("request", ""), approve=word == "approve")
            return "/requests"
        case "propose":
            given = {key: fields.get(key, "") for key in ("policy", "total", "rows")}
            proposed = Proposal.model_validate(given | {"curators": fields.get("curators", "").split()})
            terms = proposed.total, fields.get("delta") or 0, proposed.rows
            name = office.holdings.propose(who, proposed.policy, *terms, proposed.curators)["name"]
        case "open":
            office.holdings.open(who, name)
        case "allot":
            until = fields.get("expires", "")
            said = {"amount": fields.get("amount", ""), "expires": f"{until}T00:00:00Z" if until else None}
            allotted = NewAllotment.model_validate(said)
            expires: datetime | None = allotted.until
            office.holdings.allot(who, name, fields.get("user", ""), allotted.amount, expires)
        case _:
            return None
    return f"/datasets/{quote(name)}"


def _managed(office: Office, sight: Sight) -> Done | None:
    fields, by = sight.fields, sight.who.name
    name = fields.get("user", "")
    match fields.get("form", ""):
        case "account":
            given = {"name": name, "role": fields.get("role", ""), "password": fields.get("password", "")}
            said = NewAccount.model_validate(given)
            office.accounts.add(by, said.name, said.role, said.password)
        case "password":
            office.accounts.change(by, name, password=fields.get("password", ""))
        case "disable" | "enable" as word:
            office.accounts.change(by, name, disabled=word == "disable")
        case _:
            return None
    return "/account"


_OF_ROLES: dict[str, Callable[[Office, Sight], Done | None]] = {
    "analyst": _petitioned,
    "curator": _governed,
    "admin": _managed,
}
