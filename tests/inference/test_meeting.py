"""Projections in turn end at the nearest tables that agree, however slow the way, or say they cannot."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tetraodon.inference.consistency import EstimatedTable, Meeting, settle


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
