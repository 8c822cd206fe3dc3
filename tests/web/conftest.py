"""A server in this process, with a data set, people of every role, and a worker that runs on request."""

from __future__ import annotations

import secrets
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import polars as pl
import pytest
import uvicorn
from sqlalchemy import insert
from tests.web.studio_fixtures import studio, visitor

from tetraodon.web.app_context import AppContext
from tetraodon.web.auth import SCOPES, Person, digest
from tetraodon.web.limited_process import Limits
from tetraodon.web.server import ServerApp
from tetraodon.web.slow_client_limits import uvicorn_config
from tetraodon.web.state import people, tokens
from tetraodon.web.worker import Worker

__all__ = ["studio", "visitor"]
POLICY: dict[str, Any] = {
    "dataset": "people",
    "presence": "public",
    "attributes": {"age": {"integer": [20, 59], "unit": "years"}, "sex": ["Female", "Male"]},
    "secrets": {"age": {"within": 5}, "sex": "public"},
    "budget": {"epsilon": 1},
}
ITEMS = [{"name": "ages", "histogram": "age"}]
PEOPLE = {
    "ann": "analyst",
    "amy": "analyst",
    "carl": "curator",
    "cora": "curator",
    "cyd": "curator",
    "otto": "auditor",
    "root": "admin",
}
PROPOSAL = {"policy": POLICY, "total": "3", "rows": 1000, "curators": ["cora"]}


@dataclass
class Hand:
    """A clock that is moved by hand alone: how busy the machine is makes no answer late."""

    begun: float = field(default_factory=time.time)
    ahead: float = 0.0

    def __call__(self) -> float:
        return self.begun + self.ahead


@dataclass
class World:
    """The server, its people's tokens, and its worker."""

    folder: Path
    ledger: str = ""
    clock: Hand = field(default_factory=Hand)
    lines: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.ledger = self.ledger or f"sqlite:///{self.folder / 'ledger.db'}"
        self.table = self.folder / "people.csv"
        pl.DataFrame({"age": [20 + i % 40 for i in range(200)], "sex": ["Female", "Male"] * 100}).write_csv(self.table)
        self.sources = self.folder / "sources.yaml"
        self.sources.write_text(f"people: {self.table}\n")
        self.context = AppContext.at(self.ledger, self.folder / "releases", self.clock)
        self.context.releases.mkdir()
        door = socket.create_server(("127.0.0.1", 0))
        self.port = door.getsockname()[1]
        self.origin = f"http://127.0.0.1:{self.port}"
        self.service = ServerApp(self.context, self.origin, self.lines.append)
        self.server = uvicorn.Server(uvicorn_config(self.service.app))
        self.thread = threading.Thread(target=self.server.run, args=([door],), daemon=True)
        self.thread.start()
        self.http = httpx.Client(base_url=self.origin, timeout=60)
        self.tokens = {name: f"td_{secrets.token_urlsafe(32)}" for name in PEOPLE}
        scopes, expires = " ".join(sorted(SCOPES)), self.clock() + 30 * 86400
        with self.context.state.writing() as connection:  # at once: each change by itself waits for the disk
            for name, role in PEOPLE.items():
                connection.execute(insert(people).values(name=name, role=role, password=""))
                kept = {"id": name, "hash": digest(self.tokens[name]), "person": name, "label": "test"}
                connection.execute(insert(tokens).values(**kept, scopes=scopes, expires=expires))

    def person(self, name: str) -> Person:
        return Person(name, PEOPLE[name], frozenset(SCOPES))

    def token(self, name: str, *scopes: str) -> str:
        made = self.context.accounts.new_token(self.person(name), "test", list(scopes or SCOPES), 30)
        return str(made["token"])

    def call(
        self, name: str, method: str, path: str, body: Any = None, expect: int = 200, **headers: str
    ) -> dict[str, Any]:
        sent = {"Authorization": f"Bearer {self.tokens[name]}"} | headers
        answer = self.http.request(method, path, json=body, headers=sent)
        assert answer.status_code == expect, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def opened(self, amount: str = "2") -> World:
        """With the data set open, and some of it allotted to ann and amy."""
        self.call("carl", "POST", "/v1/datasets", PROPOSAL, 201)
        self.call("cora", "POST", "/v1/datasets/people/open")
        for name in ("ann", "amy"):
            self.call("carl", "PUT", f"/v1/datasets/people/allotments/{name}", {"amount": amount})
        return self

    def asked(self, name: str = "ann", key: str = "k1", epsilon: str = "1", approve: bool = True) -> str:
        """A request of an analyst, approved if wanted; its id."""
        body = {"items": ITEMS, "epsilon": epsilon, "purpose": "to know"}
        made = self.call(name, "POST", "/v1/datasets/people/requests", body, 202, **{"Idempotency-Key": key})
        if approve:
            self.approve(made["id"])
        return str(made["id"])

    def approve(self, *keys: str) -> None:
        for key in keys:
            self.call("carl", "POST", f"/v1/requests/{key}/approve")

    def worker(self, seconds: float = 60) -> Worker:
        return Worker(self.context.state, self.ledger, self.context.releases, self.sources, Limits(seconds, 4096))

    def state_of(self, key: str, name: str = "ann") -> dict[str, Any]:
        return self.call(name, "GET", f"/v1/requests/{key}")

    def told(self) -> list[str]:
        """What the audit has of all that was done."""
        return [event.what for event in self.context.state.events()]

    def close(self) -> None:
        self.http.close()
        self.server.should_exit = True
        self.thread.join()
        self.context.close()


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.close()


@pytest.fixture
def open_world(world: World) -> World:
    return world.opened()
