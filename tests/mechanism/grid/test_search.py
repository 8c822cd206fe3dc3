"""Grids for rectangles: what is proposed, and its predicted error against every matrix written out."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import tetraodon as td
from tetraodon.certificate.kernel import certify_measurements
from tetraodon.errors import Refused
from tetraodon.mechanism.grid import GRID, role_of
from tetraodon.mechanism.registry import MECHANISMS
from tetraodon.mechanism.strategy import Scaled, Strategy
from tetraodon.noise import laplace_variance
from tetraodon.query.contribution import Prefix
from tetraodon.query.kinds import cdf, rectangles
from tetraodon.query.linear import LinearQuery, splits

ASKED = rectangles("x", "y")


def policy(sides: tuple[int, int], **changes: Any) -> td.Policy:
    document: dict[str, Any] = {
        "dataset": "map",
        "presence": "public",
        "attributes": {name: {"integer": [0, size - 1]} for name, size in zip("xy", sides, strict=True)},
        "budget": {"epsilon": 1},
        "release": [{"name": "m", "rectangles": ["x", "y"]}],
    }
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
    asked = policy((21, 18), **changes)
    [found] = GRID.propose(ASKED, asked)
    scale = Fraction(3)
    predicted = Scaled(found, scale, asked.domain).expected_error(ASKED)
    assert predicted**2 == pytest.approx(variance_by_matrices(found, scale, asked), rel=1e-4)


@pytest.mark.parametrize("changes", [{}, {"presence": "secret"}, {"together": "one attribute at a time"}])
def test_plain_tables_are_predicted_too(changes: dict[str, Any]) -> None:
    asked = policy((5, 4), **changes)
    found = td.plan(asked)["m"]
    assert found.mechanism == "identity"
    assert found.expected_error**2 == pytest.approx(variance_by_matrices(found.strategy, found.scale, asked), rel=1e-4)


def test_running_counts_are_predicted_too() -> None:
    asked = policy((3, 40), secrets={"x": "public", "y": {"within": 1}})
    found = td.plan(asked)["m"]
    assert found.mechanism == "ordered"
    assert found.expected_error**2 == pytest.approx(variance_by_matrices(found.strategy, found.scale, asked), rel=1e-4)


def test_blocks_of_the_policy_are_exact_and_counted_on() -> None:
    blocks = [[0, 2], [3, 5]]
    asked = policy((6, 5), secrets={"x": {"blocks": blocks}, "y": "public"})
    found = td.plan(asked)["m"]
    assert found.mechanism == "identity"
    assert found.expected_error**2 == pytest.approx(variance_by_matrices(found.strategy, found.scale, asked), rel=1e-4)
    assert td.plan(policy((6, 5), secrets={"x": "public", "y": "public"}))["m"].mechanism == "exact"


def test_a_grid_beats_single_cells_and_near_secrets_more_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(MECHANISMS, "edges")
    errors = []
    for changes in ({}, near(16), near(4), near(1)):
        asked = policy((64, 64), **changes)
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
    asked = policy((30, 20), **near(3))
    item = td.plan(asked)["m"]
    assert certify_measurements(asked.graph, item.measurements).epsilon == 1
    assert len(item.strategy.noisy) > 1


def test_thin_maps_are_smoothed_along_one_side() -> None:
    item = td.plan(policy((3, 400)))["m"]
    assert item.mechanism == "grid"
    assert {role_of(query, item.strategy) for query in item.strategy.noisy} == {"cells", "across"}


def test_only_rectangles_are_answered_like_this() -> None:
    assert not list(GRID.propose(cdf("x"), policy((9, 9))))
    assert not list(GRID.propose(ASKED, policy((30, 30), secrets={"x": "public", "y": "public"})))
    with pytest.raises(Refused):
        role_of(LinearQuery(Prefix("x", 9, 9)), Strategy(GRID, (), table=splits(["x", "y"])))
