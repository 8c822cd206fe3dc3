"""Ranges and rectangles of sparse data: our errors with and without `shape: sparse`, and those of the literature."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

import tetraodon as td
from benchmarks.data import real
from benchmarks.peers.sparse_methods import adaptive_grid, dawa, deviations, privtree
from tetraodon.gate import without_ledger
from tetraodon.releases.estimates import estimate
from tetraodon.releases.run import noisy

Counts = NDArray[np.int64]
LINE, SIDE = 4096, 256
OTHERWISE = "ours, nothing said"
PROMISES: dict[str, tuple[dict[str, str], float]] = {
    "a record replaced": ({"presence": "public"}, 0.5),
    "presence alone": ({"secrets": "none but presence"}, 1.0),
}
"""What is secret, and the part of epsilon that methods for one record that comes or goes get then."""


def sparse_errors(draws: tuple[int, int], ours: str) -> Iterator[tuple[str, dict[str, list[float]]]]:
    """What was asked, and mean squared errors of a range or rectangle drawn at random, one for each repeat.

    Each under two promises; `draws` says how often for lines, and how often for maps.
    """
    for name, counts in {**lines(), **maps()}.items():
        floats, asked = counts.astype(np.float64), "range" if counts.ndim == 1 else "rectangle"
        repeats = draws[counts.ndim - 1]
        error = over_ranges if counts.ndim == 1 else over_rectangles
        methods: dict[str, Callable[..., NDArray[np.float64]]] = {"AGrid": adaptive_grid, "PrivTree": privtree}
        if counts.ndim == 1:
            methods = {"DAWA": partial(dawa, uneven=deviations(floats))}
        for (promise, (secret, part)), epsilon in product(PROMISES.items(), ("0.1", "1")):
            dice = np.random.default_rng(17)
            found = {
                ours: ours_on(counts, secret, epsilon, "sparse", repeats),
                OTHERWISE: ours_on(counts, secret, epsilon, "", repeats),
            }
            for peer, method in methods.items():
                found[f"{peer} (our floats)"] = [method(floats, float(epsilon) * part, dice) for _ in range(repeats)]
            what = f"a {asked} of {name}, {counts.sum():,} records, {promise}, epsilon {epsilon}: mean squared error"
            yield what, {who: [error(told - counts) for told in each] for who, each in found.items()}


def ours_on(
    counts: Counts, secret: dict[str, str], epsilon: str, shape: str, repeats: int
) -> list[NDArray[np.float64]]:
    """Published tables of as many releases."""
    names = ["x", "y"][: counts.ndim]
    item: dict[str, Any] = {"rectangles": names} if counts.ndim == 2 else {"ranges": "x"}
    plan = td.plan(
        {
            "dataset": "sparse",
            **secret,
            "attributes": {name: {"integer": [0, size - 1]} for name, size in zip(names, counts.shape, strict=True)},
            "budget": {"epsilon": epsilon},
            "release": [{"name": "r", **item, **({"shape": shape} if shape else {})}],
        }
    )
    codes = np.argwhere(counts)
    exact = []
    for one in plan["r"].measurements:
        columns = codes[:, [names.index(name) for name in one.query.names]]
        exact.append(one.query.counted(plan.policy.domain, columns, counts[counts > 0]))
    permit = without_ledger(plan.certificate)
    drawn = (noisy(plan["r"], tuple(exact), permit) for _ in range(repeats))
    return [estimate(plan, {"r": measured}).tables["r", None].published for measured in drawn]


def over_ranges(wrong: NDArray[np.float64]) -> float:
    """The mean over all ranges of the squared error of a range."""
    running = np.append(0.0, np.cumsum(wrong))
    points = len(running)
    return float((points * (running**2).sum() - running.sum() ** 2) / (points * (points - 1) / 2))


def over_rectangles(wrong: NDArray[np.float64], many: int = 20_000) -> float:
    """The same over rectangles that are drawn at random, always the same."""
    running = np.pad(wrong, [(1, 0), (1, 0)]).cumsum(axis=0).cumsum(axis=1)
    dice = np.random.default_rng(5)
    (a, b), (c, d) = (np.sort(dice.integers(0, size + 1, (2, many)), axis=0) for size in wrong.shape)
    off = running[b, d] - running[a, d] - running[b, c] + running[a, c]
    return float((off[(a < b) & (c < d)] ** 2).mean())


def lines() -> dict[str, Counts]:
    """Histograms of DPBench on 4,096 values, where they lie beside the project."""
    path = real("dpbench_1d.parquet")
    found: dict[str, Counts] = {}
    for (name,), rows in pl.read_parquet(path).group_by("dataset", maintain_order=True) if path else ():
        found[str(name)] = np.bincount(rows["value"], rows["count"], LINE).astype(np.int64)
    return found


def maps() -> dict[str, Counts]:
    """Maps of 256 x 256 cells, where they lie beside the project: tweets, and places that people checked in at."""
    found: dict[str, Counts] = {}
    if (path := real("twitter_west_256.parquet")) is not None:
        rows = pl.read_parquet(path)
        found["tweets"] = _cells(rows["lon_bin"].to_numpy(), rows["lat_bin"].to_numpy(), rows["count"].to_numpy())
    if (path := real("geo_west.parquet")) is not None:
        rows = pl.read_parquet(path)
        east = ((rows["lon"].to_numpy() + 125) / 15 * SIDE).astype(np.int64)
        north = ((rows["lat"].to_numpy() - 30) / 20 * SIDE).astype(np.int64)
        found["check-ins"] = _cells(np.minimum(east, SIDE - 1), np.minimum(north, SIDE - 1), np.ones(len(east)))
    return found


def _cells(x: NDArray[Any], y: NDArray[Any], counts: NDArray[Any]) -> Counts:
    found = np.zeros((SIDE, SIDE), np.int64)
    np.add.at(found, (x.astype(np.int64), y.astype(np.int64)), counts.astype(np.int64))
    return found
