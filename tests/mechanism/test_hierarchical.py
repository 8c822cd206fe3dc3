"""The hierarchical mechanism: shapes, least squares and intervals."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom
from tests.policies import public_policy
from tests.query.test_smooth_running import running
from tests.query.test_smooth_sums import made
from tests.releases.made import drawn, kept
from tests.theory.largest_move import largest_move

import tetraodon as td
from tetraodon.certificate.kernel import certify_measurements
from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.errors import QueryError
from tetraodon.mechanism import hierarchical
from tetraodon.mechanism.hierarchical import (
    HIERARCHICAL,
    POINTS,
    Shape,
    best_shape,
    fit_of,
    mean_range_variance,
    running_noise,
    running_variance_bounds,
    sample,
    strategy_of,
)
from tetraodon.mechanism.hierarchical.fit import (
    BandedFit,
    Level,
    RunningFit,
    SmoothFit,
    WeightedFit,
    hats_matrix,
    prefix_bins,
    prefix_forms,
)
from tetraodon.mechanism.registry import MECHANISMS
from tetraodon.mechanism.strategy import Scaled, Strategy
from tetraodon.noise import laplace_variance
from tetraodon.noise.laws import GAUSSIAN, LAPLACE, LAWS, NoiseLaw
from tetraodon.policy.attribute_graph import Everything, Public, Within
from tetraodon.policy.policy import Item, Policy
from tetraodon.policy.secret_graph import Factor, SecretGraph
from tetraodon.queries import cdf, count, histogram, quantiles, ranges
from tetraodon.query.contribution import One
from tetraodon.query.kinds import linear
from tetraodon.query.linear import LinearQuery, Split
from tetraodon.query.query import Query
from tetraodon.query.smooth import Hats, Ramps
from tetraodon.releases.least_epsilon import error_bound
from tetraodon.releases.release import Release

# -- hierarchical -----------------------------------------------------------------------------------
# Strategies of smoothed counts: predicted errors against plain linear algebra, and the promised gains.


def line(size: int, reach: int | None, *, absent: bool = False, groups: int = 1) -> Policy:
    domain = Domain((Attribute("g", Integers(1, groups)), Attribute("x", Integers(0, size - 1))))
    graph = Everything(size) if reach is None else Within(size, reach)
    factors = (Factor(("g",), Public(groups)), Factor(("x",), graph))
    secrets = SecretGraph(domain, factors, 1, absent=absent)
    return Policy("tiny", domain, secrets, Fraction(1), (Item("q", count()),), "secret" if absent else "public")


def variance_by_matrices(query: Query, strategy: Strategy, scale: Fraction, domain: Domain) -> float:
    """Mean variance of the answers under least squares with every matrix written out."""
    rows, spread = [], []
    for measurement in strategy.measurements(scale):
        matrix, unit = measurement.query.matrix(domain)
        rows.append(matrix * float(unit))
        variance = laplace_variance(measurement.scale) if measurement.scale else 0.0
        spread.append(np.full(len(matrix), variance * float(unit) ** 2))
    noise = np.concatenate(spread)
    a = np.concatenate(rows)[noise > 0]
    whole = np.linalg.inv(a.T / noise[noise > 0] @ a)
    for known in np.concatenate(rows)[noise == 0]:
        along = whole @ known
        whole = whole - np.outer(along, along) / (known @ along)
    answers = linear(query, domain).matrix(domain)[0]
    return float(np.mean(np.einsum("ij,jk,ik->i", answers, whole, answers)))


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize(
    "shape", [Shape(0.5, ((3, 0.5),)), Shape(0.4, ((2, 0.3),), ((6, 0.3),)), Shape(0.7, (), ((4, 0.3),))]
)
def test_the_prediction_is_the_variance(shape: Shape, groups: int, known: bool) -> None:
    policy = line(17, 5, groups=groups)
    by = (Split("g"),)
    exact = (LinearQuery(One(), by),) if known else ()
    strategy = strategy_of(shape, 5, "x", 17, by, exact)
    named = ranges("x", [[0, 4], [3, 9]], by=["g"])
    for query in (cdf("x", by=["g"]), quantiles("x", by=["g"]), ranges("x", by=["g"]), named):
        found = Scaled(strategy, Fraction(7, 2), policy.domain).expected_error(query) ** 2
        assert found == pytest.approx(variance_by_matrices(query, strategy, Fraction(7, 2), policy.domain), rel=1e-9)


@pytest.mark.parametrize("groups", [1, 2])
def test_where_presence_is_secret_a_total_with_noise_costs_nothing(groups: int) -> None:
    policy, query, at = line(40, None, absent=True, groups=groups), ranges("x", by=["g"]), Fraction(7, 2)
    without, total = HIERARCHICAL.proposals(query, policy)
    lost = [certify_measurements(policy.graph, one.measurements(at)).epsilon for one in (without, total)]
    assert float(lost[1]) == pytest.approx(float(lost[0]), rel=1e-3)
    errors = [Scaled(one, at, policy.domain).expected_error(query) for one in (without, total)]
    assert errors[1] < 0.9 * errors[0]
    assert errors[1] ** 2 == pytest.approx(variance_by_matrices(query, total, at, policy.domain), rel=1e-9)
    scaled, numbers = Scaled(total, at, policy.domain), np.random.default_rng(1)
    counts = numbers.integers(0, 9, (groups, 40))
    exact = tuple(
        (one.matrix(policy.domain)[0] @ counts.ravel()).reshape(one.shape(policy.domain)) for one in total.noisy
    )
    assert HIERARCHICAL.fit(scaled, exact) == pytest.approx(counts)
    asked = numbers.random((3, groups * 40))
    weights = np.concatenate([part * 1.0 for part in HIERARCHICAL.parts(scaled, asked)], axis=1)
    rows = np.concatenate([one.matrix(policy.domain)[0] for one in total.noisy])
    assert weights @ rows == pytest.approx(asked)  # what is read from the noisy numbers has no bias


@pytest.mark.parametrize("reach", [2, 5, 11, None])
@pytest.mark.parametrize("absent", [True, False])
def test_certificates_are_what_enumeration_finds(reach: int | None, absent: bool) -> None:
    policy = line(40, reach, absent=absent)
    for strategy in HIERARCHICAL.proposals(cdf("x"), policy):
        measurements = strategy.measurements(Fraction(3))
        certificate = certify_measurements(policy.graph, measurements)
        slow = largest_move(policy.graph, [(m.query, 1 / m.scale) for m in measurements if m.scale])
        assert certificate.exact
        assert certificate.epsilon == slow


def test_only_questions_about_order_and_near_values_are_proposed() -> None:
    assert not list(HIERARCHICAL.proposals(histogram("x"), line(100, 10)))
    assert not list(HIERARCHICAL.proposals(count(), line(100, 10)))
    assert not list(HIERARCHICAL.proposals(cdf("g"), line(100, 10, groups=50)))
    secret = list(HIERARCHICAL.proposals(cdf("x"), line(100, 10, absent=True)))
    assert secret
    assert not any(isinstance(q.contribution, Ramps) for s in secret for q in s.noisy)


def test_known_counts_let_records_move_far_so_both_shapes_are_tried() -> None:
    known = {"known": [{"count": "x < 10"}]}
    document = public_policy(
        dataset="line",
        attributes={"x": {"integer": [0, 199]}},
        secrets={"x": {"within": 5}},
        release=[{"name": "q", "cdf": "x"}],
    )
    assert len(list(HIERARCHICAL.proposals(cdf("x"), td.load_policy(document)))) == 1
    near, far = HIERARCHICAL.proposals(cdf("x"), td.load_policy(document | known))
    assert any(isinstance(q.contribution, Ramps) for q in near.noisy)
    assert not any(isinstance(q.contribution, Ramps) for q in far.noisy)


def equation_15(size: int, theta: int, fanout: int = 16) -> float:
    """[HMD14] Eq. 15 at epsilon 1, its logarithm cubed as a whole."""
    first = 4 * (size - theta) / (size + 1)
    second = 8 * (fanout - 1) * (np.log(theta) / np.log(fanout)) ** 3 * size / (size + 1)
    return float((first ** (1 / 3) + second ** (1 / 3)) ** 3)


@pytest.mark.parametrize(
    ("theta", "most"), [(1, 1.0), (10, 0.4), (50, 0.34), (100, 0.34), (500, 0.34), (1000, 0.34), (4357, 0.25)]
)
def test_plans_beat_the_ordered_hierarchical_mechanism(theta: int, most: float) -> None:
    secrets = {"x": "everything" if theta == 4357 else {"within": theta}}
    document = public_policy(
        dataset="line",
        attributes={"x": {"integer": [0, 4356]}},
        secrets=secrets,
        release=[{"name": "q", "ranges": "x"}],
    )
    plan = td.plan(td.load_policy(document))
    assert plan.certificate.exact
    assert plan.epsilon == 1
    assert plan["q"].mechanism == ("ordered" if theta == 1 else "hierarchical")
    assert plan["q"].expected_error ** 2 <= most * equation_15(4357, theta)


def test_a_wider_reach_never_costs_less() -> None:
    errors = []
    for reach in (2, 4, 8, 16, 64, 256, 999):
        policy = line(1000, reach)
        found = []
        for strategy in HIERARCHICAL.proposals(ranges("x"), policy):
            scale = Fraction(certify_measurements(policy.graph, strategy.measurements(Fraction(1))).epsilon)
            found.append(Scaled(strategy, scale, policy.domain).expected_error(ranges("x")))
        errors.append(min(found))
    assert all(a <= b * 1.02 for a, b in pairwise(errors))


def test_weights_are_checked() -> None:
    with pytest.raises(td.errors.QueryError, match="weight"):
        Strategy(HIERARCHICAL, (LinearQuery(One()),), table=(Split("x"),), weights=(Fraction(1), Fraction(2)))
    with pytest.raises(td.errors.QueryError, match="weight"):
        Strategy(HIERARCHICAL, (LinearQuery(One()),), table=(Split("x"),), weights=(Fraction(0),))


@pytest.mark.parametrize("reach", [None, 2, 7])
def test_what_gaussian_noise_is_for_is_searched_for_where_there_is_a_delta(reach: int | None) -> None:
    """Its rho is that of looking at every step, and it errs less than what is best with Laplace noise."""
    policy = replace(line(60, reach), delta=Fraction(1, 10**6))
    pure, gaussian = (replace(one, noise=GAUSSIAN) for one in HIERARCHICAL.proposals(ranges("x"), policy))
    errors = []
    for strategy in (pure, gaussian):
        measured = strategy.measurements(Fraction(1))
        found = certify_measurements(policy.graph, measured, delta=policy.delta)
        assert found.rho is not None
        x, y = policy.graph.edge_cells()
        looked = np.zeros(len(x), object)
        for one in measured:
            if one.scale:
                matrix, _ = one.query.matrix(policy.domain)
                looked += ((matrix[:, x] - matrix[:, y]) ** 2).sum(axis=0).astype(object) / (2 * one.scale**2)
        assert found.rho == max(looked) if found.exact else found.rho >= max(looked)
        errors.append(
            Scaled(strategy, Fraction(1), policy.domain).expected_error(ranges("x")) * float(found.rho) ** 0.5
        )
    assert errors[1] < errors[0]


def test_smoothed_counts_of_more_values_than_a_release_holds_are_not_proposed() -> None:
    for size in (hierarchical.LONGEST, hierarchical.LONGEST + 1):
        document = public_policy(attributes={"x": {"integer": [0, size - 1]}})
        assert bool(list(HIERARCHICAL.proposals(cdf("x"), td.load_policy(document)))) == (size <= hierarchical.LONGEST)


# -- least squares ----------------------------------------------------------------------------------
# The sparse fit against plain least squares with dense matrices, on tiny attributes.

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
    right = SmoothFit._pull
    monkeypatch.setattr(SmoothFit, "_pull", lambda fit, b: (widths.append(b.shape[1]), right(fit, b))[1])
    monkeypatch.setattr("tetraodon.mechanism.hierarchical.fit.NUMBERS", 3 * fit._measured[0].shape[0])
    assert np.allclose(fit.running_variances(places), found, rtol=1e-9)
    assert max(widths) == 3


def test_many_sums_are_worked_out_from_what_bins_ask_of_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Solving for each of five thousand running counts took seconds, for every epsilon that was tried."""
    fit = SmoothFit(3000, 2.0, (Level(20, 3.0), Level(100, 4.0, 5.0)))
    rows = np.tril(np.ones((3000, 3000)))[:512]
    one_by_one = np.concatenate([fit.covariance_times(row[None]) for row in rows[::100]])
    solved: list[int] = []
    right = SmoothFit._pull
    monkeypatch.setattr(SmoothFit, "_pull", lambda fit, b: (solved.append(b.shape[1]), right(fit, b))[1])
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


# -- other fits -------------------------------------------------------------------------------------
# Least squares with bands, over running sums and over weighted sums, against the normal equations.

SPREAD, NUMBERS = 50.0, np.random.default_rng(3)
SUMS = np.concatenate([np.diag(0.5 + NUMBERS.random(7)), NUMBERS.random((3, 7))])
FITS: list[tuple[Any, np.ndarray]] = [
    *(
        (BandedFit(s, SPREAD, t), s.columns())
        for s in (made(9, 1, 0), made(10, 3, 2), made(13, 4, 20))
        for t in (0, None)
    ),
    *((RunningFit(s, SPREAD), s.columns()) for s in (running(2, 0), running(9, 2), running(13, 20))),
    *((WeightedFit(np.diag(SUMS), SUMS[7:], SPREAD, t), SUMS) for t in (0, None)),
]


@pytest.mark.parametrize(("fit", "rows"), FITS)
def test_fits_are_those_of_the_normal_equations(fit: Any, rows: np.ndarray) -> None:
    known, size = getattr(fit, "total", 0) == 0, fit.size
    free = np.concatenate([np.eye(size - 1), -np.ones((1, size - 1))]) if known else np.eye(size)
    whole = free @ np.linalg.inv(free.T @ rows.T @ rows @ free) @ free.T * SPREAD
    asked = NUMBERS.random((3, size))
    assert fit.covariance_times(asked) == pytest.approx(asked @ whole, abs=1e-9)
    variances = np.diag(np.tri(size) @ whole @ np.tri(size).T)
    assert fit.running_variances(np.arange(size)) == pytest.approx(variances, abs=1e-9)
    assert fit.running_variances(np.array([1, 0])) == pytest.approx(variances[[1, 0]], abs=1e-9)
    for low in range(size):  # leaves bound the variance of any range
        for high in range(low, size):
            assert whole[low : high + 1, low : high + 1].sum() <= fit.leaves[low : high + 1].sum() + 1e-9
    values, last = np.arange(2.0 * size).reshape(2, -1), np.eye(1, size, size - 1)
    total = values.sum(axis=1) if known else None
    assert fit.counts(values @ rows.T, total) == pytest.approx(values)
    measured, start = NUMBERS.random((2, len(rows))) * 100, np.outer(total, last) if known else np.zeros((2, size))
    best = start + (measured - start @ rows.T) @ rows @ whole / SPREAD
    assert fit.counts(measured, total) == pytest.approx(best)


# -- running variance bounds ------------------------------------------------------------------------
# Bounds on variances: their closed form for one level, and how much they give away.


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


# -- shape search -----------------------------------------------------------------------------------
# The search over smoothed counts: its error and gradient, what its shapes cost, and how good they are.

SHAPES = [
    (300, 299, Shape(0.4, ((6, 0.3), (36, 0.3)))),
    (300, 20, Shape(0.6, (), ((15, 0.4),))),
    (257, 50, Shape(0.5, ((8, 0.3),), ((40, 0.2),))),
    (300, 299, Shape(0.4, ((6, 0.3), (36, 0.3)), noise=GAUSSIAN)),
    (257, 50, Shape(0.5, ((8, 0.3),), ((40, 0.2),), noise=GAUSSIAN)),
]


def _problem(size: int, reach: int, shape: Shape) -> hierarchical._Shares:
    bins, running = (tuple(w for w, _ in part) for part in (shape.bins, shape.running))
    return hierarchical._Shares(size, reach, bins, running, shape.noise)


@pytest.mark.parametrize(("size", "reach", "shape"), SHAPES)
def test_the_quick_error_is_that_of_the_sparse_fit(size: int, reach: int, shape: Shape) -> None:
    widths = [*shape.bins, *shape.running]
    problem = _problem(size, reach, shape)
    parameters = np.log([share / shape.leaves for _, share in widths])
    found = np.exp(problem.log_error(parameters)[0])
    assert found == pytest.approx(mean_range_variance(shape.fit(size, reach), sample(size, POINTS)), rel=1e-9)


@pytest.mark.parametrize(("size", "reach", "shape"), SHAPES)
def test_the_gradient_is_the_slope(size: int, reach: int, shape: Shape) -> None:
    problem = _problem(size, reach, shape)
    here = np.full(len(shape.bins) + len(shape.running), -0.3)
    for axis, slope in enumerate(problem.log_error(here)[1]):
        step = 1e-5 * np.eye(len(here))[axis]
        rise = problem.log_error(here + step)[0] - problem.log_error(here - step)[0]
        assert rise / 2e-5 == pytest.approx(slope, rel=1e-4, abs=1e-7)


def test_the_mean_over_ranges_is_the_mean_over_ranges() -> None:
    size = 30
    fit = Shape(0.5, ((3, 0.3),), ((9, 0.2),)).fit(size, 10)
    low, high = np.triu_indices(size)
    code = np.arange(size)
    rows = ((low[:, None] <= code) & (code <= high[:, None])).astype(float)
    each = np.einsum("ij,ij->i", rows, fit.covariance_times(rows))
    assert mean_range_variance(fit, code) == pytest.approx(each.mean(), rel=1e-9)


@pytest.mark.parametrize("noise", LAWS.values(), ids=LAWS)
@pytest.mark.parametrize("reach", [2, 3, 10, 70, 400, 2999])
def test_shares_add_up_and_widths_nest(reach: int, noise: NoiseLaw) -> None:
    shape = best_shape(3000, reach, noise)
    assert shape is not None
    assert shape.leaves + sum(s for _, s in (*shape.bins, *shape.running)) == pytest.approx(1)
    assert shape.fit(3000, reach).levels


@pytest.mark.parametrize(("size", "reach"), [(200_000, 199_999), (200_000, 20_000)])
def test_long_attributes_are_searched_through_short_ones(size: int, reach: int) -> None:
    """Not worse than the same number of levels with equal shares."""
    shape = best_shape(size, reach)
    assert shape is not None
    widths = [*shape.bins, *shape.running]
    assert shape.bins[0][0] == hierarchical.KINDS[LAPLACE].lift
    equal = 1 / (1 + len(widths))
    plain = Shape(equal, tuple((w, equal) for w, _ in shape.bins), tuple((w, equal) for w, _ in shape.running))
    places = sample(size, 30)
    found = mean_range_variance(shape.fit(size, reach), places)
    assert found < mean_range_variance(plain.fit(size, reach), places)


def test_nothing_is_proposed_where_nothing_can_help() -> None:
    assert best_shape(5, 4) is None
    assert best_shape(1000, 1) is None


# -- intervals --------------------------------------------------------------------------------------
# Intervals of answers read from smoothed counts hold the truth; ranges, quantiles and running counts agree. False
# alarms: each number's coverage over `RUNS` releases is compared with the 1e-10 quantile of Binomial(RUNS, 0.95);
# with fewer than 1,000 numbers the whole file fails by chance with probability below 1e-7.

RUNS = 200
FEWEST = int(binom.ppf(1e-10, RUNS, 0.95))
INTERVALS_SIZE = 150


def policy(reach: int | None, **changes: Any) -> td.Policy:
    document: dict[str, Any] = public_policy(
        dataset="line",
        attributes={"x": {"integer": [0, INTERVALS_SIZE - 1]}, "g": ["a", "b"]},
        secrets={"x": "everything" if reach is None else {"within": reach}, "g": "public"},
        release=[{"name": "run", "cdf": "x"}],
    )
    return td.load_policy(document | changes)


@pytest.fixture(autouse=True)
def _no_weighted_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are better for some of these questions."""
    monkeypatch.delitem(MECHANISMS, "weighted")


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    values = [(i * i * 7 + i // 3) % INTERVALS_SIZE for i in range(3000)]
    return pl.DataFrame({"x": values, "g": ["a" if v % 4 else "b" for v in values]})


def releases(asked: td.Policy, table: pl.DataFrame) -> list[Release]:
    plan = td.plan(asked)
    assert plan.items[0].mechanism == "hierarchical"
    return drawn(plan, table, RUNS)


@pytest.mark.parametrize("reach", [12, None])
def test_each_number_is_covered(reach: int | None, table: pl.DataFrame) -> None:
    running = np.cumsum(np.bincount(table["x"], minlength=INTERVALS_SIZE))
    low, high = np.array([0, 10, 20, 77]), np.array([30, 12, 149, 140])
    truth = running[high] - np.where(low > 0, running[low - 1], 0)
    middle = int(np.searchsorted(running, table.height / 2))
    held, columns = defaultdict[str, int](int), np.zeros(INTERVALS_SIZE)
    for release in releases(policy(reach), table):
        answer = release["run"]
        columns += (answer.columns["lower"] <= running + 1e-9) & (running <= answer.columns["upper"] + 1e-9)
        many = answer.between_many(low.tolist(), high.tolist())
        for number in range(len(low)):
            one = answer.between(int(low[number]), int(high[number]))
            held[f"one {number}"] += one.lower <= truth[number] <= one.upper
            held[f"many {number}"] += many["lower"][number] <= truth[number] <= many["upper"][number]
            assert many["count"][number] == pytest.approx(float(one))
        _, first, last = answer.quantile_interval(0.5)
        held["median"] += first <= middle <= last
    assert columns.min() >= FEWEST
    assert min(held.values()) >= FEWEST, held


def test_lines_are_covered_each_and_together(table: pl.DataFrame) -> None:
    asked = policy(12, release=[{"name": "run", "cdf": "x", "by": "g"}])
    truth = table.filter(pl.col("x").is_between(20, 90)).height
    middle = int(np.searchsorted(np.cumsum(np.bincount(table["x"], minlength=INTERVALS_SIZE)), table.height / 2))
    held = defaultdict[str, int](int)
    for release in releases(asked, table):
        low, high = release["run"].between(20, 90).interval
        held["range"] += low <= truth <= high
        _, first, last = release["run"].quantile_interval(0.5)
        held["median"] += first <= middle <= last
    assert min(held.values()) >= FEWEST, held


@pytest.mark.parametrize("changes", [{}, {"presence": "secret"}])
def test_what_was_planned_is_what_is_measured(changes: dict[str, Any], table: pl.DataFrame) -> None:
    """Over all running counts and `RUNS` releases within 65% of the plan: eight standard errors of the noisier case."""
    truth = np.cumsum(np.bincount(table["x"], minlength=INTERVALS_SIZE))
    made = releases(policy(None, **changes), table)
    found = np.mean([(np.cumsum(release["run"].table.raw) - truth) ** 2 for release in made])
    assert found == pytest.approx(made[0].plan["run"].expected_error ** 2, rel=0.65)


def test_shortcuts_never_promise_more(monkeypatch: pytest.MonkeyPatch) -> None:
    item = td.plan(policy(12))["run"]
    at = item.scaled(policy(12).domain)
    sure = Fraction(95, 100)
    exact = at.strategy.noise.reach(*running_noise(at), sure)
    low, high = np.array([0, 5, 40]), np.array([9, 60, 149])
    codes = np.arange(INTERVALS_SIZE)
    each = [at.mechanism.reach(at, (a <= codes) & (codes <= b), sure) for a, b in zip(low, high, strict=True)]
    assert (at.mechanism.box_reach(at, (low,), (high,), sure) >= np.array(each) - 1e-9).all()
    assert error_bound(item, td.load_policy(policy(12).document), sure) >= exact.max()
    assert at.mechanism.reach(at, np.zeros(INTERVALS_SIZE, np.bool_), sure) == 0.0
    monkeypatch.setattr(hierarchical, "EXACT_SIZE", 10)
    running_noise.cache_clear()
    assert (at.strategy.noise.reach(*running_noise(at), sure) >= exact - 1e-4).all()
    running_noise.cache_clear()


def test_noise_adds_up_to_the_variance() -> None:
    at = td.plan(policy(None))["run"].scaled(policy(None).domain)
    variance, largest = running_noise(at)
    exact = fit_of(at).running_variances(np.arange(INTERVALS_SIZE))
    assert (variance >= exact - 1e-9).all()
    assert (variance <= 1.02 * exact + 1e-9).all()
    assert (2 * largest**2 <= variance + 1e-6).all()


def test_a_release_is_written_read_and_verified(table: pl.DataFrame, tmp_path: Path) -> None:
    asked = policy(12, release=[{"name": "run", "cdf": "x"}, {"name": "bands", "ranges": {"x": [[0, 50], [51, 149]]}}])
    made = kept(td.plan(asked), table, tmp_path)
    again = td.load_release(tmp_path / "out")
    assert again["run"].columns["at_most"] == pytest.approx(made["run"].columns["at_most"])
    assert again.plan["run"].strategy == made.plan["run"].strategy


@pytest.mark.parametrize("asked", [{"ranges": "x"}, {"cdf": "x"}])
@pytest.mark.parametrize("secret", ["everything", {"within": 5}, {"within": 2000}])
def test_long_attributes_are_predicted_from_afar(
    asked: dict[str, str], secret: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To within one percent, from bins and ranges inside them; and no limit is met at twenty million values."""

    def error(size: int) -> float:
        here = public_policy(attributes={"x": {"integer": [0, size - 1]}}, secrets={"x": secret})
        hierarchical._mean_variance.cache_clear()
        return td.plan({**here, "release": [{"name": "q", **asked}]})["q"].expected_error

    whole = error(300_000)
    monkeypatch.setattr(hierarchical, "SEEN_WHOLE", 30_000)
    assert error(300_000) == pytest.approx(whole, rel=0.01)
    assert error(20_000_000) < 2 * whole
