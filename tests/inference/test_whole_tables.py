"""Whole tables agree wherever the tables did, and are no farther from the truth."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.inference.consistency import EstimatedTable, agree
from tetraodon.inference.controlled_rounding import differing, whole_tables
from tetraodon.query.linear import Split

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
