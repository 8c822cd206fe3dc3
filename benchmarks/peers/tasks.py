"""The comparisons. Each is a list of rows: what, whose, the ratio to the reference of the same run, spread and parts.

A ratio is always "how many times the reference": of speed (above 1 is faster), of time or of error (below 1 is better);
each row says which way is better.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeAlias

import duckdb
import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.cluster import KMeans

import tetraodon as td
from benchmarks.data import adult, quantile_columns
from benchmarks.peers.coresets import coresets
from benchmarks.peers.environments import Done, Missing, work
from benchmarks.peers.least_possible import bound
from benchmarks.peers.line_methods import best_tree, error_of, p_identity
from benchmarks.peers.made_up import synthetic
from benchmarks.peers.rank_methods import all_at_once, one_by_one
from benchmarks.peers.rows import OURS, Row, absolute, all_of, compared, compared_runs, ratios, repeated, row_of
from benchmarks.peers.sparse_errors import sparse_errors
from benchmarks.peers.tables import tables
from tetraodon.gate import without_ledger
from tetraodon.releases.answer import Answer
from tetraodon.releases.counting import count as counted
from tetraodon.releases.release import infer
from tetraodon.releases.run import noisy

STATES = [f"S{number:02d}" for number in range(51)]


def noise(quick: bool, _: Path) -> Iterator[Row]:
    """Discrete Laplace noise of scale 10, values a second."""
    count, repeats = (100_000, 5) if quick else (1_000_000, 15)
    runs = all_of("noise", ["plain", OURS, "opendp", "diffprivlib", "tumult"], scale=10.0, count=count, repeats=repeats)
    what = "integer Laplace noise of scale 10: values a second, over NumPy's floating-point noise"
    yield from compared(what, runs, "plain", lambda done: done.answer["rates"], better="higher")


def histogram(quick: bool, folder: Path) -> Iterator[Row]:
    """Counts by age and state, from a Parquet file to noisy cells in memory, fresh process and imports included."""
    rows, repeats = (1_000_000, 1) if quick else (10_000_000, 3)
    table = folder / "people.parquet"
    duckdb.sql(
        f"copy (select (hash(i) % 100)::int as age, 'S' || lpad((hash(i + 1) % 51)::varchar, 2, '0') as state, "
        f"random() as other from range({rows}) t(i)) to '{table}' (format parquet)"
    )
    peers = ["plain", OURS, "opendp", "diffprivlib", "smartnoise", "tumult", "pipelinedp"]
    given = {"table": str(table), "epsilon": 1, "rows": rows, "states": STATES}
    runs: dict[str, list[Done] | Missing] = {}
    for peer in peers:
        runs[peer] = repeated(lambda peer=peer: work(peer, "histogram", **given), repeats)
    what = f"histogram of {rows:,} rows by age and state: seconds, over plain DuckDB"
    yield from compared_runs(what, runs, "plain", lambda done: done.seconds)
    what = f"histogram of {rows:,} rows by age and state: peak memory, over plain DuckDB"
    yield from compared_runs(what, runs, "plain", lambda done: done.megabytes)


def ranges(quick: bool, folder: Path) -> Iterator[Row]:
    """Mean squared error of a random range of capital_loss, epsilon 1, one record replaced."""
    losses = adult("capital_loss")
    size = 4357
    np.save(folder / "losses.npy", losses)
    truth = np.bincount(losses, minlength=size)
    errors: dict[str, list[float] | Missing] = {}
    seconds: dict[str, list[float] | Missing] = {}
    versions: dict[str, str] = {}
    for peer in [OURS, "opendp", "diffprivlib"]:
        out = folder / f"ranges-{peer}.npy"
        given = {"values": str(folder / "losses.npy"), "size": size, "epsilon": 1, "repeats": 10 if quick else 50}
        done = work(peer, "ranges", out=str(out), **given)
        if isinstance(done, Missing):
            errors[peer] = seconds[peer] = done
            continue
        versions[peer] = done.answer["version"]
        errors[peer] = [_over_ranges(made - truth) for made in np.load(out)]
        seconds[peer] = done.answer["seconds"]
    what = f"random ranges of capital_loss, {len(losses):,} records, epsilon 1: "
    yield from ratios(what + "mean squared error, over ours", errors, OURS, versions)
    yield from ratios(what + "seconds of a release, over ours", seconds, OURS, versions)


def quantiles(quick: bool, folder: Path) -> Iterator[Row]:
    """Five quantiles of age: how far the rank of the answer is from the rank that was asked for."""
    ages = adult("age")
    np.save(folder / "ages.npy", ages)
    at = [0.1, 0.25, 0.5, 0.75, 0.9]
    errors: dict[str, list[float] | Missing] = {}
    seconds: dict[str, list[float] | Missing] = {}
    versions: dict[str, str] = {}
    for peer in [OURS, "opendp", "diffprivlib"]:
        given = {"values": str(folder / "ages.npy"), "low": 17, "high": 90, "at": at}
        done = work(peer, "quantiles", epsilon=0.01, repeats=10 if quick else 50, **given)
        if isinstance(done, Missing):
            errors[peer] = seconds[peer] = done
            continue
        versions[peer] = done.answer["version"]
        errors[peer] = [_rank_error(np.sort(ages), at, found) for found in done.answer["estimates"]]
        seconds[peer] = done.answer["seconds"]
    what = f"five quantiles of age, {len(ages):,} records, epsilon 0.01: "
    yield from ratios(what + "mean error in rank, over ours", errors, OURS, versions)
    yield from ratios(what + "seconds of a release, over ours", seconds, OURS, versions)


FEW = {1: [0.5], 4: [0.2, 0.4, 0.6, 0.8], 9: [n / 10 for n in range(1, 10)]}
METHODS = {"IndExp (our floats)": one_by_one, "JointExp (our floats)": all_at_once}


def few_quantiles(quick: bool, folder: Path) -> Iterator[Row]:  # noqa: ARG001 - every task gets a folder
    """One, four and nine quantiles at epsilon 1, beside the methods of the literature, one record replaced."""
    repeats = 10 if quick else 200
    for name, (values, high) in quantile_columns().items():
        whole, floats, ends = np.sort(values), np.sort(values).astype(np.float64), (0.0, high + 1.0)
        for count, at in FEW.items():
            errors: dict[str, list[float] | Missing] = {
                OURS: [_rank_error(whole, at, found) for found, _, _ in _our_quantiles(whole, high, at, repeats)]
            }
            for peer, method in METHODS.items():
                told = [method(floats, at, 1.0, ends, seed) for seed in range(repeats)]
                errors[peer] = [_rank_error(whole, at, found) for found in told]
            what = (
                f"{count} quantile{'s' * (count > 1)} of {name}, {len(values):,} records, epsilon 1: mean error in rank"
            )
            yield from absolute(what, errors, {OURS: version("tetraodon")})


def quantile_intervals(quick: bool, folder: Path) -> Iterator[Row]:  # noqa: ARG001 - every task gets a folder
    """A median and quartiles with intervals at epsilon 1, beside those read off running counts, one record replaced."""
    repeats = 10 if quick else 100
    columns = quantile_columns()
    for name in ("fnlwgt", "household power"):
        values, high = columns[name]
        whole = np.sort(values)
        for count, at in {1: [0.5], 3: [0.25, 0.5, 0.75]}.items():
            made = {
                OURS: list(_our_quantiles(values, high, at, repeats, bounds=True)),
                "running counts": list(_off_counts(values, high, at, repeats // 4)),
            }
            what = f"{count} quantile{'s' * (count > 1)} of {name}, {len(values):,} records, epsilon 1"
            errors = {who: [_rank_error(whole, at, found) for found, _, _ in each] for who, each in made.items()}
            widths = {who: [_records_in(whole, low, most) for _, low, most in each] for who, each in made.items()}
            for measure, found in (("mean error in rank", errors), ("mean records in an interval", widths)):
                yield from absolute(f"{what}: {measure}", dict(found), {OURS: version("tetraodon")})


Drawn: TypeAlias = tuple[list[float], list[float], list[float]]
"""Quantiles, with the lower and upper ends of their intervals."""


def _our_quantiles(
    values: NDArray[np.int64], high: int, at: list[float], repeats: int, *, bounds: bool = False
) -> Iterator[Drawn]:
    """As many releases of a table that is counted once."""
    for answer in _released({"quantiles": "x", "at": at, "bounds": bounds}, values, high, repeats):
        yield tuple([float(one) for one in answer.columns[key]] for key in ("x", "lower", "upper"))  # type: ignore[misc]


def _off_counts(values: NDArray[np.int64], high: int, at: list[float], repeats: int) -> Iterator[Drawn]:
    """The same, read off the running counts of all values."""
    for answer in _released({"cdf": "x"}, values, high, repeats):
        yield tuple(zip(*(answer.quantile_interval(share) for share in at), strict=True))  # type: ignore[misc]


def _released(item: dict[str, Any], values: NDArray[np.int64], high: int, repeats: int) -> Iterator[Answer]:
    document = {"dataset": "few", "presence": "public", "attributes": {"x": {"integer": [0, high]}}}
    plan = td.plan({**document, "budget": {"epsilon": 1}, "release": [{"name": "q", **item}]})
    exact, permit = counted(plan, pl.DataFrame({"x": values}))["q"], without_ledger(plan.certificate)
    for _ in range(repeats):
        yield infer(plan, {"q": noisy(plan["q"], exact, permit)}, "", "")["q"]


def _records_in(values: NDArray[np.int64], low: list[float], high: list[float]) -> float:
    """Records between the ends of intervals, which are values themselves, on average."""
    return float((np.searchsorted(values, high, "left") - np.searchsorted(values, low, "right")).clip(0).mean())


def sparse(quick: bool, folder: Path) -> Iterator[Row]:  # noqa: ARG001 - every task gets a folder
    """Ranges and rectangles of sparse data, one record replaced, beside DAWA, AGrid and PrivTree."""
    for what, errors in sparse_errors((4, 4) if quick else (100, 30), OURS):
        yield from absolute(what, dict(errors), {OURS: version("tetraodon")})


def kmeans(quick: bool, folder: Path) -> Iterator[Row]:
    """Objective over that of plain k-means, on 1,000 points of (0, 1)^4 around 4 centres, sigma 0.2."""
    coins = np.random.default_rng(31_337)
    sets = np.array([_mixture(coins) for _ in range(10 if quick else 60)])
    np.save(folder / "points.npy", sets)
    best = [float(KMeans(4, n_init=10, random_state=0).fit(points).inertia_) for points in sets]
    for epsilon in (0.1, 0.5, 1.0):
        found: dict[str, list[float] | Missing] = {}
        versions: dict[str, str] = {}
        for peer in [OURS, "diffprivlib"]:
            done = work(peer, "kmeans", points=str(folder / "points.npy"), clusters=4, epsilon=epsilon)
            if isinstance(done, Missing):
                found[peer] = done
                continue
            versions[peer] = done.answer["version"]
            found[peer] = [
                _objective(points, np.array(centres)) / plain
                for points, centres, plain in zip(sets, done.answer["centres"], best, strict=True)
            ]
        what = (
            f"k-means, 4 clusters, epsilon {epsilon:g}: objective, over plain k-means (mean of {len(sets)} data sets)"
        )
        yield row_of(what, "plain", [1.0] * len(sets), {"plain": version("scikit-learn")})
        for peer, each in found.items():
            yield row_of(what, peer, each, versions, reference="plain")


def strategies(quick: bool, folder: Path) -> Iterator[Row]:
    """All ranges, one record replaced: what a strategy found for them gives, with either noise. Nothing is drawn."""
    size = 256 if quick else 1024
    ours = work(OURS, "strategy", size=size)
    assert isinstance(ours, Done), ours
    gram = _range_gram(size)
    np.save(folder / "root.npy", np.linalg.cholesky(gram).T)
    done = work("jaxprivacy", "strategy", workload=str(folder / "root.npy"), out=str(folder / "strategy.npy"))
    versions = {OURS: ours.answer["version"]}
    if isinstance(done, Done):
        versions["jaxprivacy"] = done.answer["version"]
    for noise, words in (("laplace", "Laplace noise, epsilon 1"), ("gaussian", "Gaussian noise, rho 1/2")):
        what = f"all ranges of {size} values, {words}: mean squared error planned, over ours"
        mine = ours.answer[noise]
        yield row_of(what, OURS, [1.0], versions, error=mine)
        if isinstance(done, Missing):
            yield row_of(what, "jaxprivacy", done, {})
        else:
            error = _strategy_error(np.load(folder / "strategy.npy"), gram, noise)
            yield row_of(what, "jaxprivacy", [error / mine], versions, error=error)
        tree = _strategy_error(_tree(size, 16), gram, noise)
        yield row_of(what, "a 16-ary tree with least squares", [tree / mine], {}, error=tree)


def alone(quick: bool, folder: Path) -> Iterator[Row]:  # noqa: ARG001 - every task gets a folder
    """Ranges and running counts where presence alone is secret, Laplace noise, epsilon 1. Nothing is drawn."""
    size, rounds = (256, 100) if quick else (1024, 600)
    for asked, words in (("ranges", "all ranges"), ("cdf", "running counts")):
        document = {"dataset": "alone", "attributes": {"x": {"integer": [0, size - 1]}}, "budget": {"epsilon": 1}}
        release = [{"name": "r", asked: "x"}]
        item = td.plan({**document, "secrets": "none but presence", "release": release})["r"]
        errors: dict[str, list[float] | Missing] = {
            OURS: [item.expected_error**2],
            "HDMM's p-identity (our floats)": [error_of(p_identity(size, asked, size // 16, rounds), size, asked)],
            "HB (our floats)": [error_of(best_tree(size, asked), size, asked)],
        }
        what = f"{words} of {size:,} values, presence alone, Laplace noise, epsilon 1: mean squared error planned"
        yield from absolute(what, errors, {OURS: version("tetraodon")})


TASKS: dict[str, Callable[[bool, Path], Iterator[Row]]] = {
    "noise": noise,
    "histogram": histogram,
    "ranges": ranges,
    "quantiles": quantiles,
    "few-quantiles": few_quantiles,
    "quantile-intervals": quantile_intervals,
    "sparse": sparse,
    "kmeans": kmeans,
    "coresets": coresets,
    "strategies": strategies,
    "alone": alone,
    "bound": bound,
    "tables": tables,
    "synthetic": synthetic,
}


def _over_ranges(wrong: NDArray[np.float64]) -> float:
    """The mean over all ranges of the squared error of a range, in one pass over the running sums."""
    running = np.append(0.0, np.cumsum(wrong))
    points = len(running)
    return float((points * (running**2).sum() - running.sum() ** 2) / (points * (points - 1) / 2))


def _rank_error(values: NDArray[np.int64], at: list[float], found: list[float]) -> float:
    """Records between the asked rank and the nearest rank that the answer holds."""
    asked = np.array(at) * len(values)
    low, high = np.searchsorted(values, found, "left"), np.searchsorted(values, found, "right")
    return float(np.maximum(0, np.maximum(low - asked, asked - high)).mean())


def _mixture(coins: np.random.Generator) -> NDArray[np.float64]:
    centres = coins.random((4, 4))
    return np.clip(centres[coins.integers(4, size=1000)] + coins.normal(0, 0.2, (1000, 4)), 0, 1)


def _objective(points: NDArray[np.float64], centres: NDArray[np.float64]) -> float:
    return float(((points[:, None, :] - centres) ** 2).sum(axis=2).min(axis=1).sum())


def _range_gram(size: int) -> NDArray[np.float64]:
    """W'W for the workload of all ranges: min(i, j) (size + 1 - max(i, j)), counting from one."""
    places = np.arange(1, size + 1)
    return np.minimum.outer(places, places) * (size + 1.0 - np.maximum.outer(places, places))


def _strategy_error(strategy: NDArray[np.float64], gram: NDArray[np.float64], noise: str) -> float:
    """Mean squared error of a range by least squares, one record replaced: epsilon 1, or rho 1/2."""
    gaps = (np.abs(strategy - strategy[:, [j]]) for j in range(strategy.shape[1]))
    if noise == "laplace":
        variance = 2 * max(float(gap.sum(axis=0).max()) for gap in gaps) ** 2
    else:
        variance = max(float((gap**2).sum(axis=0).max()) for gap in gaps)
    spread = np.trace(np.linalg.solve(strategy.T @ strategy, gram))
    return float(variance * spread / (len(gram) * (len(gram) + 1) / 2))


def _tree(size: int, fanout: int) -> NDArray[np.float64]:
    """Every node of a tree below its root, one row each."""
    rows, width = [np.eye(size)], fanout
    while width < size:
        blocks = np.arange(size) // width
        rows.append((blocks == np.arange(blocks[-1] + 1)[:, None]).astype(float))
        width *= fanout
    return np.concatenate(rows)
