"""Twenty-four processes behind one barrier spend no more than there is; without the lock they do.

Everybody waits, between the check and the writing, until all have checked or somebody has waited long enough. Without a
lock all of them find that there is enough; with one, the second is not let in before the first has written.
"""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction
from pathlib import Path

from tests.ledger.test_postgres import address as address  # the fixture
from tests.services import needs_postgres

from tetraodon.ledger import Ledger

PEOPLE = 24
SPENDING = """
import multiprocessing, sys, time
from contextlib import suppress
from fractions import Fraction
from threading import BrokenBarrierError
from tests.ledger.certificates import FREE
from tetraodon.errors import LedgerError
from tetraodon.ledger import Ledger, charging, database
from tetraodon.ledger.charging import Bill

address, without_lock, people = sys.argv[1], sys.argv[2] == "mutant", int(sys.argv[3])
context = multiprocessing.get_context("fork")
barrier, mine = context.Barrier(people), 0

if without_lock:
    database.ALONE = dict.fromkeys(database.ALONE, "SELECT 1")
    charging_fitting = charging.fitting
    charging.fitting = lambda *args, lock: charging_fitting(*args, lock=False)

checked = charging.check_allotment

def check_and_wait(*args, **kwargs):
    found = checked(*args, **kwargs)
    with suppress(BrokenBarrierError):
        barrier.wait(2)
    if without_lock:
        time.sleep(mine / 20)  # of two who add to the chain at once one fails
    return found

charging.check_allotment = check_and_wait

def spend(number):
    global mine
    mine = number
    owner = "ann" if number % 2 else "bob"
    bill = Bill(1, Fraction(1, 5), {"policy": {}, "plan": {}, "certificate": FREE}, owner=owner)
    with Ledger(address) as ledger:
        with suppress(LedgerError):
            ledger.reserve("adult", bill)

running = [context.Process(target=spend, args=[number]) for number in range(people)]
for process in running:
    process.start()
for process in running:
    process.join()
"""


def charged_by_all(address: str, how: str) -> tuple[Fraction, dict[str, Fraction]]:
    """What was charged in all, and to whom; counted from the entries, since a mutant may keep wrong sums."""
    with Ledger(address) as ledger:
        ledger.open("adult", 1, {})
        for owner in ("ann", "bob"):
            ledger.allot("adult", owner, Fraction(4, 5))
        done = subprocess.run(
            [sys.executable, "-c", SPENDING, address, how, str(PEOPLE)], capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stderr
        found = {"ann": Fraction(0), "bob": Fraction(0)}
        for entry in ledger.entries("adult"):
            found[entry.owner] += entry.charged
        return sum(found.values(), Fraction(0)), found


def never_overspent(address: str) -> None:
    total, each = charged_by_all(address, "whole")
    assert total == 1
    assert max(each.values()) <= Fraction(4, 5)
    with Ledger(address) as ledger:
        assert {one.owner: one.spent for one in ledger.allotments("adult")} == each
        assert ledger.left("adult") == 0
        assert ledger.audit().holds


def test_a_file_is_never_overspent(path: Path) -> None:
    never_overspent(str(path))


def test_a_file_without_the_lock_is_overspent(path: Path) -> None:
    total, _ = charged_by_all(str(path), "mutant")
    assert total > 1


@needs_postgres
def test_a_server_is_never_overspent(address: str) -> None:
    never_overspent(address)


@needs_postgres
def test_a_server_without_the_lock_is_overspent(address: str) -> None:
    total, _ = charged_by_all(address, "mutant")
    assert total > 1
