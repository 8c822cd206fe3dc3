"""Backup and restore, as the documentation says it: an older copy that is put back is noticed by what came after it."""

from __future__ import annotations

import json
import sqlite3

from tests.server.conftest import World
from typer.testing import CliRunner

from tetraodon.cli.main import app


def audited(world: World, *words: str) -> tuple[int, dict[str, object]]:
    done = CliRunner().invoke(app, ["ledger", "audit", "--ledger", world.ledger, "--json", *words])
    return done.exit_code, json.loads(done.stdout)


def test_a_restored_ledger_works_and_an_older_one_is_noticed(open_world: World) -> None:
    world = open_world
    copy = world.folder / "copy.db"
    with sqlite3.connect(world.folder / "ledger.db") as source, sqlite3.connect(copy) as target:
        source.backup(target)
    key = world.asked()
    assert world.worker().step()
    noted = world.call("otto", "GET", "/v1/audit")["last_hash"]
    assert audited(world, "--after", str(noted), "--release", str(world.office.releases / key))[0] == 0
    copy.rename(world.folder / "ledger.db")
    assert world.call("ann", "GET", "/v1/datasets/people")["left"] == "3"  # as it was then, and so it must be noticed
    world.call("ann", "GET", f"/v1/requests/{key}", expect=404)
    code, told = audited(world, "--after", str(noted))
    assert (code, told["holds"]) == (1, False)
    code, told = audited(world, "--release", str(world.office.releases / key))
    assert (code, told["holds"]) == (1, False)
