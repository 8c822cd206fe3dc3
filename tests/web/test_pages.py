"""Pages of the server: content, forms, escaping, sign-in."""

from __future__ import annotations

import re
import secrets
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import make_url
from tests.services import needs_postgres
from tests.web.conftest import PROPOSAL, World
from tests.web.test_worker import fresh_database

from tetraodon.ledger import Ledger
from tetraodon.web.auth import COOKIE
from tetraodon.web.limited_process import Limits
from tetraodon.web.state import State
from tetraodon.web.worker import Worker

HOSTILE = "<script>alert(1)</script>\"'&{{ 987*654 }}"
LISTED = "- {name: ages, histogram: age}"


def browser(world: World, name: str) -> dict[str, str]:
    secret = world.context.accounts.begin(name, "sign-in")
    return {"Cookie": f"{COOKIE}={secret}", "Sec-Fetch-Site": "same-origin", "Origin": world.origin}


def test_an_analyst_plans_and_asks_and_a_curator_approves_on_pages(open_world: World) -> None:
    world, ann, carl = open_world, browser(open_world, "ann"), browser(open_world, "carl")
    form = {"dataset": "people", "items": LISTED, "epsilon": "0.5", "purpose": "to know", "key": "p1"}
    planned = world.http.post("/act", data=form | {"form": "plan"}, headers=ann).text
    assert "charged epsilon 0.5, and fits" in planned
    assert "10 seconds after a curator approves" in planned
    assert world.http.post("/act", data=form | {"form": "request"}, headers=ann).status_code == 303
    assert "to know" in world.http.get("/requests", headers=carl).text
    [asked] = world.call("carl", "GET", "/v1/requests")["requests"]
    deciding = {"form": "approve", "request": asked["id"]}
    assert world.http.post("/act", data=deciding, headers=ann).status_code == 403
    assert world.http.post("/act", data=deciding, headers=carl).status_code == 303
    assert world.worker().step()
    assert "report.html" not in world.http.get("/requests", headers=ann).text
    world.clock.ahead += 10
    assert f"/v1/releases/{asked['id']}/files/report.html" in world.http.get("/requests", headers=ann).text
    report = world.http.get(f"/v1/releases/{asked['id']}/files/report.html", headers=ann)
    assert report.headers["content-security-policy"].startswith("sandbox")
    page = world.http.get("/datasets/people", headers=carl).text
    assert "<polyline" in page
    assert "2.5 is left" in page
    assert "<polyline" not in world.http.get("/datasets/people", headers=ann).text
    allotting = {"form": "allot", "dataset": "people", "user": "amy", "amount": "1.5", "expires": "2099-01-01"}
    assert world.http.post("/act", data=allotting, headers=carl).status_code == 303
    assert "2099-01-01" in world.http.get("/datasets/people", headers=browser(world, "otto")).text
    audit = world.http.get("/audit", headers=browser(world, "otto")).text
    assert "approved" in audit
    assert world.context.ledger.audit().head in audit


def test_a_proposed_data_set_is_shown_and_opened_on_its_page(world: World) -> None:
    world.call("carl", "POST", "/v1/datasets", PROPOSAL, 201)
    cora = browser(world, "cora")
    assert "Proposed by carl" in world.http.get("/datasets/people", headers=cora).text
    assert world.http.get("/datasets/people", headers=browser(world, "otto")).status_code == 200
    done = world.http.post("/act", data={"form": "open", "dataset": "people"}, headers=cora)
    assert (done.status_code, done.headers["location"]) == (303, "/datasets/people")
    assert "3 is left" in world.http.get("/datasets/people", headers=cora).text


def test_names_that_would_be_code_stay_names(open_world: World) -> None:
    body = {"items": [{"name": "ages", "histogram": "age"}], "epsilon": "0.1", "purpose": HOSTILE}
    open_world.call("ann", "POST", "/v1/datasets/people/requests", body, 202, **{"Idempotency-Key": "h"})
    form = {
        "dataset": "people",
        "items": HOSTILE,
        "epsilon": HOSTILE,
        "purpose": HOSTILE,
        "form": "request",
        "key": "x",
    }
    seen = [
        open_world.http.get("/requests", headers=browser(open_world, name)).text for name in ("ann", "carl", "otto")
    ]
    seen.append(open_world.http.post("/act", data=form, headers=browser(open_world, "ann")).text)
    seen.append(open_world.http.post("/sign-in", data={"name": HOSTILE, "password": HOSTILE}).text)
    for text in seen:
        assert "<script" not in text
        assert "645498" not in text
    assert all("&lt;script&gt;" in text for text in seen[:4])
    odd = open_world.http.get("/datasets/%3Cscript%3E", headers=browser(open_world, "ann"))
    assert (odd.status_code, "<script" in odd.text, 'name="password"' in odd.text) == (404, False, False)


def test_who_is_not_signed_in_is_asked_to_and_forms_of_others_are_refused(open_world: World) -> None:
    for path in ("/", "/datasets", "/datasets/people", "/requests", "/audit"):
        answer = open_world.http.get(path)
        assert (answer.status_code, answer.headers.get("location")) == (303, "/sign-in"), path
    theirs = browser(open_world, "carl") | {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}
    assert open_world.http.post("/act", data={"form": "open"}, headers=theirs).status_code == 403
    assert open_world.http.get("/audit", headers=browser(open_world, "ann")).status_code == 403
    assert open_world.http.get("/sign-in").headers["content-security-policy"].startswith("default-src 'none'")
    assert open_world.http.get("/assets/style.css").status_code == 200
    assert open_world.http.get("/assets/studio.js").status_code == 404


def test_signing_in_and_out_on_the_page(world: World) -> None:
    world.context.accounts.add("root", "eve", "analyst", "correct horse battery")
    answer = world.http.post("/sign-in", data={"name": "eve", "password": "correct horse battery"})
    cookie = answer.headers["set-cookie"].partition(";")[0]
    headers = {"Cookie": cookie, "Sec-Fetch-Site": "same-origin", "Origin": world.origin}
    assert "eve, analyst" in world.http.get("/", headers=headers).text
    world.http.post("/sign-out", headers=headers)
    assert world.http.get("/", headers=headers).status_code == 303


def test_the_audit_shows_the_newest_however_many_there_are(world: World) -> None:
    with world.context.state.writing() as connection:
        for number in range(600):
            world.context.state.note(connection, "ann", "did", subject=f"deed {number}")
    page = world.http.get("/audit", headers=browser(world, "otto")).text
    assert page.index("deed 599") < page.index("deed 598")
    assert "deed 9<" not in page


# -- roles -------------------------------------------------------------------------------------------
# Database roles: the web process cannot charge, and a worker cannot read accounts.

ROLES = Path(__file__).parents[2] / "deploy" / "roles.sql"


@needs_postgres
def test_web_process_and_worker_do_their_work_with_roles_of_their_own_and_no_more(tmp_path: Path) -> None:
    owner, tag = fresh_database(), secrets.token_hex(4)
    State(owner).close()
    names = {name: f"{name}_{tag}" for name in ("tetraodon_web", "tetraodon_worker")}
    text = re.sub("|".join(names), lambda found: names[found[0]], ROLES.read_text())
    plain = owner.replace("+psycopg", "")
    with psycopg.connect(plain, autocommit=True) as connection:
        for name in names.values():
            connection.execute(f"CREATE ROLE {name} LOGIN PASSWORD 'secret'")  # type: ignore[arg-type]
        with Ledger(owner) as book:
            book.grant(names["tetraodon_worker"])
        connection.execute(text)  # type: ignore[arg-type]
    urls = {
        name: make_url(owner).set(username=role, password="secret").render_as_string(hide_password=False)
        for name, role in names.items()
    }
    world = World(tmp_path, urls["tetraodon_web"])
    world.opened()
    key = world.asked()
    state = State(urls["tetraodon_worker"])
    limits = Limits(60, 4096)
    assert Worker(state, urls["tetraodon_worker"], world.context.releases, world.sources, limits).step()
    world.clock.ahead += 60
    assert world.state_of(key)["state"] == "done"
    state.close()
    world.close()
    refused = {
        "tetraodon_web": ("INSERT INTO entries SELECT * FROM entries", "UPDATE entries SET state = 'settled'"),
        "tetraodon_worker": (
            *("SELECT * FROM server_people", "SELECT * FROM server_tokens", "SELECT * FROM server_sessions"),
            *("UPDATE server_requests SET policy = ''", "UPDATE server_datasets SET total = '9'"),
            *("DELETE FROM server_audit", "INSERT INTO server_requests SELECT * FROM server_requests"),
        ),
    }
    for name, statements in refused.items():
        with psycopg.connect(urls[name].replace("+psycopg", ""), autocommit=True) as connection:
            for statement in statements:
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    connection.execute(statement)  # type: ignore[arg-type]
