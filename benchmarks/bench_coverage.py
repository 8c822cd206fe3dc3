"""How often intervals hold the truth: every kind of answer, over a thousand releases of one table.

The table is made up: 1,500 records, of which some cells hold none and many hold fewer than ten. The ratio is the share
of released numbers whose 95% interval misses the truth, over 5%; its spread is that of ten times a hundred releases.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import tetraodon as td
from tetraodon.releases.release import Release

RECORDS, RELEASES = 1_500, 1_000
POLICY: dict[str, Any] = {
    "dataset": "coverage",
    "presence": "secret",
    "attributes": {
        "age": {"integer": [0, 19]},
        "pay": {"integer": [0, 100]},
        "sex": ["f", "m"],
        "region": ["north", "east", "south", "west", "nowhere"],
    },
    "secrets": {"region": "public"},
    "together": "one attribute at a time",
    "budget": {"epsilon": 4},
    "release": [
        {"name": "count", "count": "age < 8 and sex = 'f'"},
        {"name": "histogram", "histogram": ["region", "sex"]},
        {"name": "part", "histogram": ["age"], "where": "region = 'west'"},
        {"name": "cdf", "cdf": "age"},
        {"name": "ranges", "ranges": {"age": [[0, 1], [6, 12], [18, 19]]}},
        {"name": "quantiles", "quantiles": "age", "at": [0.25, 0.5, 0.75]},
        {"name": "total", "total": "pay", "by": "sex"},
        {"name": "mean", "mean": "pay", "by": "sex"},
        {"name": "variance", "variance": "pay"},
        {"name": "deviation", "standard deviation": "pay"},
        {"name": "covariance", "covariance": ["age", "pay"]},
        {"name": "correlation", "correlation": ["age", "pay"]},
        {"name": "regression", "regression": "pay", "on": ["age"]},
        {"name": "proportion", "proportion": "age < 5"},
        {"name": "ratio", "ratio": ["pay", "age"]},
    ],
}


def made_up() -> pl.DataFrame:
    """Ages and pay that go together, and regions of which one has nobody and another hardly anybody."""
    coins = np.random.default_rng(20)
    age = coins.binomial(19, coins.beta(1.2, 3.0, RECORDS))
    pay = np.clip(np.round(10 + 3 * age + coins.normal(0, 15, RECORDS)), 0, 100).astype(int)
    region = coins.choice(["north", "east", "south", "west"], RECORDS, p=[0.6, 0.3, 0.06, 0.04])
    return pl.DataFrame({"age": age, "pay": pay, "sex": coins.choice(["f", "m"], RECORDS), "region": region})


def run(quick: bool) -> list[dict[str, Any]]:
    """Every row has a name, a ratio, a target, whether it is reached, and the parts of the ratio."""
    table, releases = made_up(), 20 if quick else RELEASES
    plan, truth = td.plan(POLICY), _truth(table)
    missed: dict[str, list[float]] = {name: [] for name in (*truth, *ASKED)}
    with tempfile.TemporaryDirectory() as place, td.Ledger(Path(place) / "ledger.db") as ledger:
        ledger.open("coverage", 4 * releases, POLICY)
        for _ in range(releases):
            made = td.release(plan, table, ledger=ledger)
            for name, held in _held(made, truth, table).items():
                missed[name].append(float((~held).mean()))
    return [_row(name, np.array(shares)) for name, shares in missed.items()]


ASKED = {
    "ask: none": ("region = 'nowhere' and sex = 'f'", pl.col("region") == "nowhere"),
    "ask: few": ("age >= 17", pl.col("age") >= 17),
    "ask: many": ("age < 8", pl.col("age") < 8),
}


def _held(made: Release, truth: dict[str, Any], table: pl.DataFrame) -> dict[str, Any]:
    """For every answer, whether each of its intervals holds the truth."""
    found = {}
    for name, true in truth.items():
        columns = made[name].columns
        lower, upper = (np.asarray(columns[end], np.float64) for end in ("lower", "upper"))
        found[name] = (lower - 1e-9 <= true) & (true <= upper + 1e-9)
    for name, (question, condition) in ASKED.items():
        answer, true = made.ask(question), table.filter(condition).height
        found[name] = np.array([answer.lower <= true <= answer.upper])
    return found


def _truth(table: pl.DataFrame) -> dict[str, Any]:
    age, pay = (table[name].to_numpy().astype(np.float64) for name in ("age", "pay"))
    sex, region = (table[name].to_numpy() for name in ("sex", "region"))
    regions = POLICY["attributes"]["region"]
    by_sex: Callable[[Any], Any] = lambda of: np.array([of(pay[sex == one]) for one in ("f", "m")])  # noqa: E731
    slope = float(np.cov(age, pay, bias=True)[0, 1] / age.var())
    running = np.searchsorted(np.sort(age), np.arange(20), side="right")
    return {
        "count": np.array([((age < 8) & (sex == "f")).sum()]),
        "histogram": np.array([((region == r) & (sex == s)).sum() for r in regions for s in ("f", "m")]),
        "part": np.bincount(age[region == "west"].astype(int), minlength=20),
        "cdf": running,
        "ranges": np.array([((age >= low) & (age <= high)).sum() for low, high in ((0, 1), (6, 12), (18, 19))]),
        "quantiles": np.array([int(np.argmax(running >= share * RECORDS)) for share in (0.25, 0.5, 0.75)]),
        "total": by_sex(np.sum),
        "mean": by_sex(np.mean),
        "variance": np.array([pay.var()]),
        "deviation": np.array([pay.std()]),
        "covariance": np.array([np.cov(age, pay, bias=True)[0, 1]]),
        "correlation": np.array([np.corrcoef(age, pay)[0, 1]]),
        "regression": np.array([pay.mean() - slope * age.mean(), slope]),
        "proportion": np.array([(age < 5).mean()]),
        "ratio": np.array([pay.sum() / age.sum()]),
    }


def _row(name: str, shares: Any) -> dict[str, Any]:
    parts = [float(part.mean()) / 0.05 for part in np.array_split(shares, 10)]
    share = float(shares.mean())
    return {
        "name": f"{name}: truths missed, over 5%",
        "ratio": share / 0.05,
        "least": min(parts),
        "most": max(parts),
        "target": 1.0,
        "reached": share <= 0.05,
        "detail": {"coverage": 1 - share, "releases": len(shares)},
    }
