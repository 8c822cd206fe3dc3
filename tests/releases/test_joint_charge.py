"""Charges that add up, charges that are computed together, and releases whose composition nobody knows."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pandas
import pytest
from tests.policy.test_build_attackers import CHAIN, read

import tetraodon as td
from tetraodon.certificate.correlated_records import certify_release
from tetraodon.errors import LedgerError, Refused
from tetraodon.ledger.account import ADDS_UP, JOINTLY
from tetraodon.ledger.charging import Bill
from tetraodon.policy.policy import Policy
from tetraodon.releases.pricing import charge_for, governing_certificate
from tetraodon.releases.reprice import reprice

TABLE = pandas.DataFrame(
    {"on": [True, False, True, True] * 25, "time": range(100), "home": [n // 3 for n in range(100)]}
)
ITEMS = [{"name": "h", "histogram": "on"}]


@pytest.fixture
def chained() -> Policy:
    return read([{"chain": CHAIN}], release=ITEMS)


def test_under_a_chain_the_joint_loss_is_charged(tmp_path: Path, chained: Policy) -> None:
    made = td.plan(chained)
    with td.Ledger(tmp_path / "l.db") as book:
        book.open("power", 5, chained.document)
        for _ in range(3):
            td.release(made, TABLE, ledger=book)
        entries = book.entries("power")
        together = certify_release(chained, [m for item in made for m in item.measurements] * 3).epsilon
        assert sum(entry.charged for entry in entries) == together == book.account("power").charged
        assert entries[0].charged > entries[1].charged  # less than the sum of the losses
        assert {entry.composition for entry in entries} == {JOINTLY}
        assert reprice(book, chained).together.epsilon == together


def test_groups_add_up(tmp_path: Path) -> None:
    grouped = read([{"groups": "home", "at most": 2}], release=ITEMS)
    with td.Ledger(tmp_path / "l.db") as book:
        book.open("power", 5, grouped.document)
        for _ in range(2):
            td.release(td.plan(grouped), TABLE, ledger=book)
        assert [entry.charged for entry in book.entries("power")] == [1, 1]
        assert {entry.composition for entry in book.entries("power")} == {ADDS_UP}


def test_at_most_so_many_rows_of_a_group_are_counted(tmp_path: Path) -> None:
    grouped = read([{"groups": "home", "at most": 2}], release=ITEMS, budget={"epsilon": 1000})
    with td.Ledger(tmp_path / "l.db") as book:
        book.open("power", 1000, grouped.document)
        released = td.release(td.plan(grouped), TABLE, ledger=book)
    assert released["h"].columns["count"].sum() == 67  # 33 groups of three keep two each; the last has one


def test_what_cannot_be_read_again_is_refused(tmp_path: Path, chained: Policy) -> None:
    made = td.plan(chained)
    with td.Ledger(tmp_path / "l.db") as book:
        book.open("power", 5, chained.document)
        td.release(made, TABLE, ledger=book)
        account, (entry,) = book.account("power"), book.entries("power")
        strange = replace(entry, document={**entry.document, "plan": {"views": []}})
        certificate = governing_certificate(made, account)
        with pytest.raises(Refused, match="how this release composes with entry 1"):
            charge_for(made, certificate, account, lambda _: [strange])


def test_a_release_priced_before_another_came_in_is_refused(tmp_path: Path, chained: Policy) -> None:
    made = td.plan(chained)
    with td.Ledger(tmp_path / "l.db") as book:
        account = book.open("power", 5, chained.document)
        charge = charge_for(made, governing_certificate(made, account), account, lambda _: book.entries("power"))
        assert charge.after == 0
        td.release(made, TABLE, ledger=book)
        item = {"policy": {}, "plan": {}, "certificate": made.certificate}
        with pytest.raises(LedgerError, match="while this one was priced"):
            book.reserve("power", Bill(asked=1, charged=charge.amount, after=charge.after, item=item))


def test_other_attackers_than_the_governing_ones_are_refused(tmp_path: Path, chained: Policy) -> None:
    alone = read(["independent"], release=ITEMS)
    with td.Ledger(tmp_path / "l.db") as book:
        book.open("power", 5, chained.document)
        with pytest.raises(Refused, match="attackers"):
            td.release(td.plan(alone), TABLE, ledger=book)
        assert book.account("power").charged == Fraction(0)


def test_with_a_delta_there_is_one_release_under_a_chain(tmp_path: Path, chained: Policy) -> None:
    """What is released beside it, before or after, is refused: what they lose together is not known."""
    budget = {"epsilon": 1, "delta": "1e-6", "once": True}
    once = read([{"chain": CHAIN}], release=ITEMS, budget=budget)
    gaussian, pure = td.plan(once, noise="gaussian"), td.plan(chained)
    assert (gaussian.certificate.rho, gaussian.certificate.delta) == (None, once.delta)
    assert Fraction(99, 100) < gaussian.epsilon <= 1
    for first, second in ((gaussian, pure), (pure, gaussian), (gaussian, gaussian)):
        with td.Ledger(tmp_path / f"{id(first)}-{id(second)}.db") as book:
            book.open("power", 5, once.document, delta=once.delta)
            td.release(first, TABLE, ledger=book)
            assert book.account("power").charged == first.epsilon
            with pytest.raises(Refused, match="with Gaussian noise there is one release"):
                td.release(second, TABLE, ledger=book)
