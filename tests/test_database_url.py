"""Whatever is wrong with an address, the password in it is never shown."""

from __future__ import annotations

import itertools
import traceback
from pathlib import Path

import pytest

from tetraodon import Ledger
from tetraodon.database_url import may_hold_password, server_name, table_of
from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.engine import open_table
from tetraodon.errors import TetraodonError

SECRET = "hunter2"
SCHEMES = (
    "postgresql://",
    "postgres://",
    "postgresql:/",
    "postgresql:",
    "postgresql//",
    "POSTGRESQL://",
    " postgres://",
)
SCHEMES += ("postgresql+psycopg://", "mysql://", "")
USERS = ("ann:{}@", "ann:12/34{}@", "ann:12#{}@", "ann:{}?x@", "ann:[{}@", "ann:a@{}@", "ann:{}", ":{}@", "ann:12%{}@")
PLACES = ("127.0.0.1:1/db#people", "127.0.0.1:1/db", "127.0.0.1:99999/db#people", "[broken/db#people", "")
PLACES += ("127.0.0.1:1/db?sslpassword={}#people", "127.0.0.1:1/db?password=a@{}#people", "127.0.0.1:x{}/db#people")
ADDRESSES = [
    (scheme + user + place).replace("{}", SECRET) for scheme, user, place in itertools.product(SCHEMES, USERS, PLACES)
]


def told(error: BaseException) -> str:
    """Everything that a traceback, or somebody who walks the chain, could show but for lines of our own code."""
    text = "".join(traceback.format_exception_only(error))
    chain = error.__context__ or error.__cause__
    return text + (told(chain) if chain else "")


@pytest.mark.parametrize("address", ADDRESSES[::7])
def test_no_error_of_a_table_shows_a_password(address: str) -> None:
    with pytest.raises(TetraodonError) as refusal:
        open_table(address, Domain((Attribute("age", Integers(0, 9)),)))
    assert SECRET not in told(refusal.value)


@pytest.mark.parametrize("address", ADDRESSES[3::7])
def test_no_error_of_a_ledger_shows_a_password(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TetraodonError) as refusal, Ledger(address) as ledger:
        ledger.accounts()
    assert SECRET not in str(refusal.value)
    assert list(tmp_path.iterdir()) == []


def test_every_address_is_named_without_its_password() -> None:
    for address in ADDRESSES:
        assert SECRET not in server_name(address)
        assert may_hold_password(address)


def test_what_is_no_address() -> None:
    for path in ("people.csv", "a b/people@home.csv", "/data/p.duckdb#t", "duckdb:///p.duckdb#t", "sqlite:///x.db"):
        assert not may_hold_password(path)
    assert table_of("postgresql://db/census") == ("postgresql://db/census", "")
