"""Charges a second, each out of an allotment, by four processes at once: on a file, and on a Postgres that syncs."""

from __future__ import annotations

import multiprocessing
import tempfile
import time
from fractions import Fraction
from pathlib import Path

from scripts.services import Postgres

import tetraodon as td
from tetraodon.ledger.charging import Bill

PROCESSES = 4
POLICY = {"dataset": "d", "attributes": {"sex": ["f", "m"]}, "budget": {"epsilon": 1}}


def _charge(address: str, seconds: float, made: multiprocessing.Queue[int]) -> None:
    item = {"policy": POLICY, "plan": {}, "certificate": td.certify(POLICY, [[1, 0]], 1000)}
    bill = Bill(1, Fraction(1, 1000), item, owner="ann")
    with td.Ledger(address) as ledger:
        ledger.left("d")
        end, charges = time.perf_counter() + seconds, 0
        while time.perf_counter() < end:
            ledger.reserve("d", bill)
            charges += 1
    made.put(charges)


def charges_a_second(address: str, seconds: float) -> float:
    with td.Ledger(address) as ledger:
        ledger.open("d", 10**6, POLICY)
        ledger.allot("d", "ann", 10**6)
    context = multiprocessing.get_context("fork")
    made = context.Queue()
    running = [context.Process(target=_charge, args=(address, seconds, made)) for _ in range(PROCESSES)]
    for process in running:
        process.start()
    found = sum(made.get() for _ in running)
    for process in running:
        process.join()
    with td.Ledger(address) as ledger:
        assert ledger.account("d").charged == Fraction(found, 1000), "a charge was lost"
    return found / seconds


def run(quick: bool) -> list[dict[str, object]]:
    """Rows for the common report."""
    seconds = 2.0 if quick else 10.0
    server = Postgres(durable=True)
    try:
        with tempfile.TemporaryDirectory() as folder:
            rates = {
                "Postgres": charges_a_second(server.address("owner").replace("://", "+psycopg://"), seconds),
                "a file": charges_a_second(str(Path(folder) / "ledger.db"), seconds),
            }
    finally:
        server.close()
    return [
        {
            "name": f"100 charges a second over those on {where}",
            "ratio": 100 / rate,
            "target": 1.0 if where == "Postgres" else None,
            "reached": rate >= 100 if where == "Postgres" else None,
            "detail": {"charges_a_second": rate, "processes": PROCESSES, "seconds": seconds},
        }
        for where, rate in rates.items()
    ]
