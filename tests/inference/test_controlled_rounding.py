"""Whole counts that keep their totals and agree."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.errors import QueryError
from tetraodon.inference.consistency import EstimatedTable, agree
from tetraodon.inference.controlled_rounding import (
    Totals,
    differing,
    nearest_cells,
    whole_cells,
    whole_tables,
    with_swaps,
)
from tetraodon.query.linear import Split

# -- whole cells ------------------------------------------------------------------------------------
# Whole counts of one table: not negative, near the estimates, and with the totals they are to keep.


def nearest_of_all(estimates: np.ndarray, totals: list[Totals]) -> np.ndarray:
    """The nearest point of the same set, from a listing of all sets of cells that may be above zero."""
    rows = np.concatenate([t.places[None] == np.arange(len(t.counts))[:, None] for t in totals]).astype(float)
    wanted = np.concatenate([t.counts for t in totals]).astype(float)
    best, least = np.full(len(estimates), np.nan), np.inf
    for chosen in product([False, True], repeat=len(estimates)):
        inside = rows[:, list(chosen)]
        free = estimates[list(chosen)]
        there = free + np.linalg.pinv(inside) @ (wanted - inside @ free)
        if np.allclose(inside @ there, wanted, atol=1e-7) and (there >= -1e-9).all():
            cells = np.zeros(len(estimates))
            cells[list(chosen)] = there
            far = float(((cells - estimates) ** 2).sum())
            if far < least:
                best, least = cells, far
    return best


@st.composite
def two_ways(draw: st.DrawFn) -> tuple[np.ndarray, list[Totals], list[list[np.ndarray]]]:
    """A noisy table of rows and columns whose totals are those of some true table."""
    shape = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    truth = rng.poisson(draw(st.sampled_from([0.3, 2.0, 40.0])), shape)
    noisy = truth + rng.laplace(0, draw(st.sampled_from([0.4, 3.0, 60.0])), shape)
    row, column = (np.broadcast_to(part, shape).ravel() for part in np.ix_(*map(np.arange, shape)))
    totals = [Totals(row, truth.sum(axis=1)), Totals(column, truth.sum(axis=0))]
    return noisy.ravel(), totals, [[], [np.zeros(row.size, np.int64)]]


@settings(max_examples=150, deadline=None)
@given(two_ways(), st.integers(1, 2))
def test_the_nearest_cells_are_those_of_a_listing(
    made: tuple[np.ndarray, list[Totals], list[list[np.ndarray]]], kinds: int
) -> None:
    noisy, totals, _ = made
    found, listed = nearest_cells(noisy, totals[:kinds]), nearest_of_all(noisy, totals[:kinds])
    assert (found >= 0).all()
    np.testing.assert_allclose(found, listed, atol=1e-3 * (1 + np.abs(noisy).max()))


@settings(max_examples=300, deadline=None)
@given(two_ways(), st.integers(0, 2))
def test_whole_cells_keep_their_totals(
    made: tuple[np.ndarray, list[Totals], list[list[np.ndarray]]], kinds: int
) -> None:
    noisy, totals, shared = made
    whole = whole_cells(noisy, totals[:kinds], shared[:kinds])
    assert whole.dtype == np.int64
    assert (whole >= 0).all()
    for total in totals[:kinds]:
        np.testing.assert_array_equal(total.of(whole), total.counts)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 60))
def test_every_range_of_neighbours_is_rounded_by_less_than_one_record(seed: int, size: int) -> None:
    rng = np.random.default_rng(seed)
    places = rng.integers(0, 3, size)
    places[:3] = np.arange(3)[: min(3, size)]
    cells = rng.exponential(1.0, size)
    sums = np.bincount(places, weights=cells, minlength=3)
    cells *= (np.ceil(sums) / sums)[places] if (sums > 0).all() else 1.0
    if not (sums > 0).all():
        return
    whole = whole_cells(cells, [Totals(places, np.ceil(sums).astype(np.int64))])
    for group in range(3):
        off = np.append(0.0, np.cumsum((whole - cells)[places == group]))
        assert np.ptp(off) < 1.001


def test_what_is_whole_already_stays() -> None:
    cells = np.array([3.0, 0.0, 2.0, 5.0, 0.0, 7.0])
    rows, columns = np.array([0, 0, 0, 1, 1, 1]), np.array([0, 1, 2, 0, 1, 2])
    totals = [Totals(rows, np.array([5, 12])), Totals(columns, np.array([8, 0, 9]))]
    assert whole_cells(cells, totals, [[], [np.zeros(6, np.int64)]]).tolist() == cells.tolist()
    assert whole_cells(cells, totals[:1]).tolist() == cells.tolist()
    assert whole_cells(np.array([-3.0, 2.6]), []).tolist() == [0, 3]


def test_a_total_of_nobody_leaves_nobody() -> None:
    rows, columns = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    totals = [Totals(rows, np.array([0, 4])), Totals(columns, np.array([1, 3]))]
    whole = whole_cells(np.array([9.0, 8.0, -7.0, 2.0]), totals, [[], [np.zeros(4, np.int64)]])
    assert whole.tolist() == [0, 0, 1, 3]
    assert whole_cells(np.array([9.0, 8.0, -7.0, 2.0]), totals[:1])[:2].tolist() == [0, 0]


def test_of_a_sparse_table_what_is_large_stays_large() -> None:
    """Noise that was cut off at 0 is not taken from the one large count."""
    noisy = np.array([1000.0, *([3.0, -3.0] * 200)])
    assert whole_cells(noisy, [Totals(np.zeros(401, np.int64), np.array([1000]))])[0] > 990


def test_of_three_kinds_of_totals_that_nobody_can_keep_two_are_kept() -> None:
    """No table of 2 x 2 x 2 has two records of (0, 0), (0, 0) and (0, 1) by its three pairs of attributes."""
    a, b, c = (part.ravel() for part in np.indices((2, 2, 2)))
    ab, bc, ac = 2 * a + b, 2 * b + c, 2 * a + c
    totals = [Totals(place, np.array([2, 0, 0, 0])) for place in (ab, bc)] + [Totals(ac, np.array([0, 2, 0, 0]))]
    whole = whole_cells(np.full(8, 0.25), totals, [[], [b], [a, c]])
    assert (whole >= 0).all()
    for total in totals[:2]:
        np.testing.assert_array_equal(total.of(whole), total.counts)
    assert totals[2].of(whole).sum() == 2


def test_a_negative_total_is_refused() -> None:
    with pytest.raises(QueryError, match="negative"):
        Totals(np.array([0]), np.array([-1]))


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0.4, 2.0, 30.0]))
def test_two_margins_stay_and_the_third_comes_nearer(seed: int, mean: float) -> None:
    """From one table to the third margin of another that has the same two others, so that there is a way."""
    rng = np.random.default_rng(seed)
    truth = rng.poisson(mean, (3, 4, 3))
    cells = truth.copy()
    for _ in range(40):  # any number of swaps
        b, (a, e), (c, f) = rng.integers(4), rng.choice(3, 2, replace=False), rng.choice(3, 2, replace=False)
        if cells[a, b, c] and cells[e, b, f]:
            cells[[a, e], b, [c, f]] -= 1
            cells[[a, e], b, [f, c]] += 1
    missing = truth.sum(axis=1) - cells.sum(axis=1)
    found = with_swaps(cells, missing)
    assert (found >= 0).all()
    for axis in (0, 2):
        np.testing.assert_array_equal(found.sum(axis=axis), cells.sum(axis=axis))
    left = truth.sum(axis=1) - found.sum(axis=1)
    assert np.abs(left).sum() <= np.abs(missing).sum()
    if mean > 10:
        assert not left.any()


def test_a_table_that_has_no_such_margin_is_left_near() -> None:
    """Both records are alike, so that no swap changes anything."""
    cells = np.zeros((2, 2, 2), np.int64)
    cells[0, 0, 0] = 2
    missing = np.array([[-1, 1], [1, -1]])
    np.testing.assert_array_equal(with_swaps(cells, missing), cells)


def test_the_only_swap_is_found() -> None:
    for a, b, c in product(range(2), repeat=3):
        cells = np.zeros((2, 2, 2), np.int64)
        cells[a, b, c] = cells[1 - a, b, 1 - c] = 1
        missing = np.ones((2, 2), np.int64)
        missing[a, c] = missing[1 - a, 1 - c] = -1
        found = with_swaps(cells, missing)
        assert found[a, b, 1 - c] == found[1 - a, b, c] == 1
        assert found.sum() == 2


# -- whole tables -----------------------------------------------------------------------------------
# Whole tables agree wherever the tables did, and are no farther from the truth.

DOMAIN = Domain(tuple(Attribute(name, Integers(0, size - 1)) for name, size in zip("abcd", (4, 3, 5, 1), strict=True)))
BINS = {"a": (None, (1, 1, 0, 0), (0, 1, 1, 1)), "b": (None, (1, 0, 0)), "c": (None, (0, 0, 1, 1, 2)), "d": (None,)}


def table_of(records: np.ndarray, splits: tuple[Split, ...], variance: float) -> EstimatedTable:
    """The table of records, each a row of codes of a, b, c and d."""
    codes = [split.of(records[:, "abcd".index(split.name)]) for split in splits]
    counts = np.zeros([split.size(DOMAIN) for split in splits])
    np.add.at(counts, tuple(codes) or (), 1) if splits else counts.__iadd__(len(records))
    return EstimatedTable(splits, counts, variance)


def people(rng: np.random.Generator, number: int) -> np.ndarray:
    return np.stack([rng.integers(0, a.size, number) ** 2 // max(a.size - 1, 1) for a in DOMAIN], axis=1)


def made_whole(tables: list[EstimatedTable]) -> list[EstimatedTable]:
    made = whole_tables(tables, DOMAIN)
    return [EstimatedTable(t.splits, values, t.variance) for t, values in zip(tables, made, strict=True)]


@st.composite
def noisy_tables(draw: st.DrawFn, most: int = 2) -> tuple[list[EstimatedTable], list[EstimatedTable]]:
    """Tables of up to two attributes, the true ones and noisy ones that agree, some of them exact."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    records = people(rng, draw(st.sampled_from([0, 3, 40, 2000])))
    scale = draw(st.sampled_from([0.5, 4.0, 50.0]))
    truth, noisy = [], []
    for _ in range(draw(st.integers(1, 5))):
        names = draw(st.permutations("abcd"))[: draw(st.integers(0, most))]
        splits = tuple(
            Split(name, BINS[name][0] if len(names) > 1 else draw(st.sampled_from(BINS[name][:2]))) for name in names
        )
        exact = draw(st.integers(0, 4)) == 0
        truth.append(table_of(records, splits, 0.0 if exact else 2 * scale**2))
        noise = 0.0 if exact else rng.laplace(0, scale, truth[-1].values.shape).round()
        noisy.append(EstimatedTable(splits, truth[-1].values + noise, truth[-1].variance))
    agree(noisy, DOMAIN)
    return truth, noisy


@settings(max_examples=200, deadline=None)
@given(noisy_tables())
def test_whole_tables_agree(made: tuple[list[EstimatedTable], list[EstimatedTable]]) -> None:
    truth, noisy = made
    whole = made_whole(noisy)
    assert differing(whole, DOMAIN) == []
    for table, real in zip(whole, truth, strict=True):
        assert (table.values >= 0).all()
        assert (table.values == np.floor(table.values)).all()
        if table.variance == 0:
            np.testing.assert_array_equal(table.values, real.values)


@settings(max_examples=60, deadline=None)
@given(noisy_tables(3))
def test_three_ways_are_whole_too(made: tuple[list[EstimatedTable], list[EstimatedTable]]) -> None:
    """They need not agree on every margin, but always on the number of records."""
    whole = made_whole(made[1])
    assert all((table.values >= 0).all() and (table.values % 1 == 0).all() for table in whole)
    assert len({float(table.values.sum()) for table in whole}) == 1


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([3, 40, 2000]))
def test_tables_of_records_are_left_as_they_are(seed: int, number: int) -> None:
    rng = np.random.default_rng(seed)
    records = people(rng, number)
    tables = [table_of(records, tuple(map(Split, names)), 1.0) for names in combinations("abc", 2)]
    tables.append(table_of(records, tuple(map(Split, "abc")), 1.0))
    for before, after in zip(tables, made_whole(tables), strict=True):
        np.testing.assert_array_equal(after.values, before.values)


def test_the_error_of_small_tables_falls() -> None:
    """Squared errors of all pairs together, of few records under much noise: less than half is left."""
    rng = np.random.default_rng(5)
    before = after = 0.0
    for _ in range(20):
        records = people(rng, 30)
        truth = [table_of(records, tuple(map(Split, names)), 50.0) for names in combinations("abc", 2)]
        noisy = [EstimatedTable(t.splits, t.values + rng.laplace(0, 5, t.values.shape).round(), 50.0) for t in truth]
        known = EstimatedTable((), np.array(30.0), 0.0)
        agree([known, *noisy], DOMAIN)
        whole = made_whole([known, *noisy])[1:]
        before += sum(float(((a.values - b.values) ** 2).sum()) for a, b in zip(noisy, truth, strict=True))
        after += sum(float(((a.values - b.values) ** 2).sum()) for a, b in zip(whole, truth, strict=True))
    assert after < before / 2


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0.5, 4.0, 50.0]))
def test_bins_that_cross_agree_through_their_values(seed: int, scale: float) -> None:
    """Rounded each by itself, bins 0..1 could have fewer records than the value 0 that other bins keep apart."""
    rng = np.random.default_rng(seed)
    records = people(rng, 40)
    splits = [(Split("a", bins),) for bins in BINS["a"]] + [
        (Split("a"), Split("b")),
        (Split("a", BINS["a"][2]), Split("c")),
    ]
    noisy = [table_of(records, split, 2 * scale**2) for split in splits]
    for table in noisy:
        table.values = table.values + rng.laplace(0, scale, table.values.shape).round()
    agree(noisy, DOMAIN)
    assert differing(made_whole(noisy), DOMAIN) == []


def test_blocks_of_a_sparse_map_keep_their_counts() -> None:
    """Made whole at once, the empty half of the map would take some hundred records from the other."""
    side = Domain(tuple(Attribute(name, Integers(0, 63)) for name in "xy"))
    rng = np.random.default_rng(2)
    truth = np.zeros((64, 64))
    truth[:4, :4] = 100
    known = EstimatedTable((), np.array(truth.sum()), 0.0)
    noisy = EstimatedTable((Split("x"), Split("y")), truth + rng.laplace(0, 2, truth.shape).round(), 8.0)
    agree([known, noisy], side)
    whole = whole_tables([known, noisy], side)[1]
    assert whole.sum() == truth.sum()
    assert abs(whole[:16, :16].sum() - 1600) < 60
    assert ((whole - truth) ** 2).sum() < ((noisy.values - truth) ** 2).sum() / 4


def test_where_a_total_is_exactly_nobody_its_cells_are() -> None:
    known = EstimatedTable((Split("a"),), np.array([0.0, 4.0, 0.0, 3.0]), 0.0)
    noisy = EstimatedTable((Split("a"), Split("b")), np.arange(12.0).reshape(4, 3), 1.0)
    agree([known, noisy], DOMAIN)
    whole = made_whole([known, noisy])[1].values
    assert whole[[0, 2]].sum() == 0
    assert whole.sum(axis=1).tolist() == [0, 4, 0, 3]


def test_tables_that_differ_are_told() -> None:
    one = EstimatedTable((Split("a"), Split("b")), np.ones((4, 3)), 1.0)
    other = EstimatedTable((Split("a"), Split("c")), np.ones((4, 5)), 1.0)
    assert [margin.groups for margin in differing([one, other], DOMAIN)] == [(("a", None),)]
