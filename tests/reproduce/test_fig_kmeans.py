"""The figure runs the shipped mechanism: with the same noise, planning once gives what `fit` gives every time."""

from __future__ import annotations

import numpy as np
import pytest

from reproduce.fig_kmeans import certified
from reproduce.points import synthetic
from reproduce.printed_kmeans import ATTRIBUTE, CLUSTERS, FULL, distance, partition, plain_kmeans, policy_of
from tetraodon.mechanism.kmeans.estimator import PolicyKMeans
from tetraodon.noise.laws import LaplaceNoise

TWICE = 2


@pytest.mark.parametrize("kind", [FULL, ATTRIBUTE, distance("0.25"), partition(10, 10, 10, 10)], ids=lambda k: k.word)
def test_every_run_is_what_fit_would_find(kind, monkeypatch):
    data, values = synthetic(), synthetic().codes * synthetic().scale

    def noise_from(seed: int) -> None:
        coins = np.random.default_rng(seed)
        monkeypatch.setattr(
            LaplaceNoise, "draw", lambda _, b, size: np.rint(coins.laplace(0, float(b), size)).astype(np.int64)
        )

    noise_from(5)
    found = list(certified(data, kind, "1", TWICE))
    noise_from(5)
    for centres in found:
        fitted = PolicyKMeans(policy_of(data, kind), "1", CLUSTERS).fit(values)
        assert np.allclose(centres, fitted.cluster_centers_, rtol=0, atol=1e-12)
    assert len(found) == (TWICE if fitted.certificate_.epsilon else 1)


def test_plain_steps_over_distinct_places_are_those_over_all_rows():
    data = synthetic()
    rows, coins = data.codes * data.scale, np.random.default_rng(9)
    centres = coins.random((CLUSTERS, 4)) * data.widths
    for _ in range(10):
        owner = ((rows[:, None, :] - centres) ** 2).sum(axis=2).argmin(axis=1)
        centres = np.array([rows[owner == k].mean(axis=0) if (owner == k).any() else centres[k] for k in range(4)])
    found = plain_kmeans(data, np.random.default_rng(9))
    assert np.allclose(found, centres)
    assert np.isclose(data.objective(found), ((rows[:, None, :] - centres) ** 2).sum(axis=2).min(axis=1).sum())
