"""The ledger on a real Postgres: one total, whoever asks, and nothing of the address in an error."""

from __future__ import annotations

import socket
import time
from fractions import Fraction

import psycopg
import pytest
from scripts.services import Postgres
from tests.ledger.certificates import FREE
from tests.ledger.conftest import Started, at_once
from tests.services import needs_postgres, postgres

from tetraodon.errors import BudgetExhausted, LedgerError
from tetraodon.ledger import Ledger
from tetraodon.ledger.charging import Bill
from tetraodon.ledger.database import Database, ledger_address

pytestmark = needs_postgres
ITEM = {"policy": {}, "plan": {}, "certificate": FREE}
SPENDING = """
import sys
from fractions import Fraction
from tetraodon.errors import BudgetExhausted
from tetraodon.ledger import Ledger
from tetraodon.ledger.charging import Bill
from tests.ledger.certificates import FREE
item = {"policy": {}, "plan": {}, "certificate": FREE}
ledger, won = Ledger(sys.argv[1]), 0
print("ready", flush=True)
sys.stdin.readline()
for _ in range(12):
    try:
        ledger.settle(
            ledger.reserve("adult", Bill(asked=1, charged=Fraction(1, 10), item=item)),
            manifest_hash="ab",
        )
        won += 1
    except BudgetExhausted:
        pass
print(won)
"""


@pytest.fixture
def address(request: pytest.FixtureRequest) -> str:
    name = "ledger_" + "".join(filter(str.isalnum, request.node.name))[:40].lower()
    with psycopg.connect(postgres().address("owner"), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")  # type: ignore[arg-type]
    return postgres().address("owner", name).replace("postgresql://", "postgresql+psycopg://")


def test_a_total_is_kept(address: str) -> None:
    with Ledger(address) as ledger:
        ledger.open("adult", Fraction(1), {"dataset": "adult"})
        third = Fraction(1, 3)
        reservation = ledger.reserve("adult", Bill(asked=third, charged=third, item=ITEM))
        ledger.settle(reservation, manifest_hash="0" * 64)
        with pytest.raises(LedgerError, match="already settled"):
            ledger.settle(reservation, manifest_hash="0" * 64)
        with pytest.raises(BudgetExhausted):
            ledger.reserve("adult", Bill(asked=1, charged=1, item=ITEM))
        ledger.record_refusal("adult", "table-refused")
    with Ledger(address) as again:
        assert again.account("adult").left == Fraction(2, 3)
        assert [entry.state for entry in again.entries("adult")] == ["settled"]
        assert len(again.refusals("adult")) == 1


def test_processes_together_never_overspend(address: str, start: Started) -> None:
    Ledger(address).open("adult", Fraction(2), {})
    assert sum(map(int, at_once([start(SPENDING, address) for _ in range(3)]))) == 20
    assert Ledger(address).account("adult").left == 0


def test_a_plain_address_finds_the_driver_that_is_installed(address: str) -> None:
    with Ledger(address.replace("+psycopg", "")) as ledger:
        assert ledger.open("adult", 1, {}).left == 1


def test_a_server_that_is_gone_charges_nothing_and_tells_no_password() -> None:
    server = Postgres()
    try:
        address = server.address("owner").replace("postgresql://", "postgresql+psycopg://")
        ledger = Ledger(address)
        ledger.open("adult", 1, {})
        server.stop()
        with pytest.raises(LedgerError, match=r"127.0.0.1.*Fix: check that the database is running") as refusal:
            ledger.reserve("adult", Bill(asked=1, charged=1, item=ITEM))
        assert server.passwords["owner"] not in str(refusal.value)
        server.start()
        assert ledger.account("adult").charged == 0
    finally:
        server.close()


def test_a_server_that_is_silent_is_not_waited_for_without_end(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither by who connects, nor by who is connected when the network begins to drop everything."""
    for query, wanted in (("", "30000"), ("?tcp_user_timeout=5000", "5000")):
        with Database(ledger_address(address + query)).writing(make=True) as connection:
            driver = connection.connection.driver_connection
            assert driver is not None
            told = driver.info.get_parameters()
        assert (told["tcp_user_timeout"], told["keepalives_idle"], told["connect_timeout"]) == (wanted, "10", "10")
    monkeypatch.setattr("tetraodon.ledger.database.SILENCE", {"connect_timeout": 2})
    with socket.create_server(("127.0.0.1", 0)) as silent:
        begun = time.monotonic()
        with pytest.raises(LedgerError, match="refused to work"):
            Ledger(f"postgresql+psycopg://u@127.0.0.1:{silent.getsockname()[1]}/d").entries("d")
        assert time.monotonic() < begun + 30
