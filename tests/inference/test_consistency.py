"""Tables that agree: projections, margins and monotone counts."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tetraodon.domain import Attribute, Categories, Domain, Integers
from tetraodon.inference.consistency import (
    EstimatedTable,
    Margin,
    Meeting,
    agree,
    common_coarsening,
    finest,
    fitting,
    follow,
    is_in,
    margins_of,
    meet,
    monotone_counts,
    normal,
    settle,
    shared_margins,
    splits_of,
)
from tetraodon.query.linear import Split

# -- consistency ------------------------------------------------------------------------------------
# Tables that share a margin agree on it: averages weighted by precision, from the coarsest margin to the finest.

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


# -- meeting ----------------------------------------------------------------------------------------
# Projections in turn end at the nearest tables that agree, however slow the way, or say they cannot.


def sums(places: np.ndarray, cells: int) -> np.ndarray:
    return np.equal.outer(np.arange(cells), places).astype(float)


def nearest(values: np.ndarray, rows: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """The nearest vector with given sums, by dense least squares."""
    return values + np.linalg.pinv(rows) @ (targets - rows @ values)


@settings(max_examples=150, deadline=None)
@given(st.integers(2, 24), st.integers(0, 10**6), st.sampled_from([1.0, 1e6, 1e14]))
def test_a_chain_of_crossing_bins_ends_at_the_nearest_table(size: int, seed: int, noise: float) -> None:
    """Pairs (0,1), (2,3), ... and (1,2), (3,4), ...: plain projections need ever more rounds as the chain grows."""
    rng = np.random.default_rng(seed)
    truth, values = rng.integers(0, 50, size).astype(float), rng.normal(0, noise, size)
    bins = [np.arange(size) // 2, (np.arange(size) + 1) // 2]
    table = EstimatedTable((), values, 1.0)
    rows = [sums(places, int(places.max()) + 1) for places in bins]
    meetings = [
        Meeting([EstimatedTable((), row @ truth, 0.0), table], [np.arange(len(row)), places], len(row))
        for row, places in zip(rows, bins, strict=True)
    ]
    assert settle(meetings)
    every = np.concatenate(rows)
    expected = nearest(values, every, every @ truth)
    assert np.abs(table.values - expected).max() < 1e-6 * (1 + noise)
    assert np.abs(every @ table.values - every @ truth).max() < 1e-9 * (50 + noise)


@settings(max_examples=100, deadline=None)
@given(st.integers(3, 8), st.integers(0, 10**6))
def test_noisy_tables_end_at_the_weighted_least_squares(size: int, seed: int) -> None:
    """Uneven bins: every cell of a margin is averaged by its own precision."""
    rng = np.random.default_rng(seed)
    places = [rng.integers(0, 2, size), rng.integers(0, 2, size)]
    for place in places:
        place[:2] = 0, 1
    variances = [1.0, 3.0, 0.5]
    first = [rng.normal(10, 3, size), rng.normal(10, 3, 2), rng.normal(10, 3, 2)]
    tables = [EstimatedTable((), values, v) for values, v in zip(first, variances, strict=True)]
    coarse = [np.arange(2), np.arange(2)]
    meetings = [Meeting([tables[0], tables[k + 1]], [places[k], coarse[k]], 2) for k in range(2)]
    assert settle(meetings)
    weights = np.repeat(1 / np.array(variances), [size, 2, 2])
    rows = np.zeros((4, size + 4))
    for k in range(2):
        rows[2 * k : 2 * k + 2, :size] = sums(places[k], 2)
        rows[2 * k : 2 * k + 2, size + 2 * k : size + 2 * k + 2] = -np.eye(2)
    scaled = rows / np.sqrt(weights)
    start = np.concatenate(first)
    best = start - (np.linalg.pinv(scaled) @ (rows @ start)) / np.sqrt(weights)
    np.testing.assert_allclose(np.concatenate([t.values for t in tables]), best, atol=1e-7)


def test_targets_that_contradict_each_other_end_in_a_no() -> None:
    table = EstimatedTable((), np.zeros(3), 1.0)
    wanted = [([0, 0, 1], [1.0, 1.0]), ([0, 1, 1], [1.0, 1.0]), ([0, 1, 0], [0.0, 7.0])]
    meetings = [
        Meeting([EstimatedTable((), np.array(target), 0.0), table], [np.arange(2), np.array(places)], 2)
        for places, target in wanted
    ]
    assert not settle(meetings)
    assert np.isfinite(table.values).all()


def test_nothing_to_agree_on_is_agreement() -> None:
    assert settle([])


# -- margin lattice ---------------------------------------------------------------------------------
# The order of margins: what tells what, which fit together, and blocks before values.

LATTICE = Domain((*(Attribute(name, Integers(0, 2)) for name in "abcd"), Attribute("long", Integers(0, 99))))


def margin(*names: str) -> Margin:
    return Margin(tuple((name, None) for name in sorted(names)))


def test_the_same_groups_have_one_name() -> None:
    one, other = Margin((("a", (1, 1, 0)),)), Margin((("a", (0, 0, 1)),))
    assert normal(one) == normal(other) == other
    assert meet(margin("a", "b"), one) == other
    assert normal(Margin((("a", (0, 0, 0)), ("b", None)))) == margin("b")


def test_what_tells_what() -> None:
    assert is_in(margin(), margin("a"))
    assert is_in(margin("a"), margin("a", "b"))
    assert not is_in(margin("a", "b"), margin("a"))
    assert is_in(Margin((("a", (0, 0, 1)),)), margin("a"))
    assert not is_in(Margin((("a", (0, 0, 1)),)), Margin((("a", (0, 1, 1)),)))
    assert finest([margin(), margin("a"), margin("b"), margin("a", "b")]) == [margin("a", "b")]


@pytest.mark.parametrize(
    ("names", "left"),
    [
        (["ab", "bc"], 0),
        (["a", "b", "c"], 0),
        (["ab", "bc", "cd"], 0),
        (["ab", "bc", "ac"], 1),
        (["abc", "bcd", "ad"], 1),
        (["ab", "bc", "cd", "ad"], 1),
    ],
)
def test_margins_fit_unless_they_form_a_cycle(names: list[str], left: int) -> None:
    fit, rest = fitting([margin(*name) for name in names])
    assert len(rest) == left
    assert {*fit, *rest} == {margin(*name) for name in names}


def test_blocks_of_a_margin_and_its_values_may_form_a_cycle() -> None:
    blocks, a_values, b_values = (
        Margin((("a", None), ("b", None), ("d", (0, 0, 1)))),
        margin("a", "d"),
        margin("b", "d"),
    )
    assert fitting([blocks, a_values])[1] == []
    assert len(fitting([blocks, a_values, b_values])[1]) == 1
    map_blocks = Margin((("a", (0, 0, 1)), ("b", (0, 0, 1))))
    assert fitting([map_blocks, margin("a"), margin("b")])[1] == []


def test_bins_that_overlap_crosswise_do_not_fit() -> None:
    assert len(fitting([Margin((("a", (0, 0, 1)),)), Margin((("a", (0, 1, 1)),))])[1]) == 1


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(["a", "b", "c", "ab", "bc", "ac", "abc"]), min_size=1, max_size=4, unique=True))
def test_margins_that_fit_join_one_before_them(names: list[str]) -> None:
    """What a margin shares with all before it is in one of them: so it can be joined without a clash."""
    fit, _ = fitting(finest([margin(*name) for name in names]))
    for place, one in enumerate(fit[1:], 1):
        mine = {name for name, _ in one.groups}
        before = [{name for name, _ in other.groups} for other in fit[:place]]
        assert any(mine & set().union(*before) <= other for other in before)


def test_values_come_after_blocks_and_every_margin_after_what_it_tells() -> None:
    found = margins_of([(Split("long"), Split("a")), (Split("a"), Split("b"))], LATTICE)
    for place, one in enumerate(found):
        assert not any(is_in(later, one) for later in found[place + 1 :])
    sizes = [one.cells(LATTICE) for one in found if dict(one.groups).keys() == {"long", "a"}]
    assert sizes == [2 * 3, 7 * 3, 25 * 3, 100 * 3]
    assert all(meet(a, b) in found for a, b in product(found, found))


def test_attributes_without_order_in_bins_or_very_long_have_no_blocks() -> None:
    named = Domain((Attribute("a", Categories(tuple("abcdefgh")), other=0), Attribute("b", Integers(0, 10**6))))
    assert margins_of([(Split("a"),), (Split("b"),)], named) == [margin(), margin("a"), margin("b")]
    bins = tuple(int(code > 49) for code in range(100))
    assert len(margins_of([(Split("long"),), (Split("long", bins),)], LATTICE)) == 3


def test_a_margin_is_a_table() -> None:
    one = Margin((("a", None), ("long", tuple(np.repeat([0, 1], 50).tolist()))))
    assert Margin.of(splits_of(one)) == one


# -- monotone ---------------------------------------------------------------------------------------
# Running counts never fall, stay within bounds, and come no further from the truth.

counts = arrays(np.float64, st.tuples(st.integers(1, 3), st.integers(1, 6)), elements=st.integers(-20, 40).map(float))


@settings(max_examples=200, deadline=None)
@given(counts)
def test_order_bounds_and_totals(noisy: np.ndarray) -> None:
    fitted = monotone_counts(noisy)
    possible = noisy.sum(axis=1) >= 0
    assert (fitted[possible] >= -1e-9).all()
    np.testing.assert_array_equal(fitted[~possible], noisy[~possible])
    np.testing.assert_allclose(fitted.sum(axis=1), noisy.sum(axis=1), atol=1e-9)


@settings(max_examples=200, deadline=None)
@given(counts, st.data())
def test_it_is_the_nearest_such_sequence(noisy: np.ndarray, data: st.DataObject) -> None:
    """No other non-decreasing sequence within the bounds is nearer: checked against random ones."""
    row = noisy[0]
    total = float(row.sum())
    if total < 0:
        return
    target = np.cumsum(row)[:-1]
    fitted = np.cumsum(monotone_counts(row[None])[0])[:-1]
    other = np.sort(data.draw(arrays(np.float64, len(target), elements=st.floats(0, 1)))) * total
    assert np.sum((fitted - target) ** 2) <= np.sum((other - target) ** 2) + 1e-6


def test_what_is_in_order_already_stays() -> None:
    np.testing.assert_allclose(monotone_counts(np.array([3.0, 0.0, 2.0])), [3.0, 0.0, 2.0])
