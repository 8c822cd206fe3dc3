"""Who may call what: every role at every route, cell by cell; and which scope it needs."""

from __future__ import annotations

from typing import Any

from tests.web.conftest import ITEMS, PROPOSAL, World

from tetraodon.web.api import ENDPOINTS

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
"""How a call ends that is let in, where not with 200: some things are decided or done already, some not there."""


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


def test_what_is_somebody_elses_is_as_if_it_were_not_there(open_world: World) -> None:
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
