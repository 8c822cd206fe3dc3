"""Google's coresets, written anew, find clusters where noise is small, and grow no part that noise alone made."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.peers.coreset_method import _laplace, _leaves, coreset_centres


def test_clusters_are_found_where_noise_is_small() -> None:
    dice = np.random.default_rng(1)
    true = np.array([[0.2, 0.2, 0.8], [0.8, 0.3, 0.2], [0.5, 0.9, 0.5]])
    points = true[dice.integers(3, size=6000)] + dice.normal(0, 0.02, (6000, 3))
    found = coreset_centres(points, 3, 1e-3, 1e-2, dice)
    assert found[np.argsort(found[:, 0])] == pytest.approx(true[np.argsort(true[:, 0])], abs=0.03)


def test_leaves_are_parts_of_the_points_with_their_counts() -> None:
    dice = np.random.default_rng(2)
    points = dice.normal(size=(500, 4))
    leaves = _leaves(points, 500, 20, 1e-2, dice)
    assert all(len(part) == count >= 20 for part, count in leaves)
    assert len(leaves) > 4
    assert sum(count for _, count in leaves) > 400
    assert [len(part) for part, _ in _leaves(points, 500, 200, 1e-2, dice)] == [500]  # too few to be cut


def test_noise_on_counts_has_its_deviation() -> None:
    """The variance of 20,000 draws; seeded, so that there is no false alarm."""
    dice, scale = np.random.default_rng(3), 5.0
    drawn = [_laplace(scale, dice) for _ in range(20_000)]
    chance = np.exp(-1 / scale)
    assert np.var(drawn) == pytest.approx(2 * chance / (1 - chance) ** 2, rel=0.05)
