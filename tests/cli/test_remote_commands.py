"""Commands that ask a server: the same words, a token by the environment, and refused where there is no such way."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.web.conftest import ITEMS, POLICY, World
from typer.testing import CliRunner

from tetraodon.cli.main import app
from tetraodon.cli.remote import TOKEN


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    made = World(tmp_path).opened()
    monkeypatch.setenv(TOKEN, made.tokens["ann"])
    yield made
    made.close()


def test_plan_release_and_ask_on_a_server(served: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    policy, out = tmp_path / "people.policy.yaml", tmp_path / "out"
    policy.write_text(json.dumps(POLICY | {"release": ITEMS}))

    def run(*words: object, code: int = 0) -> str:
        done = CliRunner().invoke(app, ["--server", served.origin, *map(str, words)])
        assert done.exit_code == code, done.output
        return done.output

    assert "charged epsilon 1, 2 is left for you, and it fits." in " ".join(run("plan", policy).split())
    assert json.loads(run("plan", policy, "--epsilon", "2.5", "--json"))["fits"] is False
    assert "--purpose" in run("release", policy, "--out", out, code=2)
    assert "no release" in run("ask", "people", "age < 30", code=1)
    served.clock.ahead -= 10  # whoever waits for the end of a slot looks again at once
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(run, "release", policy, "--purpose", "to know", "--out", out)
        while not (asked := served.call("carl", "GET", "/v1/requests")["requests"]):
            assert not waiting.done()
        key = asked[0]["id"]
        served.call("carl", "POST", f"/v1/requests/{key}/approve")
        assert served.worker().step()
        served.clock.ahead += 10
        assert "Charged epsilon 1 to people." in waiting.result()
    assert (out / "release.json").read_bytes() == (served.context.releases / key / "release.json").read_bytes()
    assert "from 'ages'" in run("ask", "people", "age between 30 and 39")
    assert "exists" in run("release", policy, "--purpose", "x", "--out", out, code=2)
    assert "--server is for" in run("explain", policy, code=2)
    monkeypatch.delenv(TOKEN)
    assert "token" in run("plan", policy, code=2)


def test_without_a_server_a_table_is_needed(tmp_path: Path) -> None:
    policy = tmp_path / "people.policy.yaml"
    policy.write_text(json.dumps(POLICY | {"release": ITEMS}))
    done = CliRunner().invoke(app, ["release", str(policy)])
    assert (done.exit_code, "TABLE" in done.output) == (2, True)
