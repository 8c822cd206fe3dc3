"""The server's tables in the ledger's database, and an audit trail that cannot be changed."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import text
from tests.services import needs_postgres
from tests.web.test_worker import fresh_database

from tetraodon.errors import LedgerError
from tetraodon.ledger import Ledger
from tetraodon.web.auth import SCOPES, Accounts, Person
from tetraodon.web.state import State


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgres", marks=needs_postgres)])
def test_the_audit_trail_cannot_be_changed(kind: str, tmp_path: Path) -> None:
    url = str(tmp_path / "ledger.db") if kind == "sqlite" else fresh_database()
    state = State(url)
    State(url).close()  # opening again changes nothing
    with state.writing() as connection:
        state.note(connection, "ann", "requested", "people", "1")
    changes = ["UPDATE server_audit SET person = 'amy'", "DELETE FROM server_audit"]
    changes += [
        "INSERT OR REPLACE INTO server_audit SELECT id, moment, 'amy', what, dataset, subject FROM server_audit"
    ]
    if kind == "postgres":
        changes[2] = "TRUNCATE server_audit"
    for statement in changes:
        with pytest.raises(LedgerError), state.writing() as connection:
            connection.execute(text(statement))
    assert [(event.person, event.what) for event in state.events()] == [("ann", "requested")]
    assert state.events(among=["other"]) == []
    with Ledger(url) as ledger:
        ledger.open("people", 1, {"dataset": "people"})
        assert ledger.audit().head
    state.close()


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgres", marks=needs_postgres)])
def test_tables_of_an_older_version_get_the_columns_that_they_lack(kind: str, tmp_path: Path) -> None:
    url = str(tmp_path / "ledger.db") if kind == "sqlite" else fresh_database()
    state = State(url)
    ann, accounts = Person("ann", "analyst", frozenset(SCOPES)), Accounts(state)
    accounts.add("root", "ann", "analyst", "correct horse battery")
    token = accounts.new_token(ann, "old", ["read"], 30)["token"]
    with state.writing() as connection:
        connection.execute(text("ALTER TABLE server_tokens DROP COLUMN made_with"))
        connection.execute(text("DROP TABLE server_identities"))
    state.close()
    state = State(url)
    accounts = Accounts(state)
    found = accounts.of_token(token)
    assert found is not None
    accounts.new_token(found, "new", ["read"], 30)
    accounts.remove_token(ann, found.token)
    assert accounts.own_tokens(ann) == []
    assert accounts.sign_in("ann", "correct horse battery")
    state.close()
