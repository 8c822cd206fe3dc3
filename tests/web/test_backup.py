"""Backup and restore as documented: the ledger's chain shows what an older copy lacks."""

from __future__ import annotations

import json
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from scripts.services import postgres_programs
from tests.services import needs_postgres, postgres
from tests.web.conftest import World
from tests.web.test_worker import fresh_database
from typer.testing import CliRunner

from tetraodon.cli.main import app
from tetraodon.errors import LedgerError


def audited(world: World, *words: str) -> tuple[int, dict[str, object]]:
    done = CliRunner().invoke(app, ["ledger", "audit", "--ledger", world.ledger, "--json", *words])
    return done.exit_code, json.loads(done.stdout)


def back_up(world: World, copy: Path) -> None:
    if world.ledger.startswith("sqlite"):
        places = world.folder / "ledger.db", copy
        with closing(sqlite3.connect(places[0])) as source, closing(sqlite3.connect(places[1])) as target:
            source.backup(target)
    else:
        address = world.ledger.replace("postgresql+psycopg://", "postgresql://")
        subprocess.run([programs() / "pg_dump", "--dbname", address, "--file", copy], check=True)


def restore(world: World, copy: Path) -> None:
    """Into the same place, of which nothing is left."""
    if world.ledger.startswith("sqlite"):
        copy.rename(world.folder / "ledger.db")
        return
    name = world.ledger.rpartition("/")[2]
    with psycopg.connect(postgres().address("owner"), autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")  # type: ignore[arg-type]
        connection.execute(f"CREATE DATABASE {name}")  # type: ignore[arg-type]
    address = world.ledger.replace("postgresql+psycopg://", "postgresql://")
    words = ["--dbname", address, "--quiet", "--set", "ON_ERROR_STOP=1", "--output", "/dev/null", "--file", copy]
    subprocess.run([programs() / "psql", *words], check=True)


def programs() -> Path:
    found = postgres_programs()
    assert found is not None
    return found


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgres", marks=needs_postgres)])
def test_a_restored_ledger_works_and_an_older_one_is_noticed(kind: str, tmp_path: Path) -> None:
    world = World(tmp_path, fresh_database() if kind == "postgres" else "").opened()
    before = str(world.call("otto", "GET", "/v1/audit")["last_hash"])
    back_up(world, world.folder / "copy")
    key = world.asked()
    assert world.worker().step()
    noted = world.call("otto", "GET", "/v1/audit")["last_hash"]
    assert audited(world, "--after", str(noted), "--release", str(world.context.releases / key))[0] == 0
    restore(world, world.folder / "copy")
    assert world.call("ann", "GET", "/v1/datasets/people")["left"] == "3"  # as it was then, and so it must be noticed
    world.call("ann", "GET", f"/v1/requests/{key}", expect=404)
    assert audited(world, "--after", before)[0] == 0  # it is whole
    for words in (("--after", str(noted)), ("--release", str(world.context.releases / key))):
        code, told = audited(world, *words)
        assert (code, told["holds"]) == (1, False)
    with pytest.raises(LedgerError), world.context.state.writing() as connection:  # its triggers came back with it
        connection.exec_driver_sql("DELETE FROM server_audit")
    again = world.asked(key="after")
    assert world.worker().step()
    world.clock.ahead += 10
    assert world.state_of(again)["state"] == "done"
    world.close()
