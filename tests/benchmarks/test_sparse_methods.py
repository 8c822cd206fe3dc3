"""The methods of the literature that ours is compared with do what they are said to do."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.peers.sparse_methods import adaptive_grid, dawa, deviations, privtree


def test_deviations_are_distances_from_the_mean() -> None:
    counts = np.array([3.0, 1.0, 0.0, 8.0])
    single, pairs, all_four = deviations(counts)
    assert single.tolist() == [0, 0, 0, 0]
    assert pairs.tolist() == [2, 1, 8]
    assert all_four.tolist() == [10]


def test_buckets_are_found_and_even_inside() -> None:
    """Next to no noise: what is even in 64 values comes out as it is, and in few pieces."""
    counts = np.repeat([5.0, 400.0, 0.0, 90.0], 16)
    found = dawa(counts, 1e4, np.random.default_rng(1), deviations(counts))
    assert found == pytest.approx(counts, abs=0.1)
    noisy = dawa(counts, 0.5, np.random.default_rng(2), deviations(counts))
    assert len(np.unique(noisy)) < 24


@pytest.mark.parametrize("method", [adaptive_grid, privtree])
def test_maps_are_told_where_their_records_are(method: object) -> None:
    counts = np.zeros((64, 64))
    counts[10, 20], counts[40, 41] = 5000, 300
    assert callable(method)
    assert method(counts, 1e4, np.random.default_rng(3)) == pytest.approx(counts, abs=0.1)
    noisy = method(counts, 1.0, np.random.default_rng(4))
    assert noisy.sum() == pytest.approx(5300, abs=400)
    assert noisy[8:12, 18:22].sum() == pytest.approx(5000, abs=200)
