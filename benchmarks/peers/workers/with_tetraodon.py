"""Tetraodon, by its public calls: every value of a record is secret, the number of records is public."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from work import rates, serve, timed

import tetraodon as td


def _document(attributes: dict[str, Any], epsilon: float, item: dict[str, Any]) -> dict[str, Any]:
    return {
        "tetraodon": 1,
        "dataset": "beside-peers",
        "individuals": "one row each",
        "presence": "public",
        "attributes": attributes,
        "secrets": dict.fromkeys(attributes, "everything"),
        "together": "all at once",
        "budget": {"epsilon": epsilon},
        "release": [item],
    }


def _ledger(policy: td.Policy, folder: str, times: int = 1) -> td.Ledger:
    book = td.Ledger(Path(folder) / "ledger.db")
    book.open(policy.dataset, (times + 1) * policy.epsilon, policy.document)
    return book


def noise(scale: float, count: int, repeats: int) -> dict[str, Any]:
    from fractions import Fraction

    from tetraodon.noise import discrete_laplace

    exact = Fraction(str(scale))
    return rates(lambda: discrete_laplace(exact, count), count, repeats)


def histogram(table: str, epsilon: float, rows: int, states: list[str]) -> dict[str, Any]:
    attributes = {"age": {"integer": [0, 99]}, "state": states}
    policy = td.load_policy(_document(attributes, epsilon, {"name": "people", "histogram": ["age", "state"]}))
    with tempfile.TemporaryDirectory() as folder:
        made = td.release(td.plan(policy), table, ledger=_ledger(policy, folder))
        return {"cells": len(made["people"].to_polars()), "rows": rows}


def ranges(values: str, size: int, epsilon: float, repeats: int, out: str) -> dict[str, Any]:
    import polars as pl

    table = pl.DataFrame({"x": np.load(values)})
    policy = td.load_policy(_document({"x": {"integer": [0, size - 1]}}, epsilon, {"name": "r", "ranges": "x"}))
    plan = td.plan(policy)
    with tempfile.TemporaryDirectory() as folder:
        book = _ledger(policy, folder, repeats)
        made, seconds = timed(lambda: _running(td.release(plan, table, ledger=book)), repeats)
    np.save(out, np.diff(np.array(made, dtype=float), axis=1, prepend=0))
    return {"seconds": seconds, "planned": plan["r"].expected_error ** 2}


def _running(made: td.Release) -> np.ndarray:
    return made["r"].to_polars()["at_most"].to_numpy()


def quantiles(values: str, low: int, high: int, at: list[float], epsilon: float, repeats: int) -> dict[str, Any]:
    import polars as pl

    table = pl.DataFrame({"x": np.load(values)})
    item = {"name": "q", "quantiles": "x", "at": at, "bounds": False}
    policy = td.load_policy(_document({"x": {"integer": [low, high]}}, epsilon, item))
    plan = td.plan(policy)
    with tempfile.TemporaryDirectory() as folder:
        book = _ledger(policy, folder, repeats)
        made, seconds = timed(lambda: td.release(plan, table, ledger=book)["q"].to_polars()["x"].to_list(), repeats)
    return {"seconds": seconds, "estimates": [[float(value) for value in row] for row in made]}


def kmeans(points: str, clusters: int, epsilon: float) -> dict[str, Any]:
    sets = np.load(points)
    columns = {f"x{i}": {"real": [0, 1], "step": 0.01} for i in range(sets.shape[2])}
    policy = td.load_policy(_document(columns, 1, {"name": "n", "histogram": ["x0"]}))
    model = td.PolicyKMeans(policy, str(epsilon), clusters)
    each = iter(sets)
    made, seconds = timed(lambda: model.fit(next(each)).cluster_centers_.tolist(), len(sets))
    return {"seconds": seconds, "centres": made}


def synthetic(table: str, sizes: list[int], changes: dict[str, Any], repeats: int, out: str) -> dict[str, Any]:
    """As many made-up records as there are, under a policy with these changes."""
    import polars as pl

    codes = np.load(table)
    names = [f"a{place}" for place in range(len(sizes))]
    attributes = {name: {"integer": [0, size - 1]} for name, size in zip(names, sizes, strict=True)}
    item = {"name": "people", "synthetic": {"records": len(codes)}}
    policy = td.load_policy({**_document(attributes, 1, item), **changes})
    plan, frame = td.plan(policy), pl.DataFrame(dict(zip(names, codes.T, strict=True)))
    with tempfile.TemporaryDirectory() as folder:
        book = td.Ledger(Path(folder) / "ledger.db")
        book.open(policy.dataset, 20 * repeats, policy.document, delta=repeats * policy.delta)
        made, seconds = timed(lambda: td.release(plan, frame, ledger=book)["people"].columns, repeats)
    np.save(out, np.array([[one[name] for name in names] for one in made]).transpose(0, 2, 1))
    return {"seconds": seconds, "noise": plan["people"].strategy.noise.name}


def strategy(size: int) -> dict[str, Any]:
    """Squared errors with Laplace noise at epsilon 1 and with Gaussian noise at rho 1/2."""
    document = _document({"x": {"integer": [0, size - 1]}}, 1, {"name": "r", "ranges": "x"})
    found = td.plan(td.load_policy(document))["r"]
    gaussian = td.plan(td.load_policy({**document, "budget": {"rho": "1/2"}}))["r"]
    return {"laplace": found.expected_error**2, "gaussian": gaussian.expected_error**2}


if __name__ == "__main__":
    serve(
        "tetraodon",
        {
            "noise": noise,
            "histogram": histogram,
            "ranges": ranges,
            "quantiles": quantiles,
            "kmeans": kmeans,
            "strategy": strategy,
            "synthetic": synthetic,
        },
    )
