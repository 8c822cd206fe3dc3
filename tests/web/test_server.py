"""The server end to end, and calls that are too long, too slow, malformed or cross-origin."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from anyio import CapacityLimiter
from tests.house import SOURCE, imports, syntax
from tests.services import needs_postgres, postgres
from tests.web.conftest import ITEMS, POLICY, PROPOSAL, World
from tests.web.test_pages import browser
from tests.web.test_worker import fresh_database

import tetraodon as td
from tetraodon import errors
from tetraodon.web import app as app_module
from tetraodon.web.auth import TokenBuckets
from tetraodon.web.http_errors import HttpError, conflict, forbidden, not_found, status_of


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgres", marks=needs_postgres)])
def test_an_analyst_plans_asks_and_gets_a_release_that_verifies(kind: str, tmp_path: Path) -> None:
    world = World(tmp_path, fresh_database() if kind == "postgres" else "").opened()
    plan = world.call("ann", "POST", "/v1/datasets/people/plan", {"items": ITEMS, "epsilon": 1})
    assert (plan["charge"], plan["fits"], plan["slot"]) == ("1", True, 10)
    key = world.asked(approve=False)
    assert world.state_of(key)["state"] == "waiting"
    assert not world.worker().step()  # nobody approved it
    world.call("carl", "POST", f"/v1/requests/{key}/approve")
    assert world.worker().step()
    running = world.state_of(key)
    assert (running["state"], running["release"]) == ("running", None)  # its slot has not ended
    world.call("ann", "GET", f"/v1/releases/{key}", expect=404)
    world.clock.ahead += 10
    assert world.state_of(key)["state"] == "done"
    folder = tmp_path / "fetched"
    for name in world.call("ann", "GET", f"/v1/releases/{key}")["files"]:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        answer = world.http.get(
            f"/v1/releases/{key}/files/{name}", headers={"Authorization": f"Bearer {world.tokens['ann']}"}
        )
        (folder / name).write_bytes(answer.content)
    assert all(check.passed for check in td.verify(folder))
    told = world.call("ann", "POST", f"/v1/releases/{key}/ask", {"question": "age between 30 and 39"})
    assert told["lower"] <= told["value"] <= told["upper"]
    [entry] = world.context.ledger.entries("people")
    assert (entry.owner, entry.charged, entry.state) == ("ann", 1, "settled")
    assert world.call("ann", "GET", "/v1/datasets/people")["allotment"]["left"] == "1"
    world.call("amy", "GET", f"/v1/releases/{key}", expect=404)
    assert world.told()[-3:] == ["requested", "approved", "released"]
    world.close()


def test_errors_are_the_documents_of_the_command_line(open_world: World) -> None:
    body = {"items": [{"name": "x", "histogram": "wage"}], "epsilon": 1}
    error = open_world.call("ann", "POST", "/v1/datasets/people/plan", body, 422)["error"]
    assert error["type"] == "PolicyError"
    assert "wage" in error["what"]
    assert set(error) == {"type", "what", "where", "fix", "all", "notes", "depends_on_data"}


def test_bodies_that_are_too_long_or_no_json_are_refused(open_world: World) -> None:
    sent = {"Authorization": f"Bearer {open_world.tokens['ann']}"}
    path = "/v1/datasets/people/plan"
    assert open_world.http.post(path, content=b"x" * (app_module.MAX_BYTES + 1), headers=sent).status_code == 413
    for content in (b"", b"{", b"\xff", b"[" * 100_000, b'{"items": ' + b"9" * 5000 + b"}"):
        assert open_world.http.post(path, content=content, headers=sent).status_code in (400, 422)
    assert open_world.http.post(path, content=b'{"items": [], "epsilon": 1}', headers=sent).status_code == 422
    assert open_world.http.post(path, content=b'{"items": [{}], "x": 1}', headers=sent).status_code == 422


def test_a_client_that_sends_slowly_is_not_waited_for(open_world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """And does not keep others from being served meanwhile."""
    monkeypatch.setattr(app_module, "READING_SECONDS", 0.2)
    head = f"POST /v1/datasets/people/plan HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {open_world.tokens['ann']}\r\n"
    with socket.create_connection(("127.0.0.1", open_world.port), timeout=30) as slow:
        slow.sendall(f"{head}Content-Length: 1000\r\n\r\n{{".encode())
        assert open_world.call("amy", "GET", "/v1/me")["name"] == "amy"
        assert slow.recv(100).startswith(b"HTTP/1.1 408")


def test_nothing_that_was_said_is_logged(open_world: World) -> None:
    open_world.lines.clear()
    body = {"items": [{"name": "hidden", "histogram": "age"}], "epsilon": 1}
    open_world.call("ann", "POST", "/v1/datasets/people/plan?x=unseen", body)
    [line] = open_world.lines
    assert json.loads(line) | {"at": ""} == {
        "at": "",
        "method": "POST",
        "route": "/v1/datasets/{dataset}/plan",
        "status": 200,
    }


def test_metrics_and_health_tell_nothing_of_the_data(open_world: World) -> None:
    key = open_world.asked()
    assert open_world.http.get("/healthz").json() == {"ok": True}
    text = open_world.http.get("/metrics").text
    assert 'route="/v1/datasets/{dataset}/requests",status="2xx"} 1' in text
    assert "people" not in text
    assert key not in text


def test_health_is_a_look_at_one_row_however_much_was_done(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("tetraodon.web.state.State.events")  # which reads 500
    assert world.http.get("/healthz").json() == {"ok": True}


def at_once(number: int, call: Callable[[int], object]) -> None:
    with ThreadPoolExecutor(number) as pool:
        list(pool.map(call, range(number)))


def test_slow_calls_do_not_delay_quick_ones(open_world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """All places for slow calls are taken, by more calls than there are places in all, and the others are answered."""
    world, done, begun = open_world, threading.Event(), threading.Semaphore(0)
    world.service.slow, world.service.quick = CapacityLimiter(2), CapacityLimiter(2)
    sent, cookie = {"Authorization": f"Bearer {world.tokens['ann']}"}, browser(world, "ann")
    form = {"form": "plan", "dataset": "people", "items": "- {name: ages, histogram: age}"}

    def slow(*_: object) -> dict[str, object]:
        begun.release()
        assert done.wait(60)
        return {}

    monkeypatch.setattr(world.context.requests, "plan", slow)

    def call(turn: int) -> None:
        if turn == 6:
            for _ in range(2):
                assert begun.acquire(timeout=60)
            assert httpx.get(f"{world.origin}/v1/me", headers=sent, timeout=30).status_code == 200
            assert httpx.get(f"{world.origin}/requests", headers=cookie, timeout=30).status_code == 200
            done.set()
        elif turn % 2:
            httpx.post(f"{world.origin}/act", data=form, headers=cookie, timeout=60)
        else:
            body = {"items": ITEMS, "epsilon": 1}
            httpx.post(f"{world.origin}/v1/datasets/people/plan", json=body, headers=sent, timeout=60)

    at_once(7, call)
    assert done.is_set()


def test_no_more_than_four_passwords_are_compared_at_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each takes 64 MB and a core: more at once would take all of both."""
    lock, now, most = threading.Lock(), [0], [0]

    def sign_in(*_: str) -> str:
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        time.sleep(0.2)
        with lock:
            now[0] -= 1
        return "secret"

    monkeypatch.setattr(world.context.accounts, "sign_in", sign_in)

    def call(turn: int) -> None:
        path, said = ("/v1/session", "json") if turn % 2 else ("/sign-in", "data")
        body: Any = {said: {"name": f"a{turn}", "password": "x"}}
        assert httpx.post(world.origin + path, timeout=60, **body).status_code in (200, 303)

    at_once(12, call)
    assert most == [4]


def test_a_rate_limit_says_when_to_retry(world: World) -> None:
    object.__setattr__(world.service.authenticator, "calls", TokenBuckets(rate=0, burst=0))
    answer = world.http.get("/v1/me", headers={"Authorization": f"Bearer {world.tokens['ann']}"})
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "1")


def test_an_unknown_address_is_answered_in_json(world: World) -> None:
    assert world.http.get("/nowhere").json()["error"]["type"] == "HttpError"
    assert world.http.delete("/v1/me").status_code == 405


def away(world: World, gone: bool) -> None:
    """Take the database away, with whoever is connected to it, or bring it back."""
    if not world.ledger.startswith("postgresql"):
        path, elsewhere = world.folder / "ledger.db", world.folder / "ledger.away"
        path.rename(elsewhere) if gone else elsewhere.rename(path)
        return
    name = world.ledger.rpartition("/")[2]
    with psycopg.connect(postgres().address("owner"), autocommit=True) as connection:
        connection.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS {not gone}")  # type: ignore[arg-type]
        if gone:
            connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgres", marks=needs_postgres)])
def test_an_unreachable_database_is_reported_and_recovers(kind: str, tmp_path: Path) -> None:
    """To whoever calls, with a fix; a worker waits for it, and what was approved before is done after."""
    world = World(tmp_path, fresh_database() if kind == "postgres" else "").opened()
    key, worker, looks = world.asked(), world.worker(), iter((True, False))
    away(world, True)
    assert world.http.get("/healthz").status_code == 503
    sent = {"Authorization": f"Bearer {world.tokens['ann']}"}
    for method, path in (("GET", "/v1/datasets"), ("POST", "/v1/datasets/people/plan")):
        answer = world.http.request(method, path, json={"items": ITEMS, "epsilon": 1}, headers=sent)
        error = answer.json()["error"]
        assert (answer.status_code, error["type"], bool(error["fix"])) == (503, "LedgerError", True)
        assert world.ledger not in answer.text
    worker.serve(lambda: next(looks))
    away(world, False)
    assert world.state_of(key)["state"] == "running"
    assert worker.step()
    world.clock.ahead += 10
    assert world.state_of(key)["state"] == "done"
    assert [entry.state for entry in world.context.ledger.entries("people")] == ["settled"]
    world.close()


def test_a_bug_tells_its_type_alone(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ValueError("a record of somebody")

    monkeypatch.setattr(world.context.accounts, "own_tokens", broken)
    answer = world.http.get("/v1/tokens", headers={"Authorization": f"Bearer {world.tokens['ann']}"})
    assert answer.status_code == 500
    assert "ValueError" in answer.text
    assert "somebody" not in answer.text


ODD = [b'"a\\u0000b"', b'"\\ud800"', b"1e999", b"[" * 50 + b"]" * 50, b'{"\\ud800": 1}']


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgres", marks=needs_postgres)])
def test_text_that_no_database_stores_is_a_client_error(kind: str, tmp_path: Path) -> None:
    """Zero bytes, halves of characters, infinity, depth: in bodies, addresses and forms."""
    world = World(tmp_path, fresh_database() if kind == "postgres" else "").opened()
    sent = {"Authorization": f"Bearer {world.tokens['ann']}", "Idempotency-Key": "odd"}
    for odd in ODD:
        body = b'{"items": [{"name": %s, "histogram": "age"}], "epsilon": 1, "purpose": "x"}' % odd
        assert world.http.post("/v1/datasets/people/requests", content=body, headers=sent).status_code == 400, odd
    kept = {"items": ITEMS, "epsilon": "0.1", "purpose": "a backslash: \\u0000"}
    assert world.call("ann", "POST", "/v1/datasets/people/requests", kept, 202, **sent)["purpose"] == kept["purpose"]
    assert world.http.post("/v1/session", json={"name": "a\0", "password": "x"}).status_code == 400
    for path in ("/v1/requests/%00", "/v1/datasets/%00", "/v1/releases/%00/files/x", "/datasets/%00"):
        assert world.http.get(path, headers=sent).status_code == 404, path
    assert world.http.post("/sign-in", data={"name": "a\0", "password": "x"}).status_code == 401
    long = {"expires": "9999-12-31T23:59:59-14:00", "amount": 1}
    world.call("carl", "PUT", "/v1/datasets/people/allotments/ann", long, 422)
    large = PROPOSAL | {"policy": POLICY | {"dataset": "large"}, "rows": 10**12}
    world.call("carl", "POST", "/v1/datasets", large, 201)
    world.close()


def test_no_redirect_follows_the_header_host(world: World) -> None:
    answer = world.http.get("/v1/me/", headers={"Host": "evil.example"})
    assert (answer.status_code, "location" in answer.headers) == (404, False)


def test_no_answer_names_the_address_of_the_ledger(open_world: World) -> None:
    """Neither when it is gone nor when too little is left, on any way to whoever asks."""
    world = open_world
    key, second = (world.asked(name, key=name, epsilon="2", approve=False) for name in ("ann", "amy"))
    world.approve(key)
    world.clock.ahead += 1  # jobs approved at the same moment are taken in the order of their random ids
    world.approve(second)
    assert world.worker().step()
    assert world.worker().step()
    world.clock.ahead += 10
    assert world.state_of(key)["state"] == "done", world.state_of(key)
    plan = world.call("ann", "POST", "/v1/datasets/people/plan", {"items": ITEMS, "epsilon": 2})
    told = [world.state_of(second, "amy"), plan]
    assert told[0]["error"]["type"] == "BudgetExhausted"
    assert not plan["fits"]
    body = {"items": ITEMS, "epsilon": 2, "purpose": "x"}
    told.append(world.call("amy", "POST", "/v1/datasets/people/requests", body, 409, **{"Idempotency-Key": "k3"}))
    away(world, True)
    told.append(world.http.get("/healthz").json())
    assert str(world.folder) not in json.dumps(told)
    away(world, False)


def test_a_disk_without_room_for_the_log_stops_no_call(monkeypatch: pytest.MonkeyPatch) -> None:
    with open("/dev/full", "w", buffering=1) as full:
        monkeypatch.setattr("sys.stderr", full)
        app_module.to_stderr("a line")
        monkeypatch.undo()
        with suppress(OSError):
            full.close()


# -- app context -----------------------------------------------------------------------------------


def test_the_web_process_knows_no_source(open_world: World) -> None:
    """Nothing that it holds names the table or the file of sources, and none of its modules can read that file."""
    assert str(open_world.table).encode() not in (open_world.folder / "ledger.db").read_bytes()
    modules = "app server app_context api pages forms datasets requests planner jobs auth"
    for name in modules.split():
        taken = {found for found, _ in imports(syntax(SOURCE / "web" / f"{name}.py"))}
        assert "tetraodon.web.worker" not in taken, name
        assert not any(found.startswith("tetraodon.engine") for found in taken), name


# -- http errors -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "status"),
    [("BudgetExhausted", 409), ("LedgerError", 503), ("PolicyError", 422), ("QueryError", 422), ("Refused", 422)],
)
def test_the_status_of_an_error(kind: str, status: int) -> None:
    assert status_of(getattr(errors, kind)("x", fix="y")) == status


def test_an_http_error_has_its_own_status() -> None:
    turned = (HttpError(418, "x", fix="y"), not_found("page"), forbidden(), conflict("x", "y"))
    assert [status_of(one) for one in turned] == [418, 404, 403, 409]
