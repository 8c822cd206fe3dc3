"""Intervals of answers read from smoothed counts hold the truth; ranges, quantiles and running counts agree.

False alarms: each number's coverage over `RUNS` releases is compared with the 1e-10 quantile of Binomial(RUNS, 0.95);
with fewer than 1,000 numbers the whole file fails by chance with probability below 1e-7.
"""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import binom

import tetraodon as td
from tetraodon.gate import without_ledger
from tetraodon.mechanism.hierarchical import intervals
from tetraodon.mechanism.hierarchical.intervals import fit_of, largest_reach, range_reach, running_noise, sum_reach
from tetraodon.mechanism.registry import MECHANISMS
from tetraodon.releases.counting import count
from tetraodon.releases.least_epsilon import error_bound
from tetraodon.releases.release import Release, infer
from tetraodon.releases.run import noisy

RUNS = 200
FEWEST = int(binom.ppf(1e-10, RUNS, 0.95))
SIZE = 150


def policy(reach: int | None, **changes: Any) -> td.Policy:
    document: dict[str, Any] = {
        "tetraodon": 1,
        "dataset": "line",
        "individuals": "one row each",
        "presence": "public",
        "attributes": {"x": {"integer": [0, SIZE - 1]}, "g": ["a", "b"]},
        "secrets": {"x": "everything" if reach is None else {"within": reach}, "g": "public"},
        "budget": {"epsilon": 1},
        "release": [{"name": "run", "cdf": "x"}],
    }
    return td.load_policy(document | changes)


@pytest.fixture(autouse=True)
def _no_weighted_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are better for some of these questions."""
    monkeypatch.delitem(MECHANISMS, "weighted")


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    values = [(i * i * 7 + i // 3) % SIZE for i in range(3000)]
    return pl.DataFrame({"x": values, "g": ["a" if v % 4 else "b" for v in values]})


def releases(asked: td.Policy, table: pl.DataFrame) -> list[Release]:
    plan = td.plan(asked)
    assert plan.items[0].mechanism == "hierarchical"
    exact = count(plan, table)
    return [
        infer(plan, {i.name: noisy(i, exact[i.name], without_ledger(plan.certificate)) for i in plan}, "", "")
        for _ in range(RUNS)
    ]


@pytest.mark.parametrize("reach", [12, None])
def test_each_number_is_covered(reach: int | None, table: pl.DataFrame) -> None:
    running = np.cumsum(np.bincount(table["x"], minlength=SIZE))
    low, high = np.array([0, 10, 20, 77]), np.array([30, 12, 149, 140])
    truth = running[high] - np.where(low > 0, running[low - 1], 0)
    middle = int(np.searchsorted(running, table.height / 2))
    held, columns = defaultdict[str, int](int), np.zeros(SIZE)
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
    middle = int(np.searchsorted(np.cumsum(np.bincount(table["x"], minlength=SIZE)), table.height / 2))
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
    truth = np.cumsum(np.bincount(table["x"], minlength=SIZE))
    made = releases(policy(None, **changes), table)
    found = np.mean([(np.cumsum(release["run"].table.raw) - truth) ** 2 for release in made])
    assert found == pytest.approx(made[0].plan["run"].expected_error ** 2, rel=0.65)


def test_shortcuts_never_promise_more(monkeypatch: pytest.MonkeyPatch) -> None:
    item = td.plan(policy(12))["run"]
    at = item.scaled(policy(12).domain)
    sure = Fraction(95, 100)
    exact = at.strategy.noise.reach(*running_noise(at), sure)
    low, high = np.array([0, 5, 40]), np.array([9, 60, 149])
    codes = np.arange(SIZE)
    each = [sum_reach(at, (a <= codes) & (codes <= b), sure) for a, b in zip(low, high, strict=True)]
    assert (range_reach(at, low, high, np.array(1), sure) >= np.array(each) - 1e-9).all()
    assert largest_reach(at, sure, ranges=False) >= exact.max()
    assert error_bound(item, td.load_policy(policy(12).document), sure) >= exact.max()
    assert sum_reach(at, np.zeros(SIZE, np.bool_), sure) == 0.0
    monkeypatch.setattr(intervals, "EXACT_SIZE", 10)
    running_noise.cache_clear()
    assert (at.strategy.noise.reach(*running_noise(at), sure) >= exact - 1e-4).all()
    running_noise.cache_clear()


def test_noise_adds_up_to_the_variance() -> None:
    at = td.plan(policy(None))["run"].scaled(policy(None).domain)
    variance, largest = running_noise(at)
    exact = fit_of(at).running_variances(np.arange(SIZE))
    assert (variance >= exact - 1e-9).all()
    assert (variance <= 1.02 * exact + 1e-9).all()
    assert (2 * largest**2 <= variance + 1e-6).all()


def test_a_release_is_written_read_and_verified(table: pl.DataFrame, tmp_path: Path) -> None:
    asked = policy(12, release=[{"name": "run", "cdf": "x"}, {"name": "bands", "ranges": {"x": [[0, 50], [51, 149]]}}])
    book = td.Ledger(tmp_path / "ledger.db")
    book.open(asked.dataset, 2, asked.document)
    made = td.release(td.plan(asked), table, ledger=book, out=tmp_path / "out")
    assert all(check.passed for check in td.verify(tmp_path / "out"))
    again = td.load_release(tmp_path / "out")
    assert again["run"].columns["at_most"] == pytest.approx(made["run"].columns["at_most"])
    assert again.plan["run"].strategy == made.plan["run"].strategy
