"""Strategies: mean squared errors beside the stated limits and beside the plain mechanisms.

All ranges of 1,024 values at epsilon 1, the number of records public: under the complete graph beside 400 (the best
tree that uses the number of records has 459), and for theta = 32 beside 0.92 times the best tree with prefix nodes
(165).
All two-way tables of attributes like those of Adult beside the residual basis, as it was measured; and how long all
pairs of 20 attributes, and all triples of 14, take to plan.
All two-way marginals of three attributes, and of five with 1.2 million cells, beside noise on all cells. Random
rectangles of a map beside noise on single cells, planned, and, where steps of one are a secret, beside what noise
along steps was simulated to reach; and on the map of tweets, where it is at hand, released
and compared with the plan.
"""

from __future__ import annotations

import math
import statistics
import tempfile
import time
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import tetraodon as td
from benchmarks.data import real


def policy(sizes: dict[str, int], secret: Any, together: str = "all at once") -> td.Policy:
    return td.load_policy(
        {
            "tetraodon": 1,
            "dataset": "workload",
            "individuals": "one row each",
            "presence": "public",
            "attributes": {name: {"integer": [0, size - 1]} for name, size in sizes.items()},
            "secrets": dict.fromkeys(sizes, secret),
            "together": together,
            "budget": {"epsilon": 1},
            "release": [{"name": "q", "histogram": [next(iter(sizes))]}],
        }
    )


def run(quick: bool) -> list[dict[str, Any]]:
    """Every row has a name, a ratio, a target, whether it is reached, and the parts of the ratio."""
    line, cube = {"x": 1024}, dict.fromkeys("abc", 10 if quick else 12)
    rows = [
        _limited("all ranges, full / 400", policy(line, "everything"), 400.0),
        _limited("all ranges, theta 32 / (0.92 * 165)", policy(line, {"within": 32}), 0.92 * 165),
    ]
    one = "one attribute at a time"
    rows.append(_gained("two-way marginals, one attribute, theta 2 / best plain", policy(cube, {"within": 2}, one)))
    rows.append(_gained("two-way marginals, full / best plain", policy(cube, "everything")))
    people = {"a": 74, "b": 16, "c": 5, "d": 2, "e": 99}
    rows.append(_gained("two-way marginals of 1.2 million cells / best plain", policy(people, "everything")))
    rows += [
        _together("all pairs of 8 attributes of Adult, rho 1/2 / 26.4", (74, 16, 99, 7, 15, 5, 2, 9), 2, 26.4),
        _together(
            "all pairs of 14 attributes of Adult, rho 1/2 / 82",
            (100, 100, 100, 99, 85, 42, 16, 15, 9, 7, 6, 5, 2, 2),
            2,
            82.0,
        ),
        _planned("all pairs of 20 attributes, seconds to plan / 10", (10,) * 20, 2),
        _planned("all triples of 14 attributes, seconds to plan / 10", (10,) * 14, 3),
    ]
    rows += [_map(theta, 128 if quick else 256) for theta in (1, 4, None)]
    limits = [(32, 9.6, 17.1), (64, 12.5, 23.8), (256, 18.0, 42.4)]
    rows += [_near(*limit) for limit in limits[: 2 if quick else 3]]
    if (path := real("twitter_west_256.parquet")) is not None:
        rows += [_tweets(path, theta, 3 if quick else 30) for theta in (4, None)]
    return rows


def _map_policy(theta: int | None, side: int) -> td.Policy:
    together: Any = {"metric": "l1", "over": ["x", "y"], "within": theta} if theta else "all at once"
    document = policy({"x": side, "y": side}, "everything").document
    asked = {**document, "secrets": {}, "together": together, "release": [{"name": "m", "rectangles": ["x", "y"]}]}
    return td.load_policy(asked)


def _map(theta: int | None, side: int) -> dict[str, Any]:
    """Squared error of a random rectangle of a map over that of noise on single cells, which is 8 times its area."""
    start = time.perf_counter()
    item = td.plan(_map_policy(theta, side))["m"]
    ratio = item.expected_error**2 / (8 * ((side + 2) / 3) ** 2)
    detail = {"error": item.expected_error**2, "mechanism": item.mechanism, "s": time.perf_counter() - start}
    name = f"rectangles, theta {theta or 'full'} / single cells"
    return {"name": name, "ratio": ratio, "target": 0.5, "reached": ratio <= 0.5, "detail": detail}


def _near(side: int, limit: float, before: float) -> dict[str, Any]:
    """Error of a random rectangle where steps of one are a secret, over its limit; `before` is that of blocks."""
    near, full = (td.plan(_map_policy(theta, side))["m"] for theta in (1, None))
    detail = {"error": near.expected_error, "mechanism": near.mechanism, "full": full.expected_error, "before": before}
    name, ratio = f"rectangles of {side} x {side}, theta 1 / limit", near.expected_error / limit
    return {"name": name, "ratio": ratio, "target": 1.0, "reached": ratio <= 1, "detail": detail}


def _tweets(path: Path, theta: int | None, releases: int) -> dict[str, Any]:
    """Squared error of 10,000 random rectangles, over what was planned for the same map."""
    counts = pl.read_parquet(path)
    table = pl.DataFrame({"x": counts["lat_bin"], "y": counts["lon_bin"]}).select(
        pl.all().repeat_by(counts["count"]).explode()
    )
    plan, coins = td.plan(_map_policy(theta, 256)), np.random.default_rng(1)
    every = np.stack(np.triu_indices(256))
    sides = {side: tuple(coins.choice(every, 10_000, axis=1)) for side in "xy"}
    cells = np.zeros((257, 257))
    np.add.at(cells, (table["x"].to_numpy() + 1, table["y"].to_numpy() + 1), 1)
    running = cells.cumsum(axis=0).cumsum(axis=1)
    (a, b), (c, d) = ((low, high + 1) for low, high in sides.values())
    truth = running[b, d] - running[a, d] - running[b, c] + running[a, c]
    errors = []
    with tempfile.TemporaryDirectory() as place:
        ledger = td.Ledger(Path(place) / "ledger.db")
        ledger.open(plan.policy.dataset, releases, plan.policy.document)
        for _ in range(releases):
            released = td.release(plan, table, ledger=ledger)["m"].rectangles_many(sides)
            errors.append(float(((released["count"] - truth) ** 2).mean()))
    planned = plan["m"].expected_error ** 2
    ratio, spread = statistics.mean(errors) / planned, statistics.stdev(errors) / planned / len(errors) ** 0.5
    detail = {"planned": planned, "releases": releases, "standard_error": spread}
    name = f"rectangles of the tweets, theta {theta or 'full'}, measured / planned"
    return {"name": name, "ratio": ratio, "target": None, "reached": True, "detail": detail}


def _tables(sizes: tuple[int, ...], ways: int) -> td.Policy:
    """All tables of so many attributes, everything secret at once, at rho = 1/2."""
    named = {f"a{place:02}": size for place, size in enumerate(sizes)}
    here = policy(named, "everything")
    return td.load_policy({**here.document, "budget": {"rho": "1/2"}, "release": _items(named, ways, 1 / 2)})


def _together(name: str, sizes: tuple[int, ...], ways: int, limit: float) -> dict[str, Any]:
    """The squared error of a cell of all tables, over that of the residual basis as it was measured."""
    start = time.perf_counter()
    error = _of_all_cells(td.plan(_tables(sizes, ways)))
    detail = {"error": error, "s": time.perf_counter() - start}
    return {"name": name, "ratio": error / limit, "target": 1.0, "reached": error <= limit, "detail": detail}


def _planned(name: str, sizes: tuple[int, ...], ways: int) -> dict[str, Any]:
    start = time.perf_counter()
    plan = td.plan(_tables(sizes, ways))
    seconds = time.perf_counter() - start
    detail = {"s": seconds, "tables": len(plan), "exact": plan.certificate.exact}
    return {"name": name, "ratio": seconds / 10, "target": 1.0, "reached": seconds <= 10, "detail": detail}


def _limited(name: str, asked: td.Policy, limit: float) -> dict[str, Any]:
    start = time.perf_counter()
    found = td.plan({**asked.document, "release": [{"name": "q", "ranges": "x"}]})["q"]
    detail = {"error": found.expected_error**2, "mechanism": found.mechanism, "s": time.perf_counter() - start}
    ratio = found.expected_error**2 / limit
    return {"name": name, "ratio": ratio, "target": 1.0, "reached": ratio <= 1, "detail": detail}


def _gained(name: str, asked: td.Policy) -> dict[str, Any]:
    """The squared error of a cell of all two-way tables, over that of noise on all cells, added up."""
    start, domain = time.perf_counter(), asked.domain
    sizes = dict(zip(domain.names, domain.shape, strict=True))
    error = _of_all_cells(td.plan({**asked.document, "release": _items(sizes, 2, 1 / 3)}))
    seconds = time.perf_counter() - start
    cell = td.sensitivity(asked, td.queries.histogram(*domain.names)).value
    pairs = [math.prod(pair) for pair in combinations(domain.shape, 2)]
    added = len(pairs) * domain.size * td.noise.laplace_variance(cell) / sum(pairs)
    detail = {"error": error, "all cells": added, "s": seconds}
    return {"name": name, "ratio": error / added, "target": 1.0, "reached": error < added, "detail": detail}


def _of_all_cells(plan: td.Plan) -> float:
    """The mean squared error of a cell of all tables."""
    cells = [math.prod(split.size(plan.policy.domain) for split in item.strategy.table) for item in plan]
    return sum(n * i.expected_error**2 for n, i in zip(cells, plan, strict=True)) / sum(cells)


def _items(sizes: dict[str, int], ways: int, power: float) -> list[dict[str, Any]]:
    """All tables by so many attributes, with their cells to some power as shares.

    With 1/2 under Gaussian noise, and 1/3 under Laplace noise, the sum over all cells is what is made least.
    """
    cells = {some: math.prod(sizes[name] for name in some) for some in combinations(sizes, ways)}
    return [
        {"name": "_".join(some), "histogram": list(some), "share": f"{many**power:.3f}"} for some, many in cells.items()
    ]
