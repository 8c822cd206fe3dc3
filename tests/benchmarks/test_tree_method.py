"""The small MST: records of a tree come out where there is next to no noise."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.peers.tree_method import counted, rho_of, spanning_tree


def test_a_chain_is_found_and_followed() -> None:
    rng = np.random.default_rng(0)
    a = rng.integers(0, 3, 5000)
    b = np.where(rng.random(5000) < 0.8, a, 2)
    c = np.where(rng.random(5000) < 0.8, b % 2, 1)
    codes, sizes = np.stack([a, b, c], axis=1), [3, 3, 2]
    made = spanning_tree(codes, sizes, 1000.0, 1e-6, 1)
    for pair in ((0, 1), (1, 2)):
        assert np.abs(counted(codes, sizes, pair) - counted(made, sizes, pair)).sum() / 10_000 < 0.02


def test_rho_gives_its_epsilon_back() -> None:
    rho, order = rho_of(1.0, 1e-9), np.linspace(1.1, 200, 200_000)
    by_order = order * rho + np.log(1e9) / (order - 1) + np.log(1 - 1 / order) - np.log(order) / (order - 1)
    assert by_order.min() == pytest.approx(1.0, abs=1e-6)
