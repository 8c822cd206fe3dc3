"""Released maps: measured errors against planned ones, intervals that hold the truth, rectangles that agree.

False alarms: coverage of each rectangle over `RUNS` releases is compared with the 1e-10 quantile of
Binomial(RUNS, 0.95), and the mean squared error with its plan within 25%, which 60 releases of 300 rectangles miss by
chance with probability below 1e-9.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import binom

import tetraodon as td
from tetraodon.errors import DomainError, QueryError
from tetraodon.gate import without_ledger
from tetraodon.mechanism.grid import GRID, grid_fit
from tetraodon.mechanism.registry import MECHANISMS
from tetraodon.mechanism.strategy import box_sums
from tetraodon.releases.counting import count
from tetraodon.releases.least_epsilon import error_bound
from tetraodon.releases.release import Release, infer
from tetraodon.releases.run import noisy

RUNS = 60
FEWEST = int(binom.ppf(1e-10, RUNS, 0.95))
SIDES = (40, 30)


def policy(**changes: Any) -> td.Policy:
    document: dict[str, Any] = {
        "dataset": "map",
        "presence": "public",
        "attributes": {"x": {"integer": [10, 49]}, "y": {"real": [0, "2.9"], "step": "0.1"}, "kind": ["day", "night"]},
        "secrets": {"x": {"within": 3}, "y": {"within": "0.3"}, "kind": "public"},
        "together": "one attribute at a time",
        "budget": {"epsilon": 1},
        "release": [{"name": "m", "rectangles": ["x", "y"]}],
    }
    return td.load_policy(document | changes)


@pytest.fixture(scope="module")
def codes() -> np.ndarray:
    coins = np.random.default_rng(3)
    points = np.concatenate([coins.normal([10, 8], 3, (1500, 2)), coins.uniform([0, 0], SIDES, (500, 2))])
    return np.clip(np.rint(points), 0, [39, 29]).astype(np.int64)


@pytest.fixture(scope="module")
def table(codes: np.ndarray) -> pl.DataFrame:
    return pl.DataFrame({"x": codes[:, 0] + 10, "y": codes[:, 1] / 10, "kind": ["day"] * len(codes)})


def releases(asked: td.Policy, table: pl.DataFrame, runs: int = RUNS) -> list[Release]:
    plan = td.plan(asked)
    exact = count(plan, table)
    return [
        infer(plan, {i.name: noisy(i, exact[i.name], without_ledger(plan.certificate)) for i in plan}, "", "")
        for _ in range(runs)
    ]


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
    made = releases(asked, table)
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
    [made] = releases(policy(), table, 1)
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
    [made] = releases(policy(), table, 1)
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
    [other] = releases(policy(release=[{"name": "h", "histogram": "x"}]), table, 1)
    with pytest.raises(QueryError, match="not a map"):
        other["h"].rectangle(x=(12, 30))
