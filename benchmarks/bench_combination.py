"""What combining a release is worth: errors of estimates from everything that was measured, over those of one table.

All one- and two-way tables of eight attributes: of Adult, and of the tweets, whose attributes are the base-4 digits of
their place. No table of one attribute is better known from another table by itself, so the best single table is the
table's own. The ratio is the root mean squared error against the truth, combined over single, averaged over the tables.
"""

from __future__ import annotations

import time
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

import tetraodon as td
from benchmarks.data import real
from tetraodon.gate import without_ledger
from tetraodon.releases.counting import count
from tetraodon.releases.estimates import combine
from tetraodon.releases.run import noisy

ADULT = ("age", "education", "hours_per_week", "marital_status", "occupation", "race", "sex", "workclass")
TARGET = 0.9


def run(quick: bool) -> list[dict[str, Any]]:
    """Every row has a name, a ratio, a target, whether it is reached, and the parts of the ratio."""
    rows = []
    releases = 1 if quick else 5
    if (path := real("adult.parquet")) is not None:
        rows.append(_row("Adult", pl.read_parquet(path, columns=list(ADULT)), releases))
    if (path := real("twitter_west_256.parquet")) is not None:
        rows.append(_row("tweets", _digits(pl.read_parquet(path)), releases))
    return rows


def _digits(counts: pl.DataFrame) -> pl.DataFrame:
    """A row for every tweet, with the four base-4 digits of its latitude and of its longitude."""
    table = counts.select(pl.col("lat_bin", "lon_bin").repeat_by("count")).explode("lat_bin", "lon_bin")
    return table.select(
        (pl.col(f"{side}_bin").cast(pl.Int64) // 4**place % 4).alias(f"{side}{place}")
        for side in ("lat", "lon")
        for place in range(4)
    )


def _row(name: str, table: pl.DataFrame, releases: int) -> dict[str, Any]:
    known = {one: sorted(table[one].unique().to_list()) for one in table.columns}
    attributes = {
        one: {"integer": [values[0], values[-1]]} if isinstance(values[0], int) else values
        for one, values in known.items()
    }
    tables = [*((one,) for one in known), *combinations(known, 2)]
    policy = td.load_policy(
        {
            "dataset": "combination",
            "presence": "public",
            "attributes": attributes,
            "secrets": dict.fromkeys(attributes, "everything"),
            "together": "all at once",
            "budget": {"epsilon": 1},
            "release": [{"name": "_".join(names), "histogram": list(names)} for names in tables],
        }
    )
    plan = td.plan(policy)
    exact = count(plan, table)
    squares: dict[str, list[tuple[float, float]]] = {item.name: [] for item in plan}
    seconds = []
    for _ in range(releases):
        permit = without_ledger(plan.certificate)
        measured = {item.name: noisy(item, exact[item.name], permit) for item in plan}
        start = time.perf_counter()
        found = combine(plan.items, measured, policy.domain).tables
        seconds.append(time.perf_counter() - start)
        for item in plan:
            truth = exact[item.name][0][..., 0]
            single = item.strategy.mechanism.fit(item.scaled(policy.domain), measured[item.name])
            both = (found[item.name, None].values, single)
            squares[item.name].append(tuple(float(((one - truth) ** 2).mean()) for one in both))  # type: ignore[arg-type]
    means = {one: np.mean(values, axis=0) for one, values in squares.items()}
    ratios = {one: float(np.sqrt(combined / single)) for one, (combined, single) in means.items()}
    ratio = float(np.mean(list(ratios.values())))
    ways = {f"{n}-way": float(np.mean([ratios["_".join(t)] for t in tables if len(t) == n])) for n in (1, 2)}
    detail = {"tables": len(plan), "releases": releases, "seconds": float(np.median(seconds)), **ways}
    detail["cells"] = sum(array[0].size for array in exact.values())
    detail["largest ratio"] = max(ratios.values())
    named = f"{len(plan)} tables of {name}: combined / best single table"
    return {"name": named, "ratio": ratio, "target": TARGET, "reached": ratio <= TARGET, "detail": detail}
