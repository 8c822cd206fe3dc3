"""Tables that share a margin agree on it: averages weighted by precision, from the coarsest margin to the finest."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.inference.consistency import EstimatedTable, Margin, agree, common_coarsening, follow, shared_margins
from tetraodon.query.linear import Split

groupings = st.lists(st.integers(0, 3), min_size=5, max_size=5).map(
    lambda labels: np.unique(labels, return_inverse=True)[1].tolist()
)


def same_group(labels: list[int]) -> set[tuple[int, int]]:
    return {(i, j) for i, a in enumerate(labels) for j, b in enumerate(labels) if a == b}


@given(groupings, groupings)
def test_the_common_coarsening_is_the_finest_above_both(first: list[int], second: list[int]) -> None:
    joined = same_group(first) | same_group(second)
    while True:  # transitive closure, the slow way
        more = {(i, m) for i, j in joined for k, m in joined if j == k} - joined
        if not more:
            break
        joined |= more
    assert same_group(common_coarsening(first, second)) == joined


@given(groupings)
def test_every_value_apart_is_the_finest(labels: list[int]) -> None:
    assert common_coarsening(None, labels) == labels
    assert common_coarsening(labels, None) == labels


def test_places_add_up_cells_by_hand() -> None:
    domain = Domain((Attribute("a", Integers(0, 3)), Attribute("b", Integers(0, 2))))
    table = (Split("b"), Split("a", (0, 0, 1, 1)))
    margin = Margin((("a", (0, 0, 1, 1)),))
    assert margin.places(table, domain).tolist() == [0, 1, 0, 1, 0, 1]
    assert Margin(()).places(table, domain).tolist() == [0] * 6


def test_meeting_keeps_what_both_have() -> None:
    first = Margin.of((Split("a"), Split("b", (0, 0, 1))))
    second = Margin.of((Split("b", (0, 1, 1)), Split("a", (0, 1)), Split("c")))
    assert first.meet(second) == Margin((("a", (0, 1)),))


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
