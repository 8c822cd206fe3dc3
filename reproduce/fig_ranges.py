"""[HMD14] Figure 2 (b) and (c): mean squared error of 10,000 random ranges, by epsilon and theta.

Two mechanisms: the ordered hierarchical one with fan-out 16 and the least noise that keeps epsilon, and what our
planner picks.
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
from tetraodon.inference.consistency import monotone_counts
from tetraodon.noise import discrete_laplace
from tetraodon.releases.counting import count
from tetraodon.releases.estimates import raw_table
from tetraodon.releases.run import noisy

FANOUT = 16
RANGES = 10_000
LATITUDES = 400
ERROR = "mean squared error"
PAPER, OURS = "ordered hierarchical, least noise", "our planner"


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


@dataclass(frozen=True)
class Scales:
    """The noise of the ordered hierarchical mechanism: of its S nodes, and of the nodes of its trees."""

    blocks: int
    height: int
    sums: Fraction
    trees: Fraction


def best_scales(size: int, theta: int, epsilon: Fraction) -> Scales:
    """The least noise with which the mechanism of [HMD14] section 7.2 keeps epsilon, split as errs least.

    Why   a step of at most theta stays in a block and moves two paths of its tree, or crosses into the next one and
          moves one S node and a path on either side: 1 / sums + 2 height / trees is the loss, and it is epsilon. The
          paper's s_1 and its tree alone spend more (see the errata), so they have the noise of the others. The error
          is a sums^2 + b trees^2 with the numbers of nodes that ranges use, which is least at the split below.
    """
    blocks = -(-size // theta)
    height = 0
    while FANOUT**height < theta:
        height += 1
    if height == 0:  # theta = 1: the ordered mechanism
        return Scales(blocks, 0, 1 / epsilon, Fraction(0))
    sums, trees = nodes_used(size, theta, height)
    weights = sums ** (1 / 3), (trees * (2 * height) ** 2) ** (1 / 3)
    share = Fraction(weights[0] / sum(weights)).limit_denominator(1000) if blocks > 1 else Fraction(0)
    return Scales(blocks, height, 1 / (share * epsilon) if share else share, 2 * height / ((1 - share) * epsilon))


def nodes_used(size: int, theta: int, height: int) -> tuple[float, float]:
    """How many S nodes and how many nodes of trees a range uses, on the mean over ranges drawn as in the figure."""
    low, high = random_ranges(size).T
    ends = np.stack([low, high + 1])
    noisy = (ends > 0) & (ends < size)  # nobody is below the first value, and how many there are is public
    block, rest = ends // theta, ends % theta
    together = (block[0] == block[1]) & noisy.all(axis=0)
    inner = (block > 0) & (block < -(-size // theta)) & noisy
    sums = np.where(together, 0, inner.sum(axis=0)).mean()
    trees = 0.0
    for level in range(height):
        width = FANOUT**level
        parent = rest // (width * FANOUT)
        used = np.where(noisy, rest // width - parent * FANOUT, 0)
        shared = together & (parent[0] == parent[1])
        trees += np.where(shared, np.abs(used[1] - used[0]), used.sum(axis=0)).mean()
    return float(sums), float(trees)


def random_ranges(size: int) -> NDArray[np.int64]:
    """The ranges of the figure, by their first and last places."""
    return np.sort(np.random.default_rng(7).integers(0, size, (RANGES, 2)), axis=1)


def hierarchical_noise(size: int, theta: int, scales: Scales) -> NDArray[np.float64]:
    """The error of every running count. The last S node counts everybody, which is public."""
    blocks = scales.blocks
    running = np.zeros(blocks + 1)
    if blocks > 1:
        running[1:] = discrete_laplace(scales.sums, blocks)
    running[blocks] = 0
    places = np.arange(1, size + 1)
    block, rest = places // theta, places % theta
    error = running[np.minimum(block, blocks)]
    inside = np.minimum(block, blocks - 1)
    for level in range(scales.height):
        width = FANOUT**level
        nodes = -(-theta // width)
        noise = discrete_laplace(scales.trees, (blocks, nodes)).astype(float)
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
    ends, scales = random_ranges(column.size), best_scales(column.size, theta, epsilon)
    truth = np.bincount(column.values, minlength=column.size).astype(float)
    plan = td.plan(policy(column.size, theta, epsilon))
    exact = count(plan, pl.DataFrame({"x": column.values}))["r"]
    errors: dict[str, list[float]] = {PAPER: [], OURS: [], f"{OURS}, after inference": []}
    for _ in range(repeats):
        running = hierarchical_noise(column.size, theta, scales)
        errors[PAPER].append(mean_over_ranges(np.diff(running, prepend=0.0), ends))
        raw = raw_table(plan["r"], noisy(plan["r"], exact, without_ledger(plan.certificate)), plan.policy.domain)
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
