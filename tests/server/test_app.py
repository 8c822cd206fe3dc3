"""The server from end to end, and what a call may not do: be too long, too slow, malformed, or from elsewhere."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest
from tests.server.conftest import ITEMS, World
from tests.server.test_queue import fresh_database
from tests.services import needs_postgres

import tetraodon as td
from tetraodon.server import app as app_module


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
    [entry] = world.office.ledger.entries("people")
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
    assert open_world.http.post(path, content=b"x" * (app_module.MOST_BYTES + 1), headers=sent).status_code == 413
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


def test_what_is_not_there_is_told_as_json(world: World) -> None:
    assert world.http.get("/nowhere").json()["error"]["type"] == "Turned"
    assert world.http.delete("/v1/me").status_code == 405


def test_a_database_that_is_gone_is_told_and_it_comes_back(open_world: World) -> None:
    path = open_world.folder / "ledger.db"
    path.rename(path.with_suffix(".away"))
    sent = {"Authorization": f"Bearer {open_world.tokens['ann']}"}
    assert open_world.http.get("/healthz").status_code == 503
    answer = open_world.http.get("/v1/datasets", headers=sent)
    assert (answer.status_code, answer.json()["error"]["type"]) == (503, "LedgerError")
    path.with_suffix(".away").rename(path)
    assert open_world.http.get("/v1/datasets", headers=sent).status_code == 200


def test_a_bug_tells_its_type_alone(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ValueError("a record of somebody")

    monkeypatch.setattr(world.office.accounts, "own_tokens", broken)
    answer = world.http.get("/v1/tokens", headers={"Authorization": f"Bearer {world.tokens['ann']}"})
    assert answer.status_code == 500
    assert "ValueError" in answer.text
    assert "somebody" not in answer.text
