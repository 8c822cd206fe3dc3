"""A server from Python: the same plans and releases, compared and verified here; what it refuses is raised here."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

import tetraodon as td
from tests.web.conftest import ITEMS, POLICY, World
from tetraodon.client import TRIES
from tetraodon.errors import BudgetExhausted, LedgerError, PolicyError, Refused, ReleaseError
from tetraodon.web.auth import TokenBuckets


@pytest.fixture
def served(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path).opened()
    yield made
    made.close()


def test_the_same_plan_and_release_as_at_home(served: World, tmp_path: Path) -> None:
    people = td.connect(served.origin, token=served.tokens["ann"]).dataset("people")
    plan = people.plan(ITEMS, epsilon=1)
    assert plan == td.plan(POLICY | {"release": ITEMS}, epsilon=1)
    key = served.asked(key="mine")
    with pytest.raises(Refused, match="no answer yet"):
        people.wait(key, seconds=0)
    assert served.worker().step()
    served.clock.ahead += 10
    release = people.release(ITEMS, epsilon="1", purpose="to know", key="mine", out=tmp_path / "out")
    assert list(release) == ["ages"]
    assert len(served.context.ledger.entries("people")) == 1
    mine, theirs = release.ask("age between 30 and 39"), people.ask("age between 30 and 39")
    assert (mine, mine.interval) == (theirs, theirs.interval)
    assert people.fetch(key)["ages"].between(30, 39) == release["ages"].between(30, 39)
    (served.context.releases / key / "answers" / "ages.csv").write_text("age,count\n20,1000\n")
    with pytest.raises(ReleaseError, match="does not verify"):
        people.fetch(key, tmp_path / "again")
    with pytest.raises(BudgetExhausted):
        people.release(ITEMS, epsilon=9, purpose="too much")
    with pytest.raises(PolicyError, match="wage"):
        people.plan([{"name": "x", "histogram": "wage"}])
    rejected = served.asked(key="other", approve=False)
    served.call("carl", "POST", f"/v1/requests/{rejected}/reject")
    with pytest.raises(Refused, match="rejected"):
        people.wait(rejected)


def test_a_token_is_shown_to_its_server_alone(served: World) -> None:
    with pytest.raises(PolicyError, match="readable on the way"):
        td.connect("http://statistics.example.org", token="td_x")
    with pytest.raises(Refused, match="not signed in"):
        td.connect(served.origin, token="td_x").dataset("people")
    server = td.connect(served.origin, token=served.tokens["ann"])
    assert served.tokens["ann"] not in repr(server)
    with pytest.raises(LedgerError, match="another way"):
        td.connect(served.origin, token="td_x").fetch("GET", "/")  # a redirection, which is not followed
    with pytest.raises(LedgerError, match="cannot be reached"):
        td.connect("http://127.0.0.1:9", token="td_x").dataset("people")


def test_what_the_server_is_too_busy_for_is_asked_again_after_as_long_as_it_says(
    served: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, now, slept = td.connect(served.origin, token=served.tokens["ann"]), [0.0], list[float]()
    object.__setattr__(served.service.authenticator, "calls", TokenBuckets(rate=1, burst=1, clock=lambda: now[0]))

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        now[0] += seconds

    monkeypatch.setattr("tetraodon.client.time", SimpleNamespace(sleep=sleep))
    assert [server.call("GET", "/v1/me")["name"] for _ in range(2)] == ["ann"] * 2
    assert slept == [1]
    object.__setattr__(served.service.authenticator, "calls", TokenBuckets(rate=0, burst=0))
    with pytest.raises(Refused, match="too often"):
        server.call("GET", "/v1/me")
    assert len(slept) == 1 + TRIES
