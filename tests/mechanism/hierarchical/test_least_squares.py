"""The sparse fit against plain least squares with dense matrices, on tiny attributes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tetraodon.errors import QueryError
from tetraodon.mechanism.hierarchical.fit import Level, SmoothFit, hats_matrix, levels_of, prefix_bins, prefix_forms
from tetraodon.mechanism.hierarchical.intervals import running_variance_bounds
from tetraodon.query.smooth import Hats, Ramps

variances = st.floats(0.1, 9.0)


@st.composite
def fits(draw: st.DrawFn) -> SmoothFit:
    size = draw(st.integers(2, 40))
    width, levels = draw(st.integers(2, 5)), []
    for _ in range(draw(st.integers(1, 3))):
        which = draw(st.sampled_from(["bins", "running", "both"]))
        bins = draw(variances) if which != "running" else None
        running = draw(variances) if which != "bins" else None
        levels.append(Level(width, bins, running))
        width *= draw(st.integers(2, 4))
    return SmoothFit(size, draw(variances), tuple(levels), draw(st.sampled_from([0.0, None, 2.0])))


def dense(fit: SmoothFit) -> tuple[np.ndarray, np.ndarray]:
    """All measured rows, finest level first, bins before running sums, and their variances."""
    rows, spread = [np.eye(fit.size)], [np.full(fit.size, fit.leaves)]
    for level in fit.levels:
        for variance, kind in ((level.bins, Hats), (level.running, Ramps)):
            if variance is not None:
                rows.append(kind("a", fit.size, level.width).columns() / level.width)
                spread.append(np.full(len(rows[-1]), variance))
    if fit.total:
        rows.append(np.ones((1, fit.size)))
        spread.append(np.array([fit.total]))
    return np.concatenate(rows), np.concatenate(spread)


def covariance(fit: SmoothFit) -> np.ndarray:
    rows, spread = dense(fit)
    found = np.linalg.inv(rows.T / spread @ rows)
    if fit.total == 0:
        along = found.sum(axis=1)
        found = found - np.outer(along, along) / along.sum()
    return found


@settings(deadline=None, max_examples=200)
@given(fits(), st.integers(0, 2**32 - 1))
def test_it_is_least_squares(fit: SmoothFit, seed: int) -> None:
    rows, spread = dense(fit)
    truth = np.random.default_rng(seed).normal(size=(2, fit.size)) * 5
    measured = truth @ rows.T + np.random.default_rng(seed + 1).normal(size=(2, len(rows)))
    plain = np.linalg.inv(rows.T / spread @ rows)
    wanted = measured / spread @ rows @ plain
    total = measured[:, -1] if fit.total else truth.sum(axis=1)
    if fit.total == 0:
        along = plain.sum(axis=1)
        wanted = wanted + np.outer(total - wanted.sum(axis=1), along) / along.sum()
    bins, running, start = {}, {}, fit.size
    for level in fit.levels:
        steps = fit.steps(level.width)
        if level.bins is not None:
            bins[level.width] = measured[:, start : start + steps + 1]
            start += steps + 1
        if level.running is not None:
            running[level.width] = measured[:, start : start + steps]
            start += steps
    found = fit.counts(measured[:, : fit.size], bins, running, total)
    assert found == pytest.approx(wanted, abs=1e-8)


@settings(deadline=None, max_examples=200)
@given(fits())
def test_predicted_variances_are_those_of_plain_linear_algebra(fit: SmoothFit) -> None:
    whole = covariance(fit)
    prefixes = np.tril(np.ones((fit.size, fit.size)))
    assert fit.covariance_times(prefixes) == pytest.approx(prefixes @ whole, abs=1e-9)
    exact = np.einsum("ij,jk,ik->i", prefixes, whole, prefixes)
    assert fit.running_variances(np.arange(fit.size)) == pytest.approx(exact, abs=1e-9)


@settings(deadline=None, max_examples=200)
@given(fits())
def test_no_variance_exceeds_its_bound(fit: SmoothFit) -> None:
    bounds = running_variance_bounds(fit)
    assert len(bounds) == fit.size
    assert (fit.running_variances(np.arange(fit.size)) <= bounds + 1e-9).all()


@given(st.integers(2, 40), st.integers(2, 9))
def test_bins_of_the_first_codes_are_sums_of_columns(size: int, width: int) -> None:
    matrix = hats_matrix(size, width).toarray()
    assert matrix == pytest.approx(Hats("a", size, width).columns() / width)
    found = prefix_bins(np.arange(size), width, len(matrix))
    assert found == pytest.approx(np.cumsum(matrix, axis=1), abs=1e-9)


def test_levels_are_sorted_and_joined() -> None:
    assert levels_of([(8, 2.0), (4, 1.0)], [(8, 3.0)]) == (Level(4, 1.0), Level(8, 2.0, 3.0))


def test_levels_that_do_not_nest_or_measure_nothing_are_refused() -> None:
    with pytest.raises(QueryError, match="divide"):
        SmoothFit(10, 1.0, (Level(4, 1.0), Level(6, 1.0)))
    with pytest.raises(QueryError, match="divide"):
        SmoothFit(10, 1.0, ())
    with pytest.raises(QueryError, match="measures nothing"):
        Level(4)
    with pytest.raises(QueryError, match="measures nothing"):
        Level(4, 0.0)
    with pytest.raises(QueryError, match="measures nothing"):
        Level(1, 1.0)


def test_variances_do_not_depend_on_how_many_are_worked_out_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sixty-four together took gigabytes for millions of values."""
    fit, places = SmoothFit(500, 2.0, (Level(5, 3.0), Level(50, 4.0, 5.0))), np.arange(0, 500, 7)
    found = fit.running_variances(places)
    widths: list[int] = []
    right = SmoothFit._right_of_bins
    monkeypatch.setattr(SmoothFit, "_right_of_bins", lambda fit, b: (widths.append(b.shape[1]), right(fit, b))[1])
    monkeypatch.setattr("tetraodon.mechanism.hierarchical.fit.NUMBERS", 3 * fit._matrix.shape[0])
    assert np.allclose(fit.running_variances(places), found, rtol=1e-9)
    assert max(widths) == 3


def test_many_sums_are_worked_out_from_what_bins_ask_of_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Solving for each of five thousand running counts took seconds, for every epsilon that was tried."""
    fit = SmoothFit(3000, 2.0, (Level(20, 3.0), Level(100, 4.0, 5.0)))
    rows = np.tril(np.ones((3000, 3000)))[:512]
    one_by_one = np.concatenate([fit.covariance_times(row[None]) for row in rows[::100]])
    solved: list[int] = []
    right = SmoothFit._right_of_bins
    monkeypatch.setattr(SmoothFit, "_right_of_bins", lambda fit, b: (solved.append(b.shape[1]), right(fit, b))[1])
    found = np.concatenate([fit.covariance_times(rows[start : start + 256]) for start in (0, 256)])
    assert found[::100] == pytest.approx(one_by_one, rel=1e-9, abs=1e-9)
    assert sum(solved) == fit._hats.shape[0] < len(rows)


@given(fits())
@settings(deadline=None)
def test_many_running_counts_at_once_are_those_one_by_one(fit: SmoothFit) -> None:
    codes = np.arange(fit.size)
    one_by_one = np.concatenate([fit.running_variances(codes[k : k + 1]) for k in codes])
    assert fit.running_variances(codes) == pytest.approx(one_by_one, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("size", [2, 3, 17, 40])
@pytest.mark.parametrize("width", [2, 3, 8])
def test_forms_of_prefixes_are_those_of_their_bins(size: int, width: int) -> None:
    codes, knots = np.arange(size), -(-(size - 1) // width) + 1
    some = np.random.default_rng(size * width).normal(size=(knots, knots))
    matrix, bins = some @ some.T, prefix_bins(codes, width, knots)
    assert prefix_forms(matrix, codes, width) == pytest.approx(np.einsum("ij,ik,kj->j", bins, matrix, bins))


@pytest.mark.parametrize("times", [1e-18, 1e-6, 1e6, 1e18])
@given(fit=fits())
def test_in_any_unit_the_fit_is_the_same(times: float, fit: SmoothFit) -> None:
    """The system looked singular where variances are far from one."""

    def scaled(variance: float | None) -> float | None:
        return None if variance is None else times * variance

    levels = tuple(Level(one.width, scaled(one.bins), scaled(one.running)) for one in fit.levels)
    other = SmoothFit(fit.size, times * fit.leaves, levels, scaled(fit.total))
    here, there = (one.running_variances(np.arange(fit.size)) for one in (fit, other))
    np.testing.assert_allclose(there / times, here, rtol=1e-9, atol=1e-9)
