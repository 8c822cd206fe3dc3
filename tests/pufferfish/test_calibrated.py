"""One number on a grid: its scale, its interval, and what is said of it."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tetraodon.errors import NoiseError
from tetraodon.noise import laplace_quantile
from tetraodon.pufferfish.calibrated import Calibrated, Grid
from tetraodon.pufferfish.scenario import Composable

SURE = Composable(True, True, "one dataset each")


def made(steps: int, grid: Grid) -> Calibrated:
    return Calibrated("sum", "something", Fraction(1), steps, grid, sum, SURE, "by hand", True)


def test_the_scale_is_what_a_secret_moves_over_epsilon() -> None:
    mechanism = made(6, Grid(Fraction(1)))
    assert mechanism.scale == 6
    assert mechanism.certificate.epsilon == 1
    assert made(0, Grid(Fraction(1))).certificate.epsilon == 0


def test_intervals_cover_the_noise_and_the_rounding() -> None:
    reach = laplace_quantile(6, Fraction(95, 100))
    told = made(6, Grid(Fraction(1, 2))).told(10)
    assert (told.lower, told.median, told.upper) == ((10 - reach) / 2, 5.25, (11 + reach) / 2)
    exact = made(6, Grid(Fraction(1, 2), exact=True)).told(10)
    assert (exact.lower, exact.median, exact.upper) == ((10 - reach) / 2, 5.0, (10 + reach) / 2)
    assert made(0, Grid(Fraction(1), exact=True)).told(3).upper == 3


def test_a_geometric_grid_has_a_mean_only_while_the_noise_falls_faster() -> None:
    grid = Grid(Fraction(2), geometric=True, shift=Fraction(1))
    assert made(1, grid).has_mean  # ln 2 < 1
    assert not made(2, grid).has_mean
    assert made(1, grid).told(3).median == pytest.approx(2**3.5 - 1)
    assert grid.at(10**6) == float("inf")


def test_no_budget_and_no_noise_are_refused() -> None:
    with pytest.raises(NoiseError, match="epsilon"):
        Calibrated("sum", "something", Fraction(0), 1, Grid(Fraction(1)), sum, SURE, "by hand", True)
    with pytest.raises(NoiseError, match="no noise"):
        made(0, Grid(Fraction(1))).on(None)  # type: ignore[arg-type]
