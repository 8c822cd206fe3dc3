"""Forms: they do what the routes do, for the roles that may there, and what they say is read as a call is."""

from __future__ import annotations

import re

from tests.server.conftest import World
from tests.server.test_pages import HOSTILE, browser


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


def test_an_admin_makes_and_changes_accounts_on_the_page_and_nobody_else_does(world: World) -> None:
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
