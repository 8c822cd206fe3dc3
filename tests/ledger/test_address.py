from __future__ import annotations

import os
from pathlib import Path

import pytest

from tetraodon.errors import LedgerError
from tetraodon.ledger.database import ledger_address


@pytest.mark.parametrize("given", ["sqlite:///a/b.db", "sqlite+pysqlite:///a/b.db", "a/b.db", Path("a/b.db")])
def test_a_file_keeps_the_name_its_user_gave(given: str | Path) -> None:
    address = ledger_address(given)
    assert address.name == str(Path("a/b.db"))
    assert address.path == os.path.abspath("a/b.db")
    assert address.url.database == address.path


def test_a_path_may_look_like_a_url() -> None:
    assert ledger_address(Path("sqlite:/x?mode=memory")).path.endswith("sqlite:/x?mode=memory")


@pytest.mark.parametrize("given", ["", ":memory:", "sqlite://", "sqlite:///", "sqlite:///:memory:"])
def test_memory_forgets_and_is_refused(given: str) -> None:
    with pytest.raises(LedgerError, match="would forget"):
        ledger_address(given)


@pytest.mark.parametrize(
    "given", ["sqlite:///x.db?nolock=1&uri=true", "sqlite:///x.db?timeout=0", "sqlite://host/x.db"]
)
def test_parameters_that_could_switch_locks_off_are_refused(given: str) -> None:
    with pytest.raises(LedgerError, match="no parameters"):
        ledger_address(given)


@pytest.mark.parametrize(
    "given",
    [
        "postgresql://ann:hunter2@db.example/budget",
        "postgresql+psycopg://ann:hunter2@db.example:5432/budget?sslmode=require",
        "postgresql://db.example/budget?user=ann&password=hunter2",
    ],
)
def test_a_server_is_named_without_credentials(given: str) -> None:
    address = ledger_address(given)
    assert address.name.replace(":5432", "") == "postgresql://db.example/budget"
    assert address.path == ""


@pytest.mark.parametrize(
    "given", ["mysql://ann:hunter2@h/d", "postgres://ann:hunter2@h/d", "://hunter2", "x://h:hunter2/d"]
)
def test_other_addresses_are_refused_without_showing_them(given: str) -> None:
    with pytest.raises(LedgerError, match="Fix: give the path of a file") as refusal:
        ledger_address(given)
    assert "hunter2" not in str(refusal.value)
