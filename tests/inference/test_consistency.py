"""Tables of one release agree on what they share, and move no more than they must."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.inference.consistency import agree, follow, shared_margins
from tetraodon.inference.margin import Margin
from tetraodon.inference.meeting import EstimatedTable
from tetraodon.workload.linear import Split

DOMAIN = Domain(tuple(Attribute(name, Integers(0, 3)) for name in "abc"))
BINS = (None, (0, 0, 1, 1), (0, 1, 1, 2))


@st.composite
def tables(draw: st.DrawFn) -> list[EstimatedTable]:
    made = []
    for _ in range(draw(st.integers(2, 4))):
        names = draw(st.permutations("abc"))[: draw(st.integers(0, 3))]
        splits = tuple(Split(name, draw(st.sampled_from(BINS))) for name in names)
        shape = tuple(split.size(DOMAIN) for split in splits)
        seed = draw(st.integers(0, 10**6))
        values = np.random.default_rng(seed).normal(10, 3, shape)
        made.append(EstimatedTable(splits, values, draw(st.sampled_from([0.5, 1.0, 8.0]))))
    return made


def total(table: EstimatedTable, margin: Margin) -> np.ndarray:
    return table.totals(margin.places(table.splits, DOMAIN), margin.cells(DOMAIN))


def disagreement(tables: list[EstimatedTable]) -> float:
    worst = 0.0
    for i, first in enumerate(tables):
        for second in tables[:i]:
            for margin in shared_margins([first, second], DOMAIN):
                gap = total(first, margin) - total(second, margin)
                worst = max(worst, float(np.abs(gap).max()))
    return worst


@settings(max_examples=200, deadline=None)
@given(tables())
def test_afterwards_all_shared_margins_agree(given_tables: list[EstimatedTable]) -> None:
    agree(given_tables, DOMAIN)
    assert disagreement(given_tables) < 1e-8


@settings(max_examples=100, deadline=None)
@given(tables(), st.integers(0, 10**6))
def test_tables_of_one_truth_are_left_alone(given_tables: list[EstimatedTable], seed: int) -> None:
    truth = EstimatedTable(
        tuple(Split(name) for name in "abc"), np.random.default_rng(seed).normal(5, 2, (4, 4, 4)), 1.0
    )
    for table in given_tables:
        whole = Margin.of(table.splits)
        table.values = total(truth, whole)[whole.places(table.splits, DOMAIN)].reshape(table.values.shape)
    before = [table.values.copy() for table in given_tables]
    agree(given_tables, DOMAIN)
    for table, old in zip(given_tables, before, strict=True):
        np.testing.assert_allclose(table.values, old, atol=1e-9)


def test_an_exact_table_does_not_move_and_wins() -> None:
    known = EstimatedTable((), np.array(100.0), 0.0)
    noisy = EstimatedTable((Split("a"),), np.array([10.0, 20.0, 30.0, 60.0]), 1.0)
    agree([known, noisy], DOMAIN)
    assert known.values == 100.0
    np.testing.assert_allclose(noisy.values, [5.0, 15.0, 25.0, 55.0])


def test_the_average_is_weighted_by_precision() -> None:
    good = EstimatedTable((Split("a"),), np.array([0.0, 0.0, 0.0, 0.0]), 1.0)
    poor = EstimatedTable((Split("a"),), np.array([4.0, 4.0, 4.0, 4.0]), 3.0)
    agree([good, poor], DOMAIN)
    np.testing.assert_allclose(good.values, 1.0)
    np.testing.assert_allclose(poor.values, 1.0)


@settings(max_examples=100, deadline=None)
@given(tables())
def test_a_follower_agrees_with_leaders_that_agree(given_tables: list[EstimatedTable]) -> None:
    *leaders, last = given_tables
    agree(leaders, DOMAIN)
    kept = [leader.values.copy() for leader in leaders]
    follow(last, leaders, DOMAIN)
    assert disagreement([*leaders, last]) < 1e-8
    for leader, old in zip(leaders, kept, strict=True):
        np.testing.assert_array_equal(leader.values, old)
