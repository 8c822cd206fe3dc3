"""Database roles: the web process cannot charge, and a worker cannot read accounts."""

from __future__ import annotations

import re
import secrets
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import make_url
from tests.services import needs_postgres
from tests.web.conftest import World
from tests.web.test_worker import fresh_database

from tetraodon.ledger import Ledger
from tetraodon.web.limited_process import Limits
from tetraodon.web.state import State
from tetraodon.web.worker import Worker

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
