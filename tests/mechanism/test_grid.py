"""Rectangles of a map from cells and smoothed blocks."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom
from tests.policies import public_policy
from tests.releases.made import drawn

import tetraodon as td
from tetraodon.certificate.kernel import certify_measurements
from tetraodon.errors import DomainError, QueryError, Refused
from tetraodon.mechanism import grid as least_squares
from tetraodon.mechanism.grid import GRID, GridFit, Side, grid_fit, role_of
from tetraodon.mechanism.registry import MECHANISMS
from tetraodon.mechanism.strategy import Scaled, Strategy, box_sums
from tetraodon.noise import laplace_variance
from tetraodon.queries import cdf, rectangles
from tetraodon.query.contribution import Prefix
from tetraodon.query.linear import LinearQuery, splits
from tetraodon.releases.least_epsilon import error_bound

# -- grid -------------------------------------------------------------------------------------------
# Released maps: measured errors against planned ones, intervals that hold the truth, rectangles that agree. False
# alarms: coverage of each rectangle over `RUNS` releases is compared with the 1e-10 quantile of Binomial(RUNS,
# 0.95), and the mean squared error with its plan within 25%, which 60 releases of 300 rectangles miss by chance with
# probability below 1e-9.

RUNS = 60
FEWEST = int(binom.ppf(1e-10, RUNS, 0.95))
SIDES = (40, 30)


def policy(**changes: Any) -> td.Policy:
    document: dict[str, Any] = public_policy(
        dataset="map",
        attributes={"x": {"integer": [10, 49]}, "y": {"real": [0, "2.9"], "step": "0.1"}, "kind": ["day", "night"]},
        secrets={"x": {"within": 3}, "y": {"within": "0.3"}, "kind": "public"},
        together="one attribute at a time",
        release=[{"name": "m", "rectangles": ["x", "y"]}],
    )
    return td.load_policy(document | changes)


@pytest.fixture(scope="module")
def codes() -> np.ndarray:
    coins = np.random.default_rng(3)
    points = np.concatenate([coins.normal([10, 8], 3, (1500, 2)), coins.uniform([0, 0], SIDES, (500, 2))])
    return np.clip(np.rint(points), 0, [39, 29]).astype(np.int64)


@pytest.fixture(scope="module")
def table(codes: np.ndarray) -> pl.DataFrame:
    return pl.DataFrame({"x": codes[:, 0] + 10, "y": codes[:, 1] / 10, "kind": ["day"] * len(codes)})


def some_rectangles() -> tuple[np.ndarray, np.ndarray]:
    ends = np.sort(np.random.default_rng(4).integers(0, [[[40]], [[30]]], (2, 300, 2)), axis=2)
    return ends[:, :, 0].T, ends[:, :, 1].T


@pytest.mark.parametrize(
    "changes", [{}, {"presence": "secret"}, {"together": {"metric": "linf", "over": ["x", "y"], "within": 1}}]
)
def test_errors_are_as_planned_and_intervals_hold(
    changes: dict[str, Any], table: pl.DataFrame, codes: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(MECHANISMS, "edges")
    if "together" in changes:
        changes = {"secrets": {}, "attributes": {"x": {"integer": [10, 49]}, "y": {"integer": [0, 29]}}} | changes
        table = pl.DataFrame({"x": codes[:, 0] + 10, "y": codes[:, 1]})
    asked = policy(**changes)
    low, high = some_rectangles()
    truth = box_sums(np.histogram2d(*codes.T, bins=[range(41), range(31)])[0], low.T, high.T)
    made = drawn(asked, table, RUNS)
    item = made[0].plan["m"]
    assert item.mechanism == "grid"
    y = asked.domain["y"]
    sides = {
        "x": (low[:, 0] + 10, high[:, 0] + 10),
        "y": tuple([y.value(int(c)) for c in e[:, 1]] for e in (low, high)),
    }
    found = [release["m"].rectangles_many(sides) for release in made]
    fit = grid_fit(item.scaled(asked.domain))
    squared = np.array([(one["count"] - truth) ** 2 for one in found]).mean()
    assert squared == pytest.approx(fit.rectangle_variances(low, high).mean(), rel=0.25)
    held = sum(((one["lower"] <= truth) & (truth <= one["upper"])).astype(int) for one in found)
    assert held.min() >= FEWEST
    cells = np.histogram2d(*codes.T, bins=[range(41), range(31)])[0].ravel()
    inside = sum(
        ((release["m"].columns["lower"] <= cells) & (cells <= release["m"].columns["upper"])).astype(int)
        for release in made
    )
    assert inside.min() >= FEWEST


def test_one_rectangle_is_what_the_cells_say(table: pl.DataFrame) -> None:
    [made] = drawn(policy(), table, 1)
    answer = made["m"]
    one = answer.rectangle(x=(12, 30), y=("0.3", "1.5"))
    many = answer.rectangles_many({"x": ([12], [30]), "y": (["0.3"], ["1.5"])})
    assert float(one) == pytest.approx(many["count"][0])
    assert many["lower"][0] <= one.lower + 1e-9
    assert one.upper <= many["upper"][0] + 1e-9
    assert float(answer.count("x between 12 and 30 and y between 0.3 and 1.5")) == pytest.approx(float(one))
    assert made.ask("x <= 20") == pytest.approx(float(answer.rectangle(x=(10, 20))))
    assert float(answer.rectangle(x=(10, 49))) == pytest.approx(len(table))
    assert float(answer.between(12, 30, attribute="x")) == pytest.approx(float(answer.rectangle(x=(12, 30))))
    middle, least, most = answer.quantile_interval("0.5", attribute="x")
    assert least <= middle <= most  # type: ignore[operator]


def test_bounds_before_the_data_hold_for_every_rectangle() -> None:
    plan = td.plan(policy())
    item = plan["m"]
    at = item.scaled(plan.policy.domain)
    worst = GRID.largest_error(item.item.query, at, td_confidence())
    codes = np.ix_(*map(np.arange, SIDES))
    assert error_bound(item, plan.policy, td_confidence()) == worst
    assert GRID.box_reach(at, codes, codes, td_confidence()).max() <= worst


def td_confidence() -> Any:
    from tetraodon.inference.estimate import CONFIDENCE

    return CONFIDENCE


def test_rectangles_outside_the_map_are_refused(table: pl.DataFrame) -> None:
    [made] = drawn(policy(), table, 1)
    answer = made["m"]
    with pytest.raises(QueryError, match="no side"):
        answer.rectangle(z=(0, 1))
    with pytest.raises(QueryError, match="no rectangle"):
        answer.rectangle()
    with pytest.raises(QueryError, match="empty"):
        answer.rectangle(x=(30, 12))
    with pytest.raises(DomainError):
        answer.rectangles_many({"x": (np.array([0]), np.array([12]))})
    with pytest.raises(QueryError, match="as many"):
        answer.rectangles_many({"x": ([12], [30, 31])})
    [other] = drawn(policy(release=[{"name": "h", "histogram": "x"}]), table, 1)
    with pytest.raises(QueryError, match="not a map"):
        other["h"].rectangle(x=(12, 30))


# -- least squares ----------------------------------------------------------------------------------
# Least squares over a map against every matrix written out.


def ranges(size: int) -> np.ndarray:
    low, high = np.triu_indices(size)
    code = np.arange(size)
    return ((low[:, None] <= code) & (code <= high[:, None])).astype(float)


@st.composite
def fits(draw: st.DrawFn) -> GridFit:
    sides = []
    for _ in range(2):
        size = draw(st.integers(1, 7))
        sides.append(Side(size, draw(st.integers(0, size - 1)) if size > 1 else 0))
    precise = st.floats(0.1, 3)
    one, two = sides
    return GridFit(
        one,
        two,
        draw(precise),
        draw(precise) if two.width else 0.0,
        draw(precise) if one.width else 0.0,
        draw(precise) if one.width and two.width else 0.0,
        draw(st.sampled_from([0.0, None])),
    )


def rows_of(fit: GridFit) -> tuple[np.ndarray, np.ndarray]:
    """Everything measured, row by row, and the precision of each."""
    one, two = np.eye(fit.first.size), np.eye(fit.second.size)
    parts = [
        (np.kron(one, two), fit.cells),
        (np.kron(one, fit.second.hats), fit.across),
        (np.kron(fit.first.hats, two), fit.along),
        (np.kron(fit.first.hats, fit.second.hats), fit.blocks),
    ]
    return np.concatenate([r for r, _ in parts]), np.concatenate([np.full(len(r), p) for r, p in parts])


def covariance(fit: GridFit) -> np.ndarray:
    rows, precise = rows_of(fit)
    found = np.linalg.inv((rows.T * precise) @ rows)
    if fit.total is not None:
        along = found.sum(axis=1)
        found = found - np.outer(along, along) / along.sum()
    return np.asarray(found)


@settings(max_examples=60, deadline=None)
@given(fits(), st.integers(0, 2**31))
def test_estimates_and_variances_are_those_of_the_matrices(fit: GridFit, seed: int) -> None:
    shape = (fit.first.size, fit.second.size)
    coins = np.random.default_rng(seed)
    truth = covariance(fit)
    weights = coins.normal(size=shape)
    assert np.allclose(fit.covariance_times(weights.reshape(1, -1)).ravel(), truth @ weights.ravel())
    rows, precise = rows_of(fit)
    answers = coins.normal(size=len(rows))
    ends = np.cumsum([np.prod(s) for s in ((shape[0], shape[1]), (shape[0], len(fit.second.hats)))])
    cells, across = (
        answers[: ends[0]].reshape(shape),
        answers[ends[0] : ends[1]].reshape(shape[0], len(fit.second.hats)),
    )
    third = ends[1] + len(fit.first.hats) * shape[1]
    along = answers[ends[1] : third].reshape(len(fit.first.hats), shape[1])
    blocks = answers[third:].reshape(len(fit.first.hats), len(fit.second.hats))
    plain = np.linalg.inv((rows.T * precise) @ rows) @ (rows.T * precise) @ answers
    if fit.total is not None:
        one = covariance(replace(fit, total=None)).sum(axis=1)
        plain = plain + one * (7.0 - plain.sum()) / one.sum()
    assert np.allclose(fit.counts(cells, across, along, blocks, 7.0).ravel(), plain)
    every = np.kron(ranges(shape[0]), ranges(shape[1]))
    variances = np.einsum("ij,jk,ik->i", every, truth, every)
    assert fit.mean_rectangle_variance() == pytest.approx(variances.mean(), rel=1e-7, abs=1e-9)
    free = covariance(replace(fit, total=None))
    ends_of = np.array(
        [
            (a, c, b, d)
            for a, b in zip(*np.triu_indices(shape[0]), strict=True)
            for c, d in zip(*np.triu_indices(shape[1]), strict=True)
        ]
    )
    found = fit.rectangle_variances(ends_of[:, :2], ends_of[:, 2:])
    assert np.allclose(found, np.einsum("ij,jk,ik->i", every, free, every))
    assert fit.largest_rectangle_variance() >= found.max() * (1 - 1e-9)


def test_long_sides_are_bounded_from_their_first_value(monkeypatch: pytest.MonkeyPatch) -> None:
    fit = GridFit(Side(20, 4), Side(15, 3), 1.0, 2.0, 0.5, 3.0)
    exact = fit.largest_rectangle_variance()
    monkeypatch.setattr(least_squares, "EVERY_RANGE", 10)
    assert exact <= fit.largest_rectangle_variance() <= 16 * exact


def test_a_map_has_cells() -> None:
    with pytest.raises(QueryError):
        GridFit(Side(4), Side(4), 0.0)


# -- search -----------------------------------------------------------------------------------------
# Grids for rectangles: what is proposed, and its predicted error against every matrix written out.

ASKED = rectangles("x", "y")


def policy_of_search(sides: tuple[int, int], **changes: Any) -> td.Policy:
    document: dict[str, Any] = public_policy(
        dataset="map",
        attributes={name: {"integer": [0, size - 1]} for name, size in zip("xy", sides, strict=True)},
        release=[{"name": "m", "rectangles": ["x", "y"]}],
    )
    return td.load_policy(document | changes)


def near(theta: int) -> dict[str, Any]:
    return {"together": {"metric": "l1", "over": ["x", "y"], "within": theta}}


def variance_by_matrices(strategy: Strategy, scale: Fraction, asked: td.Policy) -> float:
    """Mean variance of all rectangles under least squares with every matrix written out."""
    rows, precise = [], []
    for measurement in strategy.measurements(scale):
        matrix, unit = measurement.query.matrix(asked.domain)
        variance = laplace_variance(measurement.scale) * float(unit) ** 2 if measurement.scale else 1e-9
        rows.append(matrix * float(unit))
        precise.append(np.full(len(matrix), 1 / variance))
    written, weight = np.concatenate(rows), np.concatenate(precise)
    found = np.linalg.inv((written.T * weight) @ written)
    sides = []
    for size in asked.domain.shape:
        low, high = np.triu_indices(size)
        sides.append((low[:, None] <= np.arange(size)) & (np.arange(size) <= high[:, None]))
    one, two = (side.astype(float).T @ side.astype(float) for side in sides)
    return float((np.kron(one, two) * found).sum()) / (len(sides[0]) * len(sides[1]))


@pytest.mark.parametrize("changes", [near(3), near(1), near(1) | {"presence": "secret"}])
def test_the_predicted_error_is_that_of_the_matrices(changes: dict[str, Any]) -> None:
    asked = policy_of_search((21, 18), **changes)
    [found] = GRID.proposals(ASKED, asked)
    scale = Fraction(3)
    predicted = Scaled(found, scale, asked.domain).expected_error(ASKED)
    assert predicted**2 == pytest.approx(variance_by_matrices(found, scale, asked), rel=1e-4)


@pytest.mark.parametrize("changes", [{}, {"presence": "secret"}, {"together": "one attribute at a time"}])
def test_plain_tables_are_predicted_too(changes: dict[str, Any]) -> None:
    asked = policy_of_search((5, 4), **changes)
    found = td.plan(asked)["m"]
    assert found.mechanism == "identity"
    assert found.expected_error**2 == pytest.approx(variance_by_matrices(found.strategy, found.scale, asked), rel=1e-4)


def test_running_counts_are_predicted_too() -> None:
    asked = policy_of_search((3, 40), secrets={"x": "public", "y": {"within": 1}})
    found = td.plan(asked)["m"]
    assert found.mechanism == "ordered"
    assert found.expected_error**2 == pytest.approx(variance_by_matrices(found.strategy, found.scale, asked), rel=1e-4)


def test_blocks_of_the_policy_are_exact_and_counted_on() -> None:
    blocks = [[0, 2], [3, 5]]
    asked = policy_of_search((6, 5), secrets={"x": {"blocks": blocks}, "y": "public"})
    found = td.plan(asked)["m"]
    assert found.mechanism == "identity"
    assert found.expected_error**2 == pytest.approx(variance_by_matrices(found.strategy, found.scale, asked), rel=1e-4)
    assert td.plan(policy_of_search((6, 5), secrets={"x": "public", "y": "public"}))["m"].mechanism == "exact"


def test_a_grid_beats_single_cells_and_near_secrets_more_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(MECHANISMS, "edges")
    errors = []
    for changes in ({}, near(16), near(4), near(1)):
        asked = policy_of_search((64, 64), **changes)
        item = td.plan(asked)["m"]
        assert item.mechanism == "grid"
        assert item.epsilon == 1
        errors.append(item.expected_error)
    cells = math.sqrt(8 * (66 / 3) ** 2)  # noise of scale 2 on each cell of a random rectangle
    assert errors == sorted(errors, reverse=True)
    assert errors[0] < 0.7 * cells
    assert errors[2] < 0.57 * cells
    assert errors[3] < 0.4 * cells


def test_the_kernel_decides_the_scale() -> None:
    asked = policy_of_search((30, 20), **near(3))
    item = td.plan(asked)["m"]
    assert certify_measurements(asked.graph, item.measurements).epsilon == 1
    assert len(item.strategy.noisy) > 1


def test_thin_maps_are_smoothed_along_one_side() -> None:
    item = td.plan(policy_of_search((3, 400)))["m"]
    assert item.mechanism == "grid"
    assert {role_of(query, item.strategy) for query in item.strategy.noisy} == {"cells", "across"}


def test_only_rectangles_are_answered_like_this() -> None:
    assert not list(GRID.proposals(cdf("x"), policy_of_search((9, 9))))
    assert not list(GRID.proposals(ASKED, policy_of_search((30, 30), secrets={"x": "public", "y": "public"})))
    with pytest.raises(Refused):
        role_of(LinearQuery(Prefix("x", 9, 9)), Strategy(GRID, (), table=splits(["x", "y"])))
