"""What calls may say in their bodies. Whatever else stands there is refused."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field

from tetraodon.errors import PolicyError
from tetraodon.exact.rational import rational

MOST_DEEP = 50


def keepable(content: bytes) -> Any:
    """JSON, if it can be kept and sent on as it is. ValueError or RecursionError otherwise.

    Why  half a character, infinity or a zero byte would be refused later, by a database that is said to be broken then.

    >>> keepable(b'{"a": 1}')
    {'a': 1}
    """
    found = json.loads(content)
    text = json.dumps(found, allow_nan=False, ensure_ascii=False)
    text.encode()
    if "\\u0000" in text.replace("\\\\", ""):
        raise ValueError("a zero byte")
    level = [found] if isinstance(found, dict | list) else []
    for _ in range(MOST_DEEP):
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

    @property
    def identified(self) -> tuple[str, str] | None:
        return None if self.identity is None else (self.identity.issuer, self.identity.subject)


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


class Petition(AskedItems):
    purpose: Annotated[str, Field(min_length=1, max_length=2000)]


class NewAllotment(Body):
    amount: Amount
    expires: AwareDatetime | None = None

    @property
    def until(self) -> datetime | None:
        return self.expires


class FreeQuestion(Body):
    question: Annotated[str, Field(min_length=1, max_length=2000)]
    confidence: Amount | None = None
