"""One number through the ledger: terms, charges, types of entries, refusals."""

from __future__ import annotations

from pathlib import Path

import pytest

import tetraodon as td
from tetraodon import pufferfish as pf
from tetraodon.engine import DataRefusal
from tetraodon.errors import BudgetExhausted, Refused
from tetraodon.ledger.account import ADDS_UP, JOINTLY
from tetraodon.pufferfish import absolute_sum, relative_sum, wasserstein
from tetraodon.releases.pufferfish_number import release_number


def test_charges_add_up_until_the_total_is_spent(tmp_path: Path) -> None:
    mechanism = absolute_sum(individual=5, epsilon="0.4")
    with td.Ledger(tmp_path / "l.db") as book:
        book.open("firm", 1, mechanism.document())
        for _ in range(2):
            told = release_number(mechanism, [1000.5, 2000], dataset="firm", ledger=book)
            assert told.lower < told.median < told.upper
        with pytest.raises(BudgetExhausted):
            release_number(mechanism, [1000.5, 2000], dataset="firm", ledger=book)
        assert [(entry.charged, entry.composition, entry.state) for entry in book.entries("firm")] == [
            (mechanism.epsilon, ADDS_UP, "settled")
        ] * 2


def test_intervals_hold_the_truth(tmp_path: Path) -> None:
    """Each misses with probability 0.05 at most; that more than 8 of 10 do has probability below 2e-11."""
    mechanism = relative_sum(c="0.9", epsilon=1)
    with td.Ledger(tmp_path / "l.db") as book:
        book.open("firm", 10, mechanism.document())
        told = [release_number(mechanism, [300, 700], dataset="firm", ledger=book) for _ in range(10)]
    assert sum(one.lower <= 1000 <= one.upper for one in told) >= 2


def test_other_terms_are_refused(tmp_path: Path) -> None:
    with td.Ledger(tmp_path / "l.db") as book:
        book.open("firm", 1, absolute_sum(individual=5, epsilon=1).document())
        with pytest.raises(Refused, match="another promise"):
            release_number(absolute_sum(individual=4, epsilon=1), [1], dataset="firm", ledger=book)


def test_a_second_release_whose_joint_loss_is_not_known_is_refused(tmp_path: Path) -> None:
    world = pf.World.product((0, 1), individuals=2)
    scenario = pf.scenarios.chain(transition=[["0.9", "0.1"], ["0.1", "0.9"]], source="a study")
    mechanism, _ = wasserstein(sum, pf.Definition(pf.pairs.values(), scenario, epsilon=1), world)
    with td.Ledger(tmp_path / "l.db") as book:
        book.open("pair", 5, mechanism.document())
        release_number(mechanism, (0, 1), dataset="pair", ledger=book)
        with pytest.raises(Refused, match="how this release composes"):
            release_number(mechanism, (0, 1), dataset="pair", ledger=book)
        assert [entry.composition for entry in book.entries("pair")] == [JOINTLY]


def test_refusals_because_of_the_data_are_recorded_and_cost_nothing(tmp_path: Path) -> None:
    mechanism = relative_sum(c="0.9", epsilon=1)
    with td.Ledger(tmp_path / "l.db") as book:
        book.open("firm", 1, mechanism.document())
        with pytest.raises(DataRefusal):
            release_number(mechanism, [1, 0], dataset="firm", ledger=book)
        assert len(book.refusals("firm")) == 1
        assert book.account("firm").charged == 0


def test_answers_that_lose_nothing_alone_are_not_released_together(tmp_path: Path) -> None:
    """Two fair bits: neither the second nor the parity tells the first, and both together do."""
    world = pf.World.product((0, 1), individuals=2)
    pair = pf.pairs.explicit([(pf.Secret.value(0, 0), pf.Secret.value(0, 1))])
    fair = pf.scenarios.explicit([dict.fromkeys(world.datasets, "1/4")])
    definition = pf.Definition(pair, fair, epsilon=1)
    parity, second = (wasserstein(query, definition, world)[0] for query in (lambda d: sum(d) % 2, lambda d: d[1]))
    assert parity.steps == second.steps == 0
    with td.Ledger(tmp_path / "l.db") as book:
        book.open("bits", 2, parity.document())
        assert release_number(parity, (1, 0), dataset="bits", ledger=book).step == 1
        with pytest.raises(Refused, match="composes with earlier ones is not known"):
            release_number(second, (1, 0), dataset="bits", ledger=book)
