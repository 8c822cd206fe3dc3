"""Forms of the server: each calls its endpoint, for the roles of that, and survives odd values in every field."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import Any
from urllib.parse import quote

import pytest
from tests.web.conftest import PEOPLE, POLICY, World
from tests.web.test_pages import HOSTILE, LISTED, browser

from tetraodon.errors import TetraodonError
from tetraodon.web.api import ENDPOINTS, IN
from tetraodon.web.auth import ROLES, SCOPES
from tetraodon.web.forms import FORMS, Submitted, submit
from tetraodon.web.pages import ROUTES

DOES = {
    "plan": f"POST {IN}/plan",
    "request": f"POST {IN}/requests",
    "approve": "POST /v1/requests/{request}/approve",
    "reject": "POST /v1/requests/{request}/reject",
    "propose": "POST /v1/datasets",
    "open": f"POST {IN}/open",
    "allot": f"PUT {IN}/allotments/{{user}}",
    "token": "POST /v1/tokens",
    "remove-token": "DELETE /v1/tokens/{token}",
    "account": "POST /v1/accounts",
    "password": "PUT /v1/accounts/{user}",
    "openid": "PUT /v1/accounts/{user}",
    "disable": "PUT /v1/accounts/{user}",
    "enable": "PUT /v1/accounts/{user}",
}
"""The route that does the same as a form."""
PUBLIC = ("assets", "sign-in", "oidc-start", "oidc-back")
OF_ROLE = {role: next(name for name, one in PEOPLE.items() if one == role) for role in ROLES}


def fields(world: World) -> dict[str, str]:
    """Fields with which every form does something when a role may send it."""
    return {
        "dataset": "people",
        "items": LISTED,
        "epsilon": "0.1",
        "purpose": "to know",
        "key": "matrix",
        "user": "cyd",
        "role": "analyst",
        "password": "correct horse battery",
        "label": "mine",
        "days": "1",
        "read": "1",
        "token": "ann",
        "policy": json.dumps(POLICY | {"dataset": "others"}),
        "total": "1",
        "rows": "9",
        "curators": "cora",
        "amount": "1",
        "request": world.asked(approve=False),
    }


@pytest.mark.parametrize("form", FORMS)
def test_a_form_takes_no_token_and_the_roles_of_its_route_alone(open_world: World, form: str) -> None:
    world, sent = open_world, fields(open_world) | {"form": form}
    [roles] = [door.roles for door in ENDPOINTS if f"{door.method} {door.path}" == DOES[form]]
    for role, name in OF_ROLE.items():
        for scopes in (*[(scope,) for scope in SCOPES], SCOPES):
            token = {"Authorization": f"Bearer {world.token(name, *scopes)}"}
            before = world.told()
            for headers in (token, token | {"Sec-Fetch-Site": "same-origin", "Origin": world.origin}):
                assert world.http.post("/act", data=sent, headers=headers).status_code == 401, (role, scopes)
            assert world.told() == before
        assert (world.http.post("/act", data=sent, headers=browser(world, name)).status_code != 403) == (role in roles)


@pytest.mark.parametrize(("path", "methods", "page"), [one for one in ROUTES if one[2] not in PUBLIC])
def test_a_page_takes_no_token(open_world: World, path: str, methods: list[str], page: str) -> None:
    for name in OF_ROLE.values():
        headers = {"Authorization": f"Bearer {open_world.tokens[name]}"}
        for method in methods:
            answer = open_world.http.request(method, path.format(dataset="people"), headers=headers)
            wanted = (303, "/sign-in") if method == "GET" else (401, None)
            assert (answer.status_code, answer.headers.get("location")) == wanted, (name, method, page)


def test_a_form_that_is_none_is_refused(open_world: World) -> None:
    carl, ann = browser(open_world, "carl"), browser(open_world, "ann")
    for form in ({}, {"form": "x"}, {"form": "allot", "dataset": "people", "amount": "x"}, {"form": "approve"}):
        assert open_world.http.post("/act", data=form, headers=carl).status_code in (403, 404, 422), form
    for items in ("", "- x", "{}", "- {a: [", "&a [*a]", "- {name: a, count: all}\n" * 1000):
        form = {"form": "plan", "dataset": "people", "items": items}
        assert "Not done" in open_world.http.post("/act", data=form, headers=ann).text, items


def test_a_token_is_made_on_the_page_shown_once_and_removed(world: World) -> None:
    ann = browser(world, "ann")
    form = {"form": "token", "label": HOSTILE, "days": "2", "read": "1", "plan": "1"}
    page = world.http.post("/act", data=form, headers=ann).text
    found = re.search(r"td_[\w-]{20,}", page)
    assert found is not None
    told = world.http.get("/v1/me", headers={"Authorization": f"Bearer {found[0]}"}).json()
    assert (told["name"], told["scopes"]) == ("ann", ["plan", "read"])
    again = world.http.get("/account", headers=ann).text
    assert found[0] not in again
    assert "<script" not in again
    assert "&lt;script&gt;" in again
    mine = world.call("ann", "GET", "/v1/tokens")["tokens"]
    [made] = [one["id"] for one in mine if one["label"] == HOSTILE]
    remove = {"form": "remove-token", "token": made}
    assert world.http.post("/act", data=remove, headers=browser(world, "amy")).status_code == 404
    assert world.http.post("/act", data=remove, headers=ann).status_code == 303
    assert world.http.get("/v1/me", headers={"Authorization": f"Bearer {found[0]}"}).status_code == 401
    for wrong in ({"label": ""}, {"days": "0"}, {"read": "", "plan": ""}):
        assert world.http.post("/act", data=form | wrong, headers=ann).status_code == 422, wrong


def test_only_an_admin_makes_and_changes_accounts_on_the_page(world: World) -> None:
    root, password = browser(world, "root"), "correct horse battery"
    answer = world.http.get("/", headers=root)
    assert (answer.status_code, answer.headers["location"]) == (303, "/account")  # no data set is for admins
    assert "otto" in world.http.get("/account", headers=root).text
    assert "otto" not in world.http.get("/account", headers=browser(world, "ann")).text
    made = {"form": "account", "user": "eve", "role": "analyst", "password": password}
    forms = [made, {"form": "password", "user": "eve", "password": password}]
    forms += [{"form": word, "user": "eve"} for word in ("disable", "enable")]
    for form in forms:
        for name in ("ann", "carl", "otto"):
            assert world.http.post("/act", data=form, headers=browser(world, name)).status_code == 403, (form, name)
        assert world.http.post("/act", data=form, headers=root).status_code == 303, form
    assert world.told()[-4:].count("account-enabled") == 1
    assert world.http.post("/sign-in", data={"name": "eve", "password": password}).status_code == 303
    assert "there is an account" in world.http.post("/act", data=made, headers=root).text
    assert world.http.post("/act", data=made | {"user": "x", "role": "king"}, headers=root).status_code == 422


ODD = ("", "true", "nan", "1/0", "-1", "1e999", "9" * 400, "é", "\ud800", "\0", "a" * 3000, "9999-12-31", "../..", "{}")
ITEMS = (
    *("- {name: a, count: all}\n" * 101, "- {name: a, count: 'map {1: 2}'}", "- {name: [a], histogram: {a: 1}}"),
    *("{", "[[[[", "- " * 500, "- {a: 2020-01-01}", "- {? [a]: b}", "- !!python/object:x {}", "- {a: .nan}", "- 1: 2"),
)


class Noting(dict[str, str]):
    """Fields that know which of them were looked at."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.looked_at: set[str] = set()

    def get(self, name: str, otherwise: Any = None) -> Any:
        self.looked_at.add(name)
        return super().get(name, otherwise)


@pytest.mark.parametrize("form", FORMS)
def test_no_field_of_a_form_breaks_the_server(open_world: World, form: str) -> None:
    world, valid = open_world, fields(open_world) | {"form": form}
    who = next(name for role, name in OF_ROLE.items() if role in FORMS[form].endpoint.roles)
    noting = Noting(valid)
    with suppress(TetraodonError):
        submit(world.context, Submitted(world.person(who), {}, noting))
    assert noting.looked_at >= {"form"}
    cases = [(name, value) for name in noting.looked_at for value in (*ODD, *ITEMS * (name == "items"))]
    headers = browser(world, who) | {"Content-Type": "application/x-www-form-urlencoded"}
    for name, value in cases:
        sent = {key: quote(text, errors="surrogatepass") for key, text in (valid | {name: value}).items()}
        answer = world.http.post("/act", content="&".join(map("=".join, sent.items())), headers=headers)
        assert answer.status_code < 500, (name, value, answer.text)
