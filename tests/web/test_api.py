"""The API: roles and scopes of every endpoint, bodies, and the OpenAPI document under fuzzing."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from pydantic import ValidationError
from tests.web.conftest import ITEMS, PROPOSAL, World

from tetraodon.web.api import ENDPOINTS, AskedItems, Body, NewAllotment, NewRequest, NewToken, openapi

ROLES = {"analyst": "ann", "curator": "carl", "auditor": "otto", "admin": "root"}
ALL = "analyst curator auditor admin"
MATRIX: dict[str, tuple[str, str, Any]] = {
    "GET /v1/me": (ALL, "read", None),
    "GET /v1/tokens": (ALL, "read", None),
    "POST /v1/tokens": (ALL, "read", {"label": "x", "scopes": ["read"]}),
    "DELETE /v1/tokens/{token}": (ALL, "read", None),
    "GET /v1/accounts": ("admin", "accounts", None),
    "POST /v1/accounts": ("admin", "accounts", {"name": "new", "role": "analyst", "password": "long enough words"}),
    "PUT /v1/accounts/{user}": ("admin", "accounts", {"disabled": False}),
    "GET /v1/datasets": ("analyst curator auditor", "read", None),
    "POST /v1/datasets": ("curator", "govern", PROPOSAL),
    "GET /v1/datasets/{dataset}": ("analyst curator auditor", "read", None),
    "POST /v1/datasets/{dataset}/open": ("curator", "govern", None),
    "GET /v1/datasets/{dataset}/dummy": ("analyst curator auditor", "read", None),
    "POST /v1/datasets/{dataset}/plan": ("analyst curator", "plan", {"items": ITEMS}),
    "POST /v1/datasets/{dataset}/requests": ("analyst", "request", {"items": ITEMS, "purpose": "x"}),
    "GET /v1/datasets/{dataset}/allotments": ("curator auditor", "read", None),
    "PUT /v1/datasets/{dataset}/allotments/{user}": ("curator", "govern", {"amount": 1}),
    "GET /v1/requests": ("analyst curator auditor", "read", None),
    "GET /v1/requests/{request}": ("analyst curator auditor", "read", None),
    "POST /v1/requests/{request}/approve": ("curator", "govern", None),
    "POST /v1/requests/{request}/reject": ("curator", "govern", None),
    "GET /v1/releases/{release}": ("analyst curator auditor", "read", None),
    "GET /v1/releases/{release}/files/{file:path}": ("analyst curator auditor", "read", None),
    "POST /v1/releases/{release}/ask": ("analyst curator auditor", "plan", {"question": "age < 30"}),
    "GET /v1/audit": ("curator auditor", "read", None),
    "DELETE /v1/session": (ALL, "read", None),
}
ENDS = {
    "POST /v1/accounts": {"admin": 201},
    "POST /v1/tokens": dict.fromkeys(ROLES, 201),
    "DELETE /v1/tokens/{token}": dict.fromkeys(ROLES, 404),
    "POST /v1/datasets": {"curator": 409},
    "POST /v1/datasets/{dataset}/open": {"curator": 409},
    "POST /v1/datasets/{dataset}/requests": {"analyst": 202},
    "POST /v1/requests/{request}/reject": {"curator": 409},
    "GET /v1/releases/{release}": dict.fromkeys(ROLES, 404),
    "GET /v1/releases/{release}/files/{file:path}": dict.fromkeys(ROLES, 404),
    "POST /v1/releases/{release}/ask": dict.fromkeys(ROLES, 404),
}
"""The status of an authorised call, where it is not 200: some things are decided or done already, some missing."""


def test_the_matrix_has_every_route() -> None:
    assert {f"{door.method} {door.path}" for door in ENDPOINTS} == set(MATRIX)


def test_every_role_at_every_route(open_world: World) -> None:
    world, key = open_world, open_world.asked(approve=False)
    values = {"token": "0", "user": "amy", "dataset": "people", "request": key, "release": key, "file:path": "x"}

    def status(route: str, token: str | None) -> int:
        method, path = route.split()
        for name, value in values.items():
            path = path.replace(f"{{{name}}}", value)
        headers = {"Idempotency-Key": "other"} | ({} if token is None else {"Authorization": f"Bearer {token}"})
        return world.http.request(method, path, json=MATRIX[route][2], headers=headers).status_code

    cells = {}
    for route, (roles, scope, _) in MATRIX.items():
        cells[route, "nobody"] = (status(route, None), 401)
        cells[route, "a token that is none"] = (status(route, "td_x"), 401)
        for role, name in ROLES.items():
            wanted = ENDS.get(route, {}).get(role, 200) if role in roles.split() else 403
            cells[route, role] = (status(route, world.tokens[name]), wanted)
        others = {"read", "plan", "request", "govern", "accounts"} - {scope}
        cells[route, "another scope"] = (status(route, world.token(ROLES[roles.split()[0]], *others)), 403)
    assert {cell: got for cell, got in cells.items() if got[0] != got[1]} == {}
    assert len(cells) == len(MATRIX) * (len(ROLES) + 3)


def test_other_peoples_objects_look_as_if_they_did_not_exist(open_world: World) -> None:
    key = open_world.asked(approve=False)
    for name, path in (("cyd", "/v1/datasets/people"), ("amy", f"/v1/requests/{key}")):
        there = open_world.call(name, "GET", path, expect=404)["error"]
        assert there == open_world.call(name, "GET", path.rpartition("/")[0] + "/none", expect=404)["error"]
    open_world.call("cyd", "POST", f"/v1/requests/{key}/approve", expect=404)
    open_world.call("cyd", "PUT", "/v1/datasets/people/allotments/ann", {"amount": 1}, expect=404)


def test_numbers_in_the_address_are_numbers(open_world: World) -> None:
    rows = open_world.call("ann", "GET", "/v1/datasets/people/dummy?rows=3")
    assert (rows["made_up"], len(rows["rows"])) == (True, 3)
    for text in ("-1", "x", "10001", "1" * 30, "٣"):
        open_world.call("ann", "GET", f"/v1/datasets/people/dummy?rows={text}", expect=422)


# -- bodies ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (AskedItems, {"items": []}),
        (AskedItems, {"items": [{}], "epsilon": "many"}),
        (AskedItems, {"items": [{}], "epsilon": True}),
        (AskedItems, {"items": [{}], "unknown": 1}),
        (NewRequest, {"items": [{}], "purpose": ""}),
        (NewAllotment, {"amount": "1", "expires": "tomorrow"}),
        (NewAllotment, {"amount": float("nan")}),
        (NewToken, {"label": "a\nb", "scopes": ["read"]}),
        (NewToken, {"label": "a", "scopes": ["everything"]}),
        (NewToken, {"label": "a", "scopes": ["read"], "days": 10_000}),
    ],
    ids=str,
)
def test_bodies_that_are_refused(kind: type[Body], said: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        kind.model_validate(said)


def test_amounts_stay_as_they_were_written() -> None:
    assert AskedItems.model_validate({"items": [{"a": 1}], "epsilon": "1/3"}).document()["epsilon"] == "1/3"


# -- openapi ---------------------------------------------------------------------------------------


SEARCHING = settings.get_current_profile_name() == "searching"
CALLS = 200 if SEARCHING else 3
"""For each operation; `TETRAODON_EXAMPLES=searching pytest tests/web/test_api.py` takes longer than others."""


def test_every_route_is_described(world: World) -> None:
    document = world.http.get("/openapi.json").json()
    assert document == json.loads(json.dumps(openapi()))
    described = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
    assert {(door.method, door.path.replace(":path", "")) for door in ENDPOINTS} <= described


@pytest.mark.filterwarnings("ignore")
def test_whatever_the_document_allows_is_answered_without_an_error_of_the_server(open_world: World) -> None:
    """Every operation, some bodies and parameters for each, as somebody who may call it, and bytes that it forbids."""
    key = open_world.asked(approve=False)
    known = {"dataset": "people", "request": key, "user": "nobody"}
    doors = {(door.method.lower(), door.path.replace(":path", "")): door for door in ENDPOINTS}
    seen: Counter[int] = Counter()

    def exercise(operation: Any, token: str) -> None:
        @settings(max_examples=CALLS, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
        @given(case=operation.as_strategy())
        def call(case: Any) -> None:
            for part in set(known) & set(case.path_parameters or {}):
                case.path_parameters[part] = known[part]
            answer = case.call(base_url=open_world.origin, headers={"Authorization": f"Bearer {token}"})
            seen[answer.status_code] += 1
            assert answer.status_code < 500, (operation.label, answer.text)

        (call if SEARCHING else seed(1)(call))()

    for found in schemathesis.openapi.from_dict(openapi()).get_all_operations():
        operation = found.ok()
        door = doors.get((operation.method.lower(), operation.path))
        exercise(operation, open_world.tokens["ann" if door is None else ROLES[sorted(door.roles)[0]]])
    assert sum(seen.values()) >= 40
    assert seen[200] >= 10
