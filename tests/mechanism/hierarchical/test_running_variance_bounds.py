"""Bounds on variances: their closed form for one level, and how much they give away."""

from __future__ import annotations

import numpy as np
import pytest

from tetraodon.mechanism.hierarchical.fit import Level, SmoothFit
from tetraodon.mechanism.hierarchical.intervals import running_variance_bounds


def test_one_level_of_running_sums_in_closed_form() -> None:
    """Averages of three running counts, variance 2, then single values of variance 9."""
    fit = SmoothFit(7, 9.0, (Level(3, None, 2.0),))
    middle = 2.0 + 9.0 * np.array([5, 2, 5]) / 9
    assert running_variance_bounds(fit) == pytest.approx([*middle, *middle, 0.0])


def test_an_unknown_total_is_bounded_too() -> None:
    fit = SmoothFit(9, 4.0, (Level(4, 3.0),), None)
    assert running_variance_bounds(fit)[-1] == pytest.approx(9.0)


def test_it_gives_away_less_than_half_of_the_variance() -> None:
    for levels in ((Level(16, 100.0), Level(256, 120.0)), (Level(11, 60.0), Level(110, None, 20.0))):
        fit = SmoothFit(4357, 80.0, levels)
        exact = fit.running_variances(np.arange(4356))
        assert np.mean(running_variance_bounds(fit)[:-1] / exact) < 1.5
