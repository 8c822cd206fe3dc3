"""The small AIM finds what goes together, and spends what it may."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.peers import adaptive_method
from benchmarks.peers.adaptive_method import adaptive, table_of
from tetraodon.inference.graphical_model import NoisyTable
from tetraodon.query.aim import Places


def people() -> np.ndarray:
    """The third is decided by the first two together, and by none of them alone."""
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 2, (2, 4000))
    return np.stack([a, b, a ^ b, rng.integers(0, 3, 4000)], axis=1)


def test_three_way_tables_are_found_and_followed() -> None:
    made = adaptive(people(), [2, 2, 2, 3], 20.0, 1e-6, 1.0, 1)
    there, wanted = (table_of(one, [2, 2, 2, 3], (0, 1, 2)) for one in (made, people()))
    assert np.abs(there - wanted).sum() / 8000 < 0.02


def test_nothing_is_spent_beyond_rho(monkeypatch: pytest.MonkeyPatch) -> None:
    spent, measured = [0.0], adaptive_method._measured

    def noted(truth: dict[Places, np.ndarray], one: Places, sigma: float, rng: np.random.Generator) -> NoisyTable:
        spent[0] += 1 / (2 * sigma**2)
        return measured(truth, one, sigma, rng)

    monkeypatch.setattr(adaptive_method, "_measured", noted)
    adaptive(people(), [2, 2, 2, 3], 1.0, 1e-6, 1.0, 1)
    rho = adaptive_method.rho_of(1.0, 1e-6)
    # all of rho but the tenth that choices get; counts by one attribute have no choice beside them
    assert 0.9 * rho <= spent[0] + 1e-12
    assert spent[0] <= rho
