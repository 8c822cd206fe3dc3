"""Regressions: coefficients against those of numpy, intervals against every data set that noise may have hidden.

False alarms: `check_coverage` compares fourteen numbers with a quantile at 1e-10; it fails by chance with 1e-8 at most.
"""

from __future__ import annotations

from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.query.released import answered, check_coverage

import tetraodon as td
from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.exact.arrays import Floats, Ints
from tetraodon.queries import regression
from tetraodon.query.association import solved
from tetraodon.query.moments import Between

ENDS = (("x", 1, 4), ("z", 0, 2), ("y", -3, 3))
DOMAIN = Domain(tuple(Attribute(name, Integers(low, high)) for name, low, high in ENDS))
record = st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 6))
ITEMS: list[dict[str, Any]] = [
    {"name": "line", "regression": "y", "on": "x", "by": "sex"},
    {"name": "plane", "regression": "y", "on": ["x", "z"]},
]


def fitted(records: Ints | Floats, on: int) -> Floats:
    """Intercept and slopes of the last column on the first few."""
    left = np.column_stack([np.ones(len(records)), records[:, :on]])
    return np.asarray(np.linalg.lstsq(left, records[:, -1].astype(float), rcond=None)[0])


def values_of(codes: Ints) -> Ints:
    return codes + np.array([1, 0, -3])


def determined(records: Ints, on: int) -> bool:
    return int(np.linalg.matrix_rank(np.column_stack([np.ones(len(records)), records[:, :on]]))) == on + 1


@given(st.data(), st.booleans())
def test_where_the_noise_is_within_its_reach_intervals_hold_the_truth(data: st.DataObject, one: bool) -> None:
    codes = np.array(data.draw(st.lists(record, min_size=2, max_size=40)))
    query = regression("y", on=["x"] if one else ["x", "z"])
    sums, on = len(query.sums(DOMAIN)), len(query.on)
    reach = tuple(data.draw(st.integers(0, 4)) for _ in range(sums))
    noise = tuple(data.draw(st.integers(-far, far)) for far in reach)
    columns = query.columns(answered(query, DOMAIN, codes, noise, reach))  # type: ignore[arg-type]
    assert columns["term"].tolist() == ["intercept", *query.on]
    assert (columns["lower"] <= columns["coefficient"] + 1e-9).all()
    assert (columns["coefficient"] <= columns["upper"] + 1e-9).all()
    if determined(codes, on):
        truth = fitted(values_of(codes), on)
        assert (columns["lower"] - 1e-6 <= truth).all()
        assert (truth <= columns["upper"] + 1e-6).all()


@given(st.lists(record, min_size=4, max_size=30))
def test_without_noise_it_is_the_regression_itself(listed: list[tuple[int, int, int]]) -> None:
    codes = np.array(listed)
    query = regression("y", on=["x", "z"])
    count = len(query.sums(DOMAIN))
    columns = query.columns(answered(query, DOMAIN, codes, (0,) * count, (0,) * count))  # type: ignore[arg-type]
    if determined(codes, 2):
        assert columns["coefficient"] == pytest.approx(fitted(values_of(codes), 2), abs=1e-6)
        assert (columns["upper"] - columns["lower"] < 1e-5).all()


def test_no_line_or_plane_is_steeper_than_the_bound() -> None:
    """Every line and plane through few records, of which all others are averages."""
    line, plane = regression("y", on="x"), regression("y", on=["x", "z"])
    steepest = 0.0
    for (a, b), (c, d) in combinations(product(range(4), (0, 6)), 2):
        if a != c:
            steepest = max(steepest, abs((b - d) / (a - c)))
    assert steepest == line._steepest("x", DOMAIN) == 6
    found = np.zeros(2)
    for points in combinations(product(range(4), range(3)), 3):
        left = np.column_stack([np.ones(3), np.array(points)])
        if abs(np.linalg.det(left)) > 0.5:
            for heights in product((0, 6), repeat=3):
                found = np.maximum(found, np.abs(np.linalg.solve(left, np.array(heights, float))[1:]))
    assert (found <= [plane._steepest(name, DOMAIN) for name in "xz"]).all()
    assert (found >= 6).all()


def test_nothing_is_known_where_a_cell_may_be_empty() -> None:
    query = regression("y", on="x")
    reach = (5, 5, 5, 5, 9)
    columns = query.columns(answered(query, DOMAIN, np.array([[0, 0, 1], [3, 0, 2]]), (0,) * 5, reach))  # type: ignore[arg-type]
    assert (columns["lower"][1], columns["upper"][1]) == (-6, 6)
    assert np.isfinite(columns["lower"]).all()


# -- planned and released ------------------------------------------------------------------------


def policy(**changes: Any) -> td.Policy:
    base = {
        "dataset": "d",
        "presence": "public",
        "attributes": {
            "x": {"integer": [1, 4], "unit": "h"},
            "z": {"integer": [0, 2]},
            "y": {"integer": [-3, 3], "unit": "EUR"},
            "sex": ["f", "m"],
        },
        "secrets": {"x": {"within": 1}, "y": {"within": 1}, "z": "public", "sex": "public"},
        "budget": {"epsilon": 4},
        "release": ITEMS,
    }
    return td.load_policy(base | changes)


def people(count: int) -> pl.DataFrame:
    rng = np.random.default_rng(9)
    x, z = rng.integers(1, 5, count), rng.integers(0, 3, count)
    y = (x - z + rng.integers(-2, 2, count) - 1).clip(-3, 3)
    return pl.DataFrame({"x": x, "z": z, "y": y, "sex": (["f", "m"] * count)[:count]})


@pytest.mark.parametrize("presence", ["public", "secret"])
def test_intervals_cover(presence: str) -> None:
    table = people(4000)
    halves = [table.filter(pl.col("sex") == sex).select("x", "y").to_numpy() for sex in ("f", "m")]
    truth = {
        "line": np.concatenate([fitted(half, 1) for half in halves]).tolist(),
        "plane": fitted(table.select("x", "z", "y").to_numpy(), 2).tolist(),
    }
    check_coverage(policy(presence=presence), table, truth)


def test_sums_of_public_attributes_are_exact() -> None:
    strategy = td.plan(policy(secrets={"x": "public", "z": "public", "sex": "public"}))["plane"].strategy
    assert [query.names for query in strategy.noisy] == [("x", "y"), ("z", "y"), ("y",)]
    assert len(strategy.exact) == 6


def test_incomes_on_ages_and_hours_are_planned_whatever_is_secret() -> None:
    attributes = {"y": {"integer": [0, 99_999]}, "x": {"integer": [0, 119]}, "z": {"integer": [0, 99]}}
    items = [{"name": "plane", "regression": "y", "on": ["x", "z"]}, {"name": "ages", "histogram": "x"}]
    plan = td.plan(policy(attributes=attributes, secrets={}, release=items))
    assert 3.9 < plan.epsilon <= 4


def test_it_is_released_verified_and_told(tmp_path: Path) -> None:
    ledger = f"sqlite:///{tmp_path / 'ledger.db'}"
    with td.Ledger(ledger) as book:
        book.open("d", 4, policy().document)
    td.release(td.plan(policy()), people(50), ledger=ledger, out=tmp_path / "out")
    assert all(check.passed for check in td.verify(tmp_path / "out"))
    again = td.load_release(tmp_path / "out")
    assert list(again["line"].columns) == ["sex", "term", "coefficient", "lower", "upper"]
    assert again["plane"].columns["term"].tolist() == ["intercept", "x", "z"]
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert (
        "How y in EUR changes with x in h and z: least-squares coefficients, and its value where they are zero." in page
    )


MOST = np.array([50.0, 50.0])
seeds = st.integers(0, 2**32 - 1)


@given(seeds, st.floats(0, 0.4))
def test_any_system_between_the_ends_is_solved_between_the_ends(seed: int, far: float) -> None:
    rng = np.random.default_rng(seed)
    matrix, right = rng.uniform(-1, 1, (7, 2, 2)), rng.uniform(-1, 1, (7, 2))
    about = [Between(part, part - far * rng.uniform(0, 1, part.shape), part + far) for part in (matrix, right)]
    found = solved(about[0], about[1], MOST)
    assert (found.lower <= found.value).all()
    assert (found.value <= found.upper).all()
    for _ in range(20):
        left, column = (rng.uniform(part.lower, part.upper) for part in about)
        truth = np.linalg.solve(left, column[..., None])[..., 0]
        inside = (found.lower - 1e-6 <= truth) & (truth <= found.upper + 1e-6)
        assert (inside | (np.abs(truth) > MOST)).all()


def test_what_may_be_singular_has_any_solution() -> None:
    matrix = np.array([[[1.0, 1.0], [1.0, 1.0]], [[0.0, 0.0], [0.0, 0.0]]])
    right = np.ones((2, 2))
    found = solved(Between(matrix, matrix, matrix), Between(right, right, right), MOST)
    assert (found.lower == -MOST).all()
    assert (found.upper == MOST).all()
