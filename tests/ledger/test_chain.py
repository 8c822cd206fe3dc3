"""Everything that is recorded is in the chain, once, in order; and a hash of it tells nothing but itself."""

from __future__ import annotations

import hashlib
import sqlite3
from fractions import Fraction
from pathlib import Path

from tests.ledger.certificates import FREE
from tests.ledger.conftest import Started, at_once

from tetraodon.ledger import Ledger
from tetraodon.ledger.amount import canonical_text
from tetraodon.ledger.charging import Bill
from tetraodon.ledger.entries import KINDS, START, append, extend, hash_of, links

SPENDING = """
import sys
from fractions import Fraction
from tests.ledger.certificates import FREE
from tetraodon.ledger import Ledger
from tetraodon.ledger.charging import Bill
item = {"policy": {}, "plan": {}, "certificate": FREE}
ledger = Ledger(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
for turn in range(8):
    ledger.open(f"{sys.argv[2]}-{turn}", 1, {})
    made = ledger.reserve("adult", Bill(asked=1, charged=Fraction(1, 100), item=item))
    ledger.record_refusal("adult", "table-refused")
    ledger.settle(made, manifest_hash="ab")
"""


def spend_together(address: str, start: Started) -> None:
    """Three processes that open, reserve, settle and refuse at once; then the chain is whole."""
    Ledger(address).open("adult", Fraction(2), {})
    at_once([start(SPENDING, address, name) for name in "abc"])
    found = Ledger(address).audit()
    assert found.problems == ()
    extra = len(Ledger(address).keys())
    assert (found.records, len(found.charges)) == (1 + 3 * 8 * 4 + extra, 24)


def test_processes_together_make_one_chain(path: Path, start: Started) -> None:
    spend_together(str(path), start)


def test_every_kind_of_record_is_chained(ledger: Ledger) -> None:
    made = ledger.reserve("adult", Bill(asked=1, charged=1, item={"policy": {}, "plan": {}, "certificate": FREE}))
    ledger.settle(made, manifest_hash="ab")
    ledger.record_refusal("adult", "table-refused")
    ledger.open("jan", 1, {"dataset": "jan", "population": "panel"})
    ledger.correct("panel", 2)
    ledger.allot("panel", "ann", 1)
    with ledger._database.reading() as connection:
        found = links(connection)
        assert hash_of(connection, "reserved", made.id) == found[2].hash
    kinds = ["opened", "key", "reserved", "settled", "refused", "opened", "joined", "corrected", "allotted"]
    assert [link.kind for link in found] == kinds
    assert set(kinds) == set(KINDS)
    assert [link.number for link in found] == list(range(1, 10))


def test_a_hash_is_that_of_the_one_before_and_of_the_row(ledger: Ledger, path: Path) -> None:
    ledger.record_refusal("adult", "table-refused")
    raw = sqlite3.connect(path)
    (before,), (nonce, found) = (
        raw.execute("SELECT hash FROM chain WHERE number = 2").fetchone(),
        raw.execute("SELECT nonce, hash FROM chain WHERE number = 3").fetchone(),
    )
    (when,) = raw.execute("SELECT refused_at FROM refusals").fetchone()
    raw.close()
    row = {"id": 1, "dataset": "adult", "kind": "table-refused", "refused_at": when}
    text = canonical_text({"number": 3, "kind": "refused", "subject": "1", "nonce": nonce, "row": row})
    assert hashlib.sha256(f"{before}\n{text}".encode()).hexdigest() == found
    assert START == "0" * 64


def test_nobody_can_guess_what_was_recorded_between_two_hashes(tmp_path: Path) -> None:
    """Why  a refusal says something about the data; without a secret in it, a published hash would confirm a guess."""
    nonces: list[str] = []
    for name in "ab":
        with Ledger(tmp_path / f"{name}.db") as ledger:
            ledger.open("adult", 1, {})
            with ledger._database.reading() as connection:
                nonces += [link.nonce for link in links(connection)]
    assert len(set(nonces)) == len(nonces) == 4
    assert all(len(nonce) == 64 for nonce in nonces)


def test_what_is_rolled_back_is_not_in_the_chain(ledger: Ledger) -> None:
    before = ledger.audit()
    try:
        with ledger._database.writing() as connection:
            append(connection, "opened", "adult")
            extend(connection, [("opened", "adult")])
            raise KeyError
    except KeyError:
        pass
    assert ledger.audit() == before
