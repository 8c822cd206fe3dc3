"""Whole counts beside what was measured: squared errors against the truth, and how far small counts are off on average.

All one- and two-way tables of eight attributes of Adult, released together, and the map of tweets, cell by cell and in
random rectangles. The ratio is the sum of squared errors of the published counts over that of the unbiased ones beside
them in the same releases. The detail holds mean errors by the true count: the bias.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import tetraodon as td
from benchmarks.data import real
from tetraodon.exact.arrays import Floats
from tetraodon.mechanism.strategy import box_sums
from tetraodon.releases.counting import count
from tetraodon.releases.release import Release

ATTRIBUTES = ("age", "education", "hours_per_week", "marital_status", "occupation", "race", "sex", "workclass")
SIZES = ((0, 0), (1, 1), (2, 2), (3, 5), (6, 10), (11, 30), (31, 100), (101, 1000), (1001, 10**9))
"""True counts, from and to, of which mean errors are told."""


def run(quick: bool) -> list[dict[str, Any]]:
    """Every row has a name, a ratio, a target, whether it is reached, and the parts of the ratio."""
    rows = []
    if (path := real("adult.parquet")) is not None:
        rows += _adult(pl.read_parquet(path, columns=list(ATTRIBUTES)), 1 if quick else 5)
    if (path := real("twitter_west_256.parquet")) is not None:
        rows += _tweets(pl.read_parquet(path), 1 if quick else 5)
    return rows


def _adult(table: pl.DataFrame, releases: int) -> list[dict[str, Any]]:
    known = {name: sorted(table[name].unique().to_list()) for name in ATTRIBUTES}
    attributes = {
        name: {"integer": [values[0], values[-1]]} if isinstance(values[0], int) else values
        for name, values in known.items()
    }
    tables = [*((name,) for name in ATTRIBUTES), *combinations(ATTRIBUTES, 2)]
    items = [{"name": "_".join(names), "histogram": list(names)} for names in tables]
    rows = []
    for epsilon in (1, 10):
        policy = _policy(attributes, items, epsilon)
        made, truth, spent = _released(policy, table, releases)
        pairs = {name: [(one[name].table.values, one[name].table.unbiased) for one in made] for name in truth}
        name = f"{len(items)} tables of Adult, epsilon {epsilon}: whole / measured"
        rows.append(_row(name, pairs, truth, {"releases": releases, "seconds each": spent}))
    return rows


def _tweets(counts: pl.DataFrame, releases: int) -> list[dict[str, Any]]:
    table = pl.DataFrame({"x": counts["lat_bin"], "y": counts["lon_bin"]}).select(
        pl.all().repeat_by(counts["count"]).explode()
    )
    coins = np.random.default_rng(1)
    low, high = np.sort(coins.integers(0, 256, (2, 10_000, 2)), axis=0)
    policy = _policy({side: {"integer": [0, 255]} for side in "xy"}, [{"name": "map", "histogram": ["x", "y"]}], 1)
    made, truth, spent = _released(policy, table, releases)
    detail = {"releases": releases, "seconds each": spent}
    both = [(one["map"].table.values, one["map"].table.unbiased) for one in made]
    sums = [tuple(box_sums(part, low.T, high.T) for part in pair) for pair in both]
    wanted = {"map": box_sums(truth["map"], low.T, high.T)}
    return [
        _row("cells of the map of tweets: whole / measured", {"map": both}, truth, detail),
        _row("random rectangles of the map of tweets: whole / measured", {"map": sums}, wanted, detail),
    ]


def _policy(attributes: Mapping[str, Any], items: list[dict[str, Any]], epsilon: int) -> td.Policy:
    return td.load_policy(
        {
            "dataset": "counts",
            "presence": "public",
            "attributes": attributes,
            "secrets": dict.fromkeys(attributes, "everything"),
            "together": "all at once",
            "budget": {"epsilon": epsilon},
            "release": items,
        }
    )


def _released(policy: td.Policy, table: pl.DataFrame, releases: int) -> tuple[list[Release], dict[str, Floats], float]:
    """Releases, the true tables, and the seconds that a release takes."""
    plan = td.plan(policy)
    truth = {name: arrays[0][..., 0].astype(np.float64) for name, arrays in count(plan, table).items()}
    with tempfile.TemporaryDirectory() as place, td.Ledger(Path(place) / "ledger.db") as ledger:
        ledger.open(policy.dataset, releases * int(policy.epsilon), policy.document)
        start = time.perf_counter()
        made = [td.release(plan, table, ledger=ledger) for _ in range(releases)]
    return made, truth, (time.perf_counter() - start) / releases


def _row(
    name: str, pairs: Mapping[str, list[tuple[Any, ...]]], truth: Mapping[str, Floats], detail: dict[str, Any]
) -> dict[str, Any]:
    off = [np.concatenate([(pair[k] - truth[n]).ravel() for n in truth for pair in pairs[n]]) for k in (0, 1)]
    true = np.concatenate([truth[n].ravel() for n in truth for _ in pairs[n]])
    squares = [float((part**2).sum()) for part in off]
    told = {}
    for low, high in SIZES:
        inside = (true >= low) & (true <= high)
        if inside.any():
            whole, measured = (part[inside] for part in off)
            told[f"{low}..{high}" if high > low else str(low)] = {
                "cells": int(inside.sum()) // len(next(iter(pairs.values()))),
                "mean error": float(whole.mean()),
                "rms": float((whole**2).mean() ** 0.5),
                "rms measured": float((measured**2).mean() ** 0.5),
            }
    ratio = squares[0] / squares[1]
    detail = detail | {"squared error": squares[0], "squared error measured": squares[1], "by true count": told}
    return {"name": name, "ratio": ratio, "target": 1.0, "reached": ratio <= 1, "detail": detail}
