"""What follows the noise: weights that explain the table, and centres of weighted points."""

from __future__ import annotations

import numpy as np
import pytest

from tetraodon.domain import Attribute, Integers
from tetraodon.mechanism.kmeans.synopsis import Synopsis, cluster, likely_points, parts_of_graph, ramps

COLUMNS = [Attribute("a", Integers(0, 100)), Attribute("b", Integers(0, 100))]


def test_weights_explain_an_almost_exact_table() -> None:
    synopsis = Synopsis(tuple(ramps(name, 101, 4, wide=True, most_units=256) for name in "ab"))
    coins = np.random.default_rng(1)
    codes = np.concatenate([coins.normal(25, 5, (500, 2)), coins.normal(70, 8, (500, 2))]).round().astype(np.int64)
    table = synopsis.spread(np.clip(codes, 0, 100)) / synopsis.units
    points, weight = likely_points(synopsis, COLUMNS, table, np.array(1000.0), 1.0)
    assert (weight >= 0).all()
    assert weight.sum() == pytest.approx(1000)
    shares = [axis.table[:, points[:, i].astype(int)] / axis.units for i, axis in enumerate(synopsis.axes)]
    assert np.abs(np.einsum("in,jn,n->ij", *shares, weight) - table).max() < 10
    centres, _ = cluster(points, weight, 2, starts=5, rounds=20)
    assert np.abs(np.sort(centres, axis=0) - [[25, 25], [70, 70]]).max() < 5


def test_bins_without_ramps_stand_for_their_middles() -> None:
    synopsis = Synopsis((parts_of_graph("a", np.arange(101) // 51, 2), ramps("b", 101, 1, wide=True, most_units=9)))
    points, weight = likely_points(synopsis, COLUMNS, np.array([[30.0], [70.0]]), np.array(100.0), 1.0)
    assert points.tolist() == [[25.0, 50.0], [75.5, 50.0]]
    assert weight == pytest.approx([30, 70], abs=1)


def test_a_table_of_noise_alone_still_gives_weights() -> None:
    synopsis = Synopsis((ramps("a", 101, 5, wide=True, most_units=256),))
    _, weight = likely_points(synopsis, COLUMNS[:1], np.array([-900.0, 5, -3, 0, 1]), np.array(1.0), 500.0)
    assert np.isfinite(weight).all()
    assert weight.sum() == pytest.approx(1)


def test_the_weights_of_a_fine_table_with_little_noise_go_all_the_way() -> None:
    attributes = [Attribute(name, Integers(0, 100)) for name in "abcdefg"]
    synopsis = Synopsis(tuple(ramps(name, 101, 4, wide=True, most_units=16) for name in "abcdefg"))
    coins = np.random.default_rng(5)
    middles = coins.uniform(15, 85, (4, 7))
    codes = np.clip(middles[coins.integers(4, size=5_000)] + coins.normal(0, 6, (5_000, 7)), 0, 100)
    noisy = synopsis.spread(codes.round().astype(np.int64)) / synopsis.units + coins.laplace(0, 0.3, synopsis.shape)
    points, weight = likely_points(synopsis, attributes, noisy, np.array(5_000.0), 0.3)
    centres, _ = cluster(points, weight, 4, starts=10, rounds=25)
    gaps = np.abs(centres[:, None, :] - middles).max(axis=2)
    assert gaps.min(axis=1).max() < 6


def test_weights_keep_exact_totals() -> None:
    halves, thirds = np.arange(101) // 51, np.arange(101) // 34
    fine = Synopsis((parts_of_graph("a", halves, 8), parts_of_graph("b", thirds, 6)))
    coarse = Synopsis((parts_of_graph("a", halves, 2), parts_of_graph("b", thirds, 3)))
    coins = np.random.default_rng(3)
    codes = coins.integers(0, 101, (400, 2))
    codes = codes[(codes[:, 0] > 50) | (codes[:, 1] > 33)]  # one total is nothing
    totals = coarse.spread(codes)
    noisy = fine.spread(codes) + coins.laplace(0, 4, fine.shape)
    points, weight = likely_points(fine, COLUMNS, noisy, totals.astype(float), 4.0, coarse)
    found = np.zeros(coarse.shape)
    np.add.at(found, tuple(axis.first[points[:, i].astype(int)] for i, axis in enumerate(coarse.axes)), weight)
    assert (weight >= 0).all()
    assert found == pytest.approx(totals)
    assert np.abs(weight.reshape(fine.shape) - fine.spread(codes)).mean() < np.abs(noisy - fine.spread(codes)).mean()


def test_clustering_weighted_points() -> None:
    points = np.array([[0.0], [1.0], [10.0], [11.0]])
    centres, rounds = cluster(points, np.array([1.0, 3.0, 1.0, 1.0]), 2, starts=4, rounds=10)
    assert sorted(centres.ravel().tolist()) == [0.75, 10.5]
    assert rounds >= 1
    again, _ = cluster(points, np.array([1.0, 3.0, 1.0, 1.0]), 2, starts=4, rounds=10)
    assert np.array_equal(centres, again)  # what follows the noise is reproducible


def test_fewer_points_than_clusters_repeat_a_centre() -> None:
    centres, _ = cluster(np.array([[2.0], [7.0]]), np.array([1.0, 1.0]), 3, starts=2, rounds=5)
    assert centres.shape == (3, 1)
    assert set(centres.ravel().tolist()) == {2.0, 7.0}
