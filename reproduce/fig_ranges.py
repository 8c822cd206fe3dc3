"""[HMD14] Figure 2 (b) and (c): mean squared error of 10,000 random ranges, by epsilon and theta.

Two mechanisms: the ordered hierarchical one with fan-out 16 and the scales that are safe in every reading of its
section 7.2, and what our planner picks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import polars as pl
from numpy.typing import NDArray

import tetraodon as td
from benchmarks.data import adult, real
from reproduce.figure import Check, Figure, Progress, Table, lines, mean_over_ranges
from tetraodon.gate import without_ledger
from tetraodon.inference.running import monotone_counts
from tetraodon.noise import discrete_laplace
from tetraodon.releasing.estimates import raw_table
from tetraodon.releasing.run import _count, _noisy

FANOUT = 16
RANGES = 10_000
LATITUDES = 400
ERROR = "mean squared error"
PAPER, OURS = "ordered hierarchical, safe scales", "our planner"


@dataclass(frozen=True)
class Column:
    """A data set of one ordered column, and the thetas that the paper draws for it."""

    name: str
    size: int
    values: NDArray[np.int64]
    thetas: tuple[tuple[str, int], ...]


def columns() -> tuple[str, list[Column]]:
    """The paper's two columns. The tweets' latitudes are spread inside their published cells, or made up."""
    losses, size = adult("capital_loss"), 4357
    thetas = (("full", size), *((str(theta), theta) for theta in (1000, 500, 100, 50, 10, 1)))
    tweets = real("twitter_west_400x300_imputed.parquet")
    if tweets is not None:
        latitudes, source = pl.read_parquet(tweets)["i"].to_numpy().astype(np.int64), "tweets"
    else:
        bumps = np.random.default_rng(2014).normal([80, 150, 350], [12, 20, 8], (64_521, 3)).ravel()
        latitudes, source = np.clip(bumps.round(), 0, LATITUDES - 1).astype(np.int64), "made-up latitudes (stand-in)"
    kilometres = (("full", LATITUDES), ("500 km", 90), ("50 km", 9), ("5 km", 1))
    data = f"{len(losses):,} capital losses of Adult; {len(latitudes):,} latitudes of {source}"
    return data, [
        Column("Adult, capital_loss", size, losses, thetas),
        Column("tweets, latitude", LATITUDES, latitudes, kilometres),
    ]


def split(size: int, theta: int) -> float:
    """The share of epsilon for the S nodes that is best by [HMD14] Equation 14."""
    sums = 4 * (size - theta) / (size + 1)
    trees = 8 * (FANOUT - 1) * math.log(theta, FANOUT) ** 3 * size / (size + 1) if theta > 1 else 0.0
    return sums ** (1 / 3) / (sums ** (1 / 3) + trees ** (1 / 3))


@dataclass(frozen=True)
class Scales:
    """The noise of the ordered hierarchical mechanism: of s_1 and its block, of the other S nodes, of other blocks."""

    blocks: int
    height: int
    first: Fraction
    sums: Fraction
    trees: Fraction


def safe_scales(size: int, theta: int, epsilon: Fraction) -> Scales:
    """Scales that keep epsilon in every reading of [HMD14] section 7.2: see the page on errata."""
    blocks = -(-size // theta)
    height = 0
    while FANOUT**height < theta:
        height += 1
    share = Fraction(split(size, theta)).limit_denominator(1000) if blocks > 1 else Fraction(0)
    levels = 2 * (height + 1)
    if height == 0:  # theta = 1: the ordered mechanism
        return Scales(blocks, 0, 1 / epsilon, 1 / epsilon, Fraction(0))
    sums = 1 / (share * epsilon) if share else Fraction(0)
    return Scales(blocks, height, levels / epsilon, sums, levels / ((1 - share) * epsilon))


def hierarchical_noise(size: int, theta: int, epsilon: Fraction) -> NDArray[np.float64]:
    """The error of every running count. The last S node counts everybody, which is public."""
    scales = safe_scales(size, theta, epsilon)
    blocks = scales.blocks
    running = np.zeros(blocks + 1)
    if blocks > 1:
        running[1:] = discrete_laplace(scales.sums, blocks)
        running[1] = discrete_laplace(scales.first, 1)[0]
    running[blocks] = 0
    places = np.arange(1, size + 1)
    block, rest = places // theta, places % theta
    error = running[np.minimum(block, blocks)]
    inside = np.minimum(block, blocks - 1)
    for level in range(scales.height):
        width = FANOUT**level
        nodes = -(-theta // width)
        noise = discrete_laplace(scales.trees, (blocks, nodes)).astype(float)
        noise[0] = discrete_laplace(scales.first, nodes)
        before = np.pad(np.cumsum(noise, axis=1), ((0, 0), (1, 0)))
        error += before[inside, rest // width] - before[inside, rest // (width * FANOUT) * FANOUT]
    error[-1] = 0
    return error


def policy(size: int, theta: int, epsilon: Fraction) -> td.Policy:
    return td.load_policy(
        {
            "tetraodon": 1,
            "dataset": "ranges",
            "individuals": "one row each",
            "presence": "public",
            "attributes": {"x": {"integer": [0, size - 1]}},
            "secrets": {"x": "everything" if theta >= size else {"within": theta}},
            "budget": {"epsilon": str(epsilon)},
            "release": [{"name": "r", "ranges": "x"}],
        }
    )


def run(quick: bool, progress: Progress) -> Figure:
    """Both columns, every theta and epsilon."""
    data, found = columns()
    epsilons = [Fraction(k, 10) for k in ((1, 10) if quick else range(1, 11))]
    repeats = 5 if quick else 50
    points: list[dict[str, object]] = []
    for column in found:
        thetas = [theta for theta in column.thetas if not quick or theta[0] in ("full", "100", "50 km", "1", "5 km")]
        for word, theta in progress(thetas, column.name):
            for epsilon in epsilons:
                points += _measured(column, word, theta, epsilon, repeats)
    at_one = [point for point in points if point["epsilon"] == 1.0]
    rows = {(p["data"], p["theta"]): [None, None, None] for p in at_one}
    for point in at_one:
        place = (PAPER, OURS, f"{OURS}, after inference").index(str(point["mechanism"]))
        rows[point["data"], point["theta"]][place] = point[ERROR]
    table = Table(
        "Mean squared error of a random range at epsilon 1",
        ("data", "theta", PAPER, OURS, "after inference", "ours / the paper's"),
        tuple((*key, *row, row[1] / row[0]) for key, row in rows.items()),
    )
    charts = tuple(
        lines(
            f"ranges-{place}",
            f"{column.name}: mean squared error of 10,000 random ranges",
            [point for point in points if point["data"] == column.name],
            x="epsilon",
            y=ERROR,
            series="theta",
            panels="mechanism",
        )
        for place, column in enumerate(found)
    )
    return Figure(data, (table,), charts, tuple(_checks(points, 8 * math.sqrt(10 / (LATITUDES * repeats)))))


def _measured(column: Column, word: str, theta: int, epsilon: Fraction, repeats: int) -> list[dict[str, object]]:
    coins = np.random.default_rng(7)
    ends = np.sort(coins.integers(0, column.size, (RANGES, 2)), axis=1)
    truth = np.bincount(column.values, minlength=column.size).astype(float)
    plan = td.plan(policy(column.size, theta, epsilon))
    exact = _count(plan, pl.DataFrame({"x": column.values}))["r"]
    errors: dict[str, list[float]] = {PAPER: [], OURS: [], f"{OURS}, after inference": []}
    for _ in range(repeats):
        running = hierarchical_noise(column.size, theta, epsilon)
        errors[PAPER].append(mean_over_ranges(np.diff(running, prepend=0.0), ends))
        raw = raw_table(plan["r"], _noisy(plan, "r", exact, without_ledger(plan.certificate)), plan.policy.domain)
        errors[OURS].append(mean_over_ranges(raw - truth, ends))
        errors[f"{OURS}, after inference"].append(mean_over_ranges(monotone_counts(raw) - truth, ends))
    return [
        {
            "data": column.name,
            "theta": word,
            "epsilon": float(epsilon),
            "mechanism": name,
            ERROR: float(np.mean(all_)),
        }
        for name, all_ in errors.items()
    ]


def _checks(points: list[dict[str, object]], slack: float) -> list[Check]:
    """`slack` is eight standard errors of the ratio of two equal mechanisms, which both are at theta = 1."""
    error = {(p["data"], p["theta"], p["epsilon"], p["mechanism"]): float(str(p[ERROR])) for p in points}
    names = sorted({str(p["data"]) for p in points})
    ends = {"Adult, capital_loss": ("full", "1"), "tweets, latitude": ("full", "5 km")}
    far = all(error[n, ends[n][0], 1.0, PAPER] > 10 * error[n, ends[n][1], 1.0, PAPER] for n in names)
    ours = all(error[d, t, e, OURS] <= (1 + slack) * error[d, t, e, PAPER] for d, t, e, m in error if m == PAPER)
    falls = all(error[d, t, 0.1, m] > 10 * error[d, t, 1.0, m] for d, t, e, m in error if e == 1.0)
    return [
        Check("theta = full errs more than ten times as much as the smallest theta (ordered hierarchical)", far),
        Check("our planner is nowhere worse than the ordered hierarchical mechanism (up to chance)", ours),
        Check("a tenth of epsilon costs more than ten times the error", falls),
    ]
